// A new policy through the gate: it serves who waits, refuses what is stale or can never fit, and revokes nothing.
#include "runtime/house.hpp"

using namespace sluice;
using namespace sluice::runtime_test;

TEST_CASE_FIXTURE(house, "raised: who waits starts at once") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer second;
  answer third;
  gate.async_admit({}, tell(second));
  gate.async_admit({}, tell(third));
  policy next = plain({.slots = 2, .tokens = 1'000});
  next.revision = 2;
  REQUIRE(gate.reconfigure(next));
  CHECK(second.completions == 0);
  CHECK(gate.statistics().all.in_flight == 2);
  poll();
  CHECK(second.granted());
  CHECK(third.completions == 0);
  CHECK((**second.result).explain()->revision == 2);
  CHECK(gate.current_policy().revision == 2);
}

TEST_CASE_FIXTURE(house, "stale or wrong: nothing changes") {
  policy same = plain({.slots = 9, .tokens = 9});
  auto stale = gate.reconfigure(same);
  REQUIRE_FALSE(stale);
  CHECK(stale.error().is(errc::stale_revision));
  policy wrong = plain({.slots = 9, .tokens = 9});
  wrong.revision = 2;
  wrong[batch].floor.slots = 10;
  auto refused = gate.reconfigure(wrong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().is(errc::invalid_configuration));
  policy wider = plain({.slots = 9, .tokens = 9});
  wider.revision = 2;
  (void)wider.add_class(class_policy("bulk"));
  CHECK_FALSE(gate.reconfigure(wider));
  CHECK(gate.statistics().total == capacity{.slots = 1, .tokens = 1'000});
  CHECK(gate.statistics().revision == 1);
}

TEST_CASE("shrunk: nothing is revoked, nothing starts until enough has ended, and growing again serves in that event") {
  house self(plain({.slots = 3, .tokens = 900}));
  std::vector<permit> held;
  for (int n = 0; n < 3; ++n) held.push_back(self.gate.try_admit({.tokens = 300}).value());
  answer waits;
  self.gate.async_admit({.cost = {.tokens = 100}}, tell(waits));
  policy less = plain({.slots = 1, .tokens = 300});
  less.revision = 2;
  REQUIRE(self.gate.reconfigure(less));
  CHECK(self.gate.statistics().all.in_flight == 3);
  held.pop_back();
  held.pop_back();
  self.poll();
  CHECK(waits.completions == 0);
  policy more = plain({.slots = 2, .tokens = 400});
  more.revision = 3;
  REQUIRE(self.gate.reconfigure(more));
  self.poll();
  CHECK(waits.granted());
  held.clear();
  waits.release();
  CHECK(empty(self.gate));
}

TEST_CASE_FIXTURE(house, "shrunk below what a waiter asks: it is told that it never will") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer large;
  answer small;
  gate.async_admit({.cost = {.tokens = 500}}, tell(large));
  gate.async_admit({.cost = {.tokens = 100}}, tell(small));
  policy less = plain({.slots = 1, .tokens = 200});
  less.revision = 2;
  REQUIRE(gate.reconfigure(less));
  poll();
  CHECK(large.why() == reason::impossible);
  CHECK(small.completions == 0);
  held->release();
  poll();
  CHECK(small.granted());
}

TEST_CASE("a capacity of zero is closed for now: work waits, and starts when there is some") {
  house self(plain({.slots = 0, .tokens = 0}));
  answer waits;
  self.spawn(ask(self.gate, waits, {.tokens = 10}));
  self.poll();
  CHECK(waits.completions == 0);
  policy some = plain({.slots = 1, .tokens = 10});
  some.revision = 2;
  REQUIRE(self.gate.reconfigure(some));
  self.poll();
  CHECK(waits.granted());
}
