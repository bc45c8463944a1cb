#include <sluice/core/time.hpp>

#include <doctest/doctest.h>

#include <chrono>

using namespace sluice;
using namespace std::chrono_literals;

TEST_CASE("after adds, and stops at never") {
  CHECK(after(instant{} + 5s, 3s) == instant{} + 8s);
  CHECK(after(instant{} + 5s, 0s) == instant{} + 5s);
  CHECK(after(instant{} + 5s, -3s) == instant{} + 5s);
  CHECK(after(instant{} + 5s, duration::max()) == never);
  CHECK(after(instant{}, duration::max()) == never);
  CHECK(after(never - 1ns, 1ns) == never);
  CHECK(after(never - 2ns, 1ns) == never - 1ns);
  CHECK(after(never, 1h) == never);
  CHECK(after(never, -1h) == never);
}

TEST_CASE("after is right before the origin as well") {
  CHECK(after(instant{} - 5s, 3s) == instant{} - 2s);
  CHECK(after(instant{} - 5s, 8s) == instant{} + 3s);
  CHECK(after(instant::min(), 1s) == instant::min() + 1s);
  CHECK(after(instant::min(), duration::max()) == instant{} - 1ns);
}

static_assert(after(instant{}, 1s) == instant{} + 1s, "usable in constant expressions");
