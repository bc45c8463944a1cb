#include "sim/driven_arm.hpp"

#include <sluice/sim/arms.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace sluice::sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;

namespace {

constexpr instant now{};
const std::string no_room(to_string(sluice::reason::no_room));

}  // namespace

TEST_CASE("when the slots are taken the next one is refused, until one ends") {
  test::driven_arm arm(make_fail_fast_arm({2, 1'000'000}));
  CHECK(arm.arrive(1, interactive, now) == "start 1");
  CHECK(arm.arrive(2, batch, now) == "start 2");
  CHECK(arm.arrive(3, interactive, now) == "refuse 3 " + no_room);
  CHECK(arm.level(interactive).held == 1);
  CHECK(arm.level(batch).held == 1);
  CHECK(arm.ended(2, attempt_end::completed, now).empty());
  CHECK(arm.level(batch).held == 0);
  CHECK(arm.arrive(3, interactive, now) == "start 3");
}

TEST_CASE("tokens are reserved by estimate until the end, whatever was used") {
  test::driven_arm arm(make_fail_fast_arm({32, 2'500}));
  CHECK(arm.arrive(1, interactive, now) == "start 1");
  CHECK(arm.progressed(1, {100, 1}, now).empty());
  CHECK(arm.arrive(2, interactive, now) == "start 2");
  CHECK(arm.arrive(3, interactive, now) == "refuse 3 " + no_room);
  arm.next.cost = {500, 100, 1};
  CHECK(arm.arrive(4, interactive, now) == "start 4");
  CHECK(arm.ended(1, attempt_end::rejected, now).empty());
  CHECK(arm.arrive(5, interactive, now) == "start 5");
  CHECK(arm.ended(4, attempt_end::abandoned, now).empty());
  // 1,000 of the second and 500 of the fifth are held; 1,000 fit exactly.
  arm.next.cost = {1'001, 100, 1};
  CHECK(arm.arrive(6, interactive, now) == "refuse 6 " + no_room);
  arm.next.cost = {1'000, 100, 1};
  CHECK(arm.arrive(6, interactive, now) == "start 6");
}
