// The sentences: each holds the numbers and the knob.
#include <sluice/core/decision.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>

using namespace sluice;
using namespace std::chrono_literals;

namespace {

decision refused(reason why, constraint bound) {
  decision made;
  made.outcome = outcome::rejected;
  made.reason = why;
  made.bound = bound;
  made.workload = batch;
  made.revision = 7;
  made.asked = {.tokens = 1'750, .output_tokens = 400, .slots = 2};
  made.limit = 12'000;
  made.available = 900;
  made.shortfall = 850;
  made.ahead = 11;
  made.waited = 1'500ms;
  made.deadline = instant{} + 10s;
  made.at = instant{} + 12s;
  return made;
}

void check_contains(const std::string& text, std::initializer_list<const char*> parts) {
  CHECK(text.find('\n') == std::string::npos);
  for (const char* part : parts) {
    CAPTURE(text);
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("every value has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(reason::cancelled); ++i) names.insert(to_string(static_cast<reason>(i)));
  CHECK(names.size() == static_cast<std::size_t>(reason::cancelled) + 1);
  CHECK(names.count("unknown") == 0);
  names.clear();
  for (int i = 0; i <= static_cast<int>(constraint::class_queue); ++i)
    names.insert(to_string(static_cast<constraint>(i)));
  CHECK(names.size() == static_cast<std::size_t>(constraint::class_queue) + 1);
  CHECK(names.count("unknown") == 0);
  CHECK(to_string(outcome::granted) == "granted");
  CHECK(to_string(outcome::waiting) == "waiting");
  CHECK(to_string(outcome::rejected) == "rejected");
  CHECK(to_string(static_cast<reason>(200)) == "unknown");
}

TEST_CASE("no room: the bound's numbers and its knob") {
  check_contains(explain(refused(reason::no_room, constraint::pool_tokens), "batch"),
                 {"no_room", "900 of 12,000 tokens free", "1,750 tokens asked", "raise capacity.tokens by 850"});
  check_contains(explain(refused(reason::no_room, constraint::pool_slots), "batch"),
                 {"900 of 12,000 slots free", "2 slots asked", "raise capacity.slots by 850"});
  check_contains(
      explain(refused(reason::no_room, constraint::class_tokens), "batch"),
      {"class batch has 900 left of its ceiling of 12,000 tokens", "raise classes.batch.ceiling.tokens by 850"});
  check_contains(explain(refused(reason::no_room, constraint::class_slots), "batch"),
                 {"ceiling of 12,000 slots", "raise classes.batch.ceiling.slots by 850"});
  check_contains(explain(refused(reason::no_room, constraint::protected_tokens), "batch"),
                 {"all but 900 of 12,000 tokens", "floor", "raise capacity.tokens by 850"});
  check_contains(explain(refused(reason::no_room, constraint::protected_slots), "batch"),
                 {"raise capacity.slots by 850"});
  check_contains(explain(refused(reason::no_room, constraint::order), "batch"), {"others are served first"});
}

TEST_CASE("impossible: what was asked, what there could ever be, and both remedies") {
  check_contains(explain(refused(reason::impossible, constraint::pool_tokens), "batch"),
                 {"impossible: 1,750 tokens asked", "the pool", "12,000", "max_tokens", "capacity.tokens"});
  check_contains(explain(refused(reason::impossible, constraint::class_slots), "batch"),
                 {"impossible: 2 slots asked", "class batch", "classes.batch.ceiling.slots"});
}

TEST_CASE("each other refusal says its reason, its numbers and a remedy") {
  check_contains(explain(refused(reason::closed, constraint::none), "batch"), {"closed"});
  check_contains(explain(refused(reason::unknown_class, constraint::none), "#9"),
                 {"unknown_class", "no class #9", "add_class"});
  check_contains(explain(refused(reason::invalid_cost, constraint::none), "batch"),
                 {"invalid_cost", "slots = 2", "tokens = 1,750", "output_tokens = 400"});
  check_contains(explain(refused(reason::deadline_passed, constraint::none), "batch"), {"deadline_passed", "2 s"});
  decision early = refused(reason::deadline_passed, constraint::none);
  early.deadline = instant::min();
  check_contains(explain(early, "batch"), {"deadline_passed", "passed 9.22e+09 s before"});
  check_contains(explain(refused(reason::queue_full, constraint::queue), "batch"),
                 {"queue_full", "12,000 waiters", "raise max_waiting"});
  check_contains(explain(refused(reason::queue_full, constraint::class_queue), "batch"),
                 {"12,000 waiters", "raise classes.batch.max_waiting"});
  check_contains(explain(refused(reason::shed, constraint::queue), "batch"),
                 {"shed", "1.5 s", "12,000 waiters", "max_waiting"});
  check_contains(explain(refused(reason::deadline_in_queue, constraint::pool_slots), "batch"),
                 {"deadline_in_queue", "1.5 s", "11", "class batch", "capacity.slots by 850"});
  check_contains(explain(refused(reason::cancelled, constraint::none), "batch"), {"cancelled", "1.5 s"});
}

TEST_CASE("granted and waiting are explained as well") {
  decision made = refused(reason::none, constraint::pool_tokens);
  made.outcome = outcome::waiting;
  check_contains(explain(made, "batch"),
                 {"waiting for 1.5 s", "11 ahead", "900 of 12,000 tokens free", "capacity.tokens"});
  made.outcome = outcome::granted;
  check_contains(explain(made, "batch"), {"granted 2 slots and 1,750 tokens", "batch", "1.5 s", "revision 7"});
}

TEST_CASE("one of a thing is written in the singular, large numbers in groups") {
  decision made = refused(reason::no_room, constraint::pool_slots);
  made.asked.slots = 1;
  made.limit = 1;
  made.available = 0;
  check_contains(explain(made, "batch"), {"0 of 1 slot free", "1 slot asked"});
  made.bound = constraint::pool_tokens;
  made.limit = 1'234'567;
  check_contains(explain(made, "batch"), {"1,234,567 tokens"});
}

TEST_CASE("a rejection is a value: copies are independent, moves leave nothing behind") {
  const decision numbers = refused(reason::no_room, constraint::pool_tokens);
  rejection first(numbers, "batch");
  CHECK(first.reason() == reason::no_room);
  CHECK(first.details().shortfall == 850);
  CHECK(first.class_name() == "batch");
  CHECK(first.explain() == explain(numbers, "batch"));
  CHECK(first.to_error().is(errc::refused));
  CHECK(first.to_error().message() == first.explain());

  rejection copy = first;
  rejection other(refused(reason::closed, constraint::none), "interactive");
  first = other;
  CHECK(copy.reason() == reason::no_room);
  CHECK(copy.class_name() == "batch");
  CHECK(first.reason() == reason::closed);
  CHECK(first.class_name() == "interactive");

  const rejection moved = std::move(copy);
  CHECK(moved.reason() == reason::no_room);
  copy = other;
  CHECK(copy.reason() == reason::closed);
  rejection& same = copy;
  copy = same;
  CHECK(copy.class_name() == "interactive");
}
