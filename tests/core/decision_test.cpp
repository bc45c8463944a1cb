// The words, and the rejection as a value. The sentences are in explanation_test.cpp.
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

}  // namespace

TEST_CASE("every value has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(reason::unknown_run); ++i) names.insert(to_string(static_cast<reason>(i)));
  CHECK(names.size() == static_cast<std::size_t>(reason::unknown_run) + 1);
  CHECK(names.count("unknown") == 0);
  names.clear();
  for (std::size_t i = 0; i < constraint_count; ++i) names.insert(to_string(static_cast<constraint>(i)));
  CHECK(names.size() == constraint_count);
  CHECK(names.count("unknown") == 0);
  CHECK(to_string(outcome::granted) == "granted");
  CHECK(to_string(outcome::waiting) == "waiting");
  CHECK(to_string(outcome::rejected) == "rejected");
  CHECK(to_string(outcome::preempted) == "preempted");
  CHECK(to_string(reason::budget_exhausted) == "budget_exhausted");
  CHECK(to_string(constraint::tenant_turn) == "tenant_turn");
  CHECK(to_string(static_cast<outcome>(200)) == "unknown");
  CHECK(to_string(static_cast<reason>(200)) == "unknown");
  CHECK(to_string(static_cast<constraint>(200)) == "unknown");
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
