#include "sim/driven_arm.hpp"

#include <sluice/sim/arms.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace sluice::sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;
using sluice::never;

namespace {

constexpr instant now{};
const std::string full(to_string(sluice::reason::queue_full));
const std::string late(to_string(sluice::reason::deadline_in_queue));

replica_caps small() {
  replica_caps caps;
  caps.replicas = 2;
  caps.slots = 1;
  caps.may_wait = 2;
  return caps;
}

}  // namespace

TEST_CASE("each replica has its own slots and its own line") {
  test::driven_arm arm(make_static_cap_arm(small()));
  arm.next.replica = 0;
  CHECK(arm.arrive(1, interactive, now) == "start 1");
  CHECK(arm.arrive(2, interactive, now).empty());
  CHECK(arm.arrive(3, interactive, now).empty());
  CHECK(arm.arrive(4, interactive, now) == "refuse 4 " + full);
  // The other one is idle, but knows nothing of it.
  arm.next.replica = 3;
  CHECK(arm.arrive(5, interactive, now) == "start 5");
  CHECK(arm.level(interactive).held == 2);
  CHECK(arm.level(interactive).waiting == 2);
  CHECK(arm.ended(1, attempt_end::completed, now + 1s) == "start 2");
  CHECK(arm.ended(2, attempt_end::completed, now + 1s) == "start 3");
  CHECK(arm.ended(3, attempt_end::completed, now + 1s).empty());
  CHECK(arm.level(interactive).held == 1);
}

TEST_CASE("batch goes to the last replica, beside the interactive work that drew it") {
  test::driven_arm arm(make_static_cap_arm(small()));
  arm.next.replica = 0;
  CHECK(arm.arrive(1, batch, now) == "start 1");
  CHECK(arm.arrive(2, interactive, now) == "start 2");
  arm.next.replica = 1;
  CHECK(arm.arrive(3, interactive, now).empty());
  CHECK(arm.ended(1, attempt_end::completed, now) == "start 3");
  auto caps = small();
  caps.batch_on_last = false;
  test::driven_arm anywhere(make_static_cap_arm(caps));
  anywhere.next.replica = 0;
  CHECK(anywhere.arrive(1, batch, now) == "start 1");
  CHECK(anywhere.arrive(2, interactive, now).empty());
}

TEST_CASE("those in line are refused when they have waited for two seconds") {
  test::driven_arm arm(make_static_cap_arm(small()));
  CHECK(arm.wake() == never);
  CHECK(arm.arrive(1, interactive, now) == "start 1");
  CHECK(arm.arrive(2, interactive, now + 1s).empty());
  CHECK(arm.arrive(3, interactive, now + 2s).empty());
  CHECK(arm.wake() == now + 3s);
  CHECK(arm.tick(now + 3s) == "refuse 2 " + late);
  CHECK(arm.wake() == now + 4s);
  CHECK(arm.ended(1, attempt_end::completed, now + 3s) == "start 3");
  CHECK(arm.wake() == never);
  CHECK(arm.level(interactive).waiting == 0);
}

TEST_CASE("who gives up leaves the line") {
  test::driven_arm arm(make_static_cap_arm(small()));
  arm.arrive(1, interactive, now);
  arm.arrive(2, interactive, now);
  arm.arrive(3, interactive, now);
  CHECK(arm.gave_up(2, now + 1s).empty());
  CHECK(arm.ended(1, attempt_end::abandoned, now + 1s) == "start 3");
  CHECK(arm.level(interactive).waiting == 0);
}
