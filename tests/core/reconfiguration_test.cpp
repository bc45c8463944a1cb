// A new revision of the policy: attrition, waiters, refusals.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice;
using namespace sluice::core;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

policy revised(capacity total, std::uint64_t revision) {
  policy made = bare(total);
  made.revision = revision;
  return made;
}

}  // namespace

TEST_CASE("lowered below what is held: nothing is revoked, nothing starts until there is room") {
  logged_gate gate(bare({100, 10'000}));
  for (const char* name : {"a", "b", "c"})
    CHECK(gate.arrive(name, {.tokens = 2'000}) == "granted " + std::string(name));
  CHECK(gate.reconfigure(revised({100, 4'000}, 2)) == "-");
  CHECK(gate.held() == 6'000);
  CHECK(gate.arrive("d", {.tokens = 2'000}) == "-");
  CHECK(gate.arrive("e", {.tokens = 2'000}) == "-");
  CHECK(gate.finish("a") == "-");
  CHECK(gate.finish("b") == "granted d");
  CHECK(gate.held() == 4'000);
  CHECK(gate.reconfigure(revised({100, 20'000}, 3)) == "granted e");
}

TEST_CASE("while the pool is too small for it, work that could never fit is told so") {
  // B 1200, 1100 held, lowered to 500: refused as impossible, also when the first is gone; raised to 1100 it fits.
  logged_gate gate(bare({10, 1'200}));
  CHECK(gate.arrive("a", {.tokens = 1'100}) == "granted a");
  CHECK(gate.reconfigure(revised({10, 500}, 2)) == "-");
  CHECK(gate.held() == 1'100);
  CHECK(gate.arrive("b", {.tokens = 1'100}) == "rejected b (impossible)");
  CHECK(gate.finish("a") == "-");
  CHECK(gate.arrive("c", {.tokens = 1'100}) == "rejected c (impossible)");
  CHECK(gate.reconfigure(revised({10, 1'100}, 3)) == "-");
  CHECK(gate.arrive("d", {.tokens = 1'100}) == "granted d");
}

TEST_CASE("waiters that could never fit any more are rejected, the others served") {
  logged_gate gate(bare({10, 1'000}));
  CHECK(gate.arrive("all", {.tokens = 1'000}) == "granted all");
  CHECK(gate.arrive("big", {.tokens = 900}) == "-");
  CHECK(gate.arrive("small", {.tokens = 100}) == "-");
  CHECK(gate.reconfigure(revised({10, 800}, 2)) == "rejected big (impossible)");
  CHECK(gate.last.bound == constraint::pool_tokens);
  CHECK(gate.last.limit == 800);
  CHECK(gate.last.revision == 2);
  CHECK(gate.finish("all") == "granted small");
}

TEST_CASE("a pool of zero is a pause: waiters stay") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("a", {.tokens = 1'000}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 1'000}) == "-");
  CHECK(gate.reconfigure(revised({0, 0}, 2)) == "-");
  CHECK(gate.finish("a") == "-");
  CHECK(gate.all().waiting == 1);
  CHECK(gate.reconfigure(revised({1, 1'000}, 3)) == "granted b");
}

TEST_CASE("a class whose ceiling becomes zero slots is closed: its waiters are answered at once") {
  // A gate that kept them would answer only when the place comes free.
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("i", {}) == "granted i");
  CHECK(gate.arrive("b", {}, batch) == "-");
  policy next = revised({1, 1'000}, 2);
  next[batch].ceiling = {0, 0};
  CHECK(gate.reconfigure(next) == "rejected b (impossible)");
  CHECK(gate.last.bound == constraint::class_slots);
  CHECK(gate.last.limit == 0);
  CHECK(gate.arrive("b2", {}, batch) == "rejected b2 (impossible)");
  CHECK(gate.arrive("b3", {.slots = 0}, batch) == "rejected b3 (impossible)");
  CHECK(gate.finish("i") == "-");
  CHECK(gate.all().waiting == 0);
}

TEST_CASE("a waiter is judged by the revision in force, and stays queued when it does not fit yet") {
  // Revision 7: C 1, B 1000, 400 held, one waits. Revision 8: C 2, B 500: still no room, still in the queue.
  logged_gate gate(revised({1, 1'000}, 7));
  CHECK(gate.arrive("a", {.tokens = 400}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 400}) == "-");
  CHECK(gate.explain("b").bound == constraint::pool_slots);
  CHECK(gate.reconfigure(revised({2, 500}, 8)) == "-");
  CHECK(gate.explain("b").bound == constraint::pool_tokens);
  CHECK(gate.explain("b").revision == 8);
  CHECK(gate.explain("b").available == 100);
  CHECK(gate.held() == 400);
  CHECK(gate.finish("a") == "granted b");
}

TEST_CASE("a stale revision is refused and changes nothing; what was granted keeps its revision") {
  logged_gate gate(revised({1, 1'000}, 42));
  CHECK(gate.arrive("a", {}) == "granted a");
  for (const std::uint64_t stale : {std::uint64_t{42}, std::uint64_t{41}}) {
    const std::string message = gate.reconfigure(revised({9, 9}, stale));
    CHECK(message.find("revision " + std::to_string(stale)) != std::string::npos);
    CHECK(message.find("revision 42") != std::string::npos);
  }
  effects out;
  CHECK(gate.machine.reconfigure(revised({9, 9}, 42), gate.now, out).error().is(errc::stale_revision));
  CHECK(gate.machine.current_policy().total == capacity{1, 1'000});
  CHECK(gate.machine.statistics().revision == 42);
  CHECK(gate.reconfigure(revised({2, 1'000}, 43)) == "-");
  CHECK(gate.explain("a").revision == 42);
  CHECK(gate.arrive("b", {}) == "granted b");
  CHECK(gate.explain("b").revision == 43);
  CHECK(gate.machine.statistics().revision == 43);
}

TEST_CASE("an invalid policy, or one with another class table, changes nothing") {
  logged_gate gate(bare({4, 1'000}));
  policy negative = revised({4, -1}, 2);
  CHECK(gate.reconfigure(negative).find("capacity.tokens") != std::string::npos);
  policy longer = revised({4, 1'000}, 2);
  longer.add_class(class_policy("extra"));
  CHECK(gate.reconfigure(longer).find("classes: 3") != std::string::npos);
  auto three = bare({4, 1'000});
  three.add_class(class_policy("extra"));
  logged_gate with_extra(three);
  three.classes[2].name = "other";
  three.revision = 2;
  CHECK(with_extra.reconfigure(three).find("classes[2].name") != std::string::npos);
  CHECK(gate.machine.current_policy().revision == 1);
  CHECK(gate.machine.statistics().total == capacity{4, 1'000});
}

TEST_CASE("shrunk from two slots to one with two in flight") {
  logged_gate gate(bare({2, 1'000}));
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {}) == "granted b");
  CHECK(gate.reconfigure(revised({1, 1'000}, 2)) == "-");
  CHECK(gate.all().in_flight == 2);
  CHECK(gate.arrive("c", {}, interactive, {.may_wait = false}) == "rejected c (no_room)");
  CHECK(gate.last.available == 0);
  CHECK(gate.finish("a") == "-");
  CHECK(gate.arrive("d", {}, interactive, {.may_wait = false}) == "rejected d (no_room)");
  CHECK(gate.finish("b") == "-");
  CHECK(gate.arrive("e", {}, interactive, {.may_wait = false}) == "granted e");
}

TEST_CASE("grown by one slot: the waiter starts in that event") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {}) == "-");
  CHECK(gate.reconfigure(revised({2, 1'000}, 2)) == "granted b");
  CHECK(gate.all().in_flight == 2);
  CHECK(gate.all().waiting == 0);
}

TEST_CASE("priorities of the new revision order what waits already") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("running", {}) == "granted running");
  CHECK(gate.arrive("i", {}) == "-");
  CHECK(gate.arrive("b", {}, batch) == "-");
  policy next = revised({1, 1'000}, 2);
  next[batch].priority = 7;
  CHECK(gate.reconfigure(next) == "-");
  CHECK(gate.finish("running") == "granted b");
}

TEST_CASE("a class that becomes preemptible can be asked to stop from then on") {
  policy rules = bare({1, unlimited});
  rules[interactive].floor = {1, 0};
  rules[interactive].priority = 1;
  rules[interactive].restore_within = duration(5);
  logged_gate gate(rules);
  CHECK(gate.arrive("b", {}, batch) == "granted b");
  CHECK(gate.stoppable("b") == "-");
  CHECK(gate.arrive("i", {}) == "-");
  gate.now += duration(100);
  CHECK(gate.tick() == "-");
  rules[batch].preemptible = true;
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "preempt b");
}
