#include "sim/driven_arm.hpp"

#include <sluice/sim/arms.hpp>

#include <doctest/doctest.h>

using namespace sluice::sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;
using sluice::never;

TEST_CASE("without control everything is sent at once, whatever becomes of it") {
  test::driven_arm arm(make_open_arm());
  for (std::uint32_t id = 0; id < 100; ++id) {
    CHECK(arm.arrive(id, id % 2 == 0 ? interactive : batch, instant{}) == "start " + std::to_string(id));
  }
  CHECK(arm.ended(3, attempt_end::rejected, instant{}).empty());
  CHECK(arm.progressed(4, {10, 1}, instant{}).empty());
  CHECK(arm.tick(instant{}).empty());
  CHECK(arm.wake() == never);
}
