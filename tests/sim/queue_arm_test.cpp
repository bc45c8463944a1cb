#include "sim/driven_arm.hpp"

#include <sluice/sim/arms.hpp>

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using namespace sluice::sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;
using order = queue_rules::order;

namespace {

constexpr instant now{};

test::driven_arm queue_of(order first, std::int64_t slots, std::int64_t batch_at_most = 1'000) {
  queue_rules rules;
  rules.first = first;
  rules.slots = slots;
  rules.batch_at_most = batch_at_most;
  return test::driven_arm(make_queue_arm("queue", rules));
}

}  // namespace

TEST_CASE("in order of arrival, whatever the class and the deadline") {
  auto arm = queue_of(order::arrival, 1);
  CHECK(arm.arrive(1, batch, now) == "start 1");
  arm.next.deadline = now + 100s;
  CHECK(arm.arrive(2, batch, now).empty());
  arm.next.deadline = now + 1s;
  CHECK(arm.arrive(3, interactive, now).empty());
  CHECK(arm.level(batch).waiting == 1);
  CHECK(arm.level(interactive).waiting == 1);
  CHECK(arm.ended(1, attempt_end::completed, now) == "start 2");
  CHECK(arm.ended(2, attempt_end::completed, now) == "start 3");
  CHECK(arm.ended(3, attempt_end::completed, now).empty());
  CHECK(arm.level(interactive).held == 0);
}

TEST_CASE("interactive work first, and then in order of arrival") {
  auto arm = queue_of(order::workload, 1);
  CHECK(arm.arrive(1, batch, now) == "start 1");
  CHECK(arm.arrive(2, batch, now).empty());
  CHECK(arm.arrive(3, interactive, now).empty());
  CHECK(arm.arrive(4, interactive, now).empty());
  CHECK(arm.ended(1, attempt_end::completed, now) == "start 3");
  CHECK(arm.ended(3, attempt_end::completed, now) == "start 4");
  CHECK(arm.ended(4, attempt_end::completed, now) == "start 2");
}

TEST_CASE("the earliest deadline first, also when it has passed") {
  auto arm = queue_of(order::deadline, 1);
  CHECK(arm.arrive(1, interactive, now) == "start 1");
  arm.next.deadline = now + 20s;
  CHECK(arm.arrive(2, batch, now).empty());
  arm.next.deadline = now + 10s;
  CHECK(arm.arrive(3, interactive, now).empty());
  arm.next.deadline = now + 5s;
  CHECK(arm.arrive(4, interactive, now).empty());
  CHECK(arm.ended(1, attempt_end::completed, now + 12s) == "start 4");
  CHECK(arm.ended(4, attempt_end::completed, now + 13s) == "start 3");
  CHECK(arm.ended(3, attempt_end::completed, now + 14s) == "start 2");
}

TEST_CASE("no more batch work at once than is allowed, though slots are free") {
  auto arm = queue_of(order::workload, 4, 2);
  CHECK(arm.arrive(1, batch, now) == "start 1");
  CHECK(arm.arrive(2, batch, now) == "start 2");
  CHECK(arm.arrive(3, batch, now).empty());
  CHECK(arm.arrive(4, interactive, now) == "start 4");
  CHECK(arm.ended(4, attempt_end::completed, now).empty());
  CHECK(arm.ended(1, attempt_end::completed, now) == "start 3");
}

TEST_CASE("who gives up is passed over") {
  auto arm = queue_of(order::arrival, 1);
  arm.arrive(1, batch, now);
  arm.arrive(2, batch, now);
  arm.arrive(3, batch, now);
  CHECK(arm.gave_up(2, now).empty());
  CHECK(arm.level(batch).waiting == 1);
  CHECK(arm.ended(1, attempt_end::rejected, now) == "start 3");
}
