// The sentences, word for word: each holds the numbers and what to change.
#include <sluice/core/decision.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace sluice;
using namespace std::chrono_literals;

namespace {

/// 1,350 input and 400 output tokens on 2 slots asked for by batch; 900 of 12,000 left, 850 short; 11 ahead.
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
  made.ahead_tokens = 23'456;
  made.waited = 1'500ms;
  made.deadline = instant{} + 42s;
  made.at = instant{} + 12s;
  return made;
}

std::string said(const decision& what) {
  const std::string text = explain(what, "batch");
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find("  ") == std::string::npos);
  return text;
}

std::string said(reason why, constraint bound) { return said(refused(why, bound)); }

}  // namespace

TEST_CASE("no room: what is in the way, and the smallest change") {
  const auto no_room = [](constraint bound) { return said(reason::no_room, bound); };
  CHECK(no_room(constraint::pool_slots) ==
        "refused (no_room): the pool has 900 of 12,000 slots free, 2 slots asked; raise capacity.slots by 850; or wait "
        "with admit()");
  CHECK(no_room(constraint::pool_tokens) ==
        "refused (no_room): the pool has 900 of 12,000 tokens free, 1,750 tokens asked; raise capacity.tokens by 850; "
        "or wait "
        "with admit()");
  CHECK(no_room(constraint::class_slots) ==
        "refused (no_room): class batch has 900 left of its ceiling of 12,000 slots, 2 slots asked; raise "
        "classes.batch.ceiling.slots by 850; or wait with admit()");
  CHECK(no_room(constraint::class_tokens) ==
        "refused (no_room): class batch has 900 left of its ceiling of 12,000 tokens, 1,750 tokens asked; raise "
        "classes.batch.ceiling.tokens by 850; or wait with admit()");
  CHECK(no_room(constraint::protected_slots) ==
        "refused (no_room): all but 900 of 12,000 slots are held or kept for classes under their floor, 2 slots asked; "
        "raise "
        "capacity.slots by 850; or wait with admit()");
  CHECK(no_room(constraint::protected_tokens) ==
        "refused (no_room): all but 900 of 12,000 tokens are held or kept for classes under their floor, 1,750 tokens "
        "asked; raise "
        "capacity.tokens by 850; or wait with admit()");
  CHECK(no_room(constraint::adaptive_limit) ==
        "refused (no_room): the limit that follows the provider is at 12,000 slots, 900 of them free, 2 slots asked; "
        "raise "
        "adaptive.minimum to 12,850; or wait with admit()");
  CHECK(no_room(constraint::elastic_limit) ==
        "refused (no_room): class batch makes room for more urgent work and is at 12,000 slots for now, 900 of them "
        "free, 2 slots "
        "asked; raise classes.batch.elastic.minimum to 12,850; or wait with admit()");
  CHECK(no_room(constraint::order) == "refused (no_room): others are served first; or wait with admit()");
  CHECK(no_room(constraint::tenant_turn) ==
        "refused (no_room): another tenant of the class is served first; or wait with admit()");
}

TEST_CASE("when it could start is told where it is known") {
  decision made = refused(reason::no_room, constraint::pool_tokens);
  made.could_start = made.at + 2'500ms;
  CHECK(said(made) ==
        "refused (no_room): the pool has 900 of 12,000 tokens free, 1,750 tokens asked; it could start in 2.5 s; raise "
        "capacity.tokens by 850; or wait with admit()");
}

TEST_CASE("rates: the axis, what the burst lets through now, and the burst that would have done") {
  const auto limited = [](constraint bound) {
    decision made = refused(reason::rate_limited, bound);
    made.could_start = made.at + 4s;
    return said(made);
  };
  CHECK(limited(constraint::provider_requests) ==
        "refused (rate_limited): the provider's rate lets 900 of 12,000 requests through now, 1 request asked; it "
        "could start in "
        "4 s; raise rates.requests.burst to 12,850; or wait with admit()");
  CHECK(limited(constraint::provider_input) ==
        "refused (rate_limited): the provider's rate lets 900 of 12,000 input tokens through now, 1,350 input tokens "
        "asked; it "
        "could start in 4 s; raise rates.input_tokens.burst to 12,850; or wait with admit()");
  CHECK(limited(constraint::provider_output) ==
        "refused (rate_limited): the provider's rate lets 900 of 12,000 output tokens through now, 400 output tokens "
        "asked; it "
        "could start in 4 s; raise rates.output_tokens.burst to 12,850; or wait with admit()");
  CHECK(limited(constraint::tenant_requests) ==
        "refused (rate_limited): the tenant's rate lets 900 of 12,000 requests through now, 1 request asked; it could "
        "start in "
        "4 s; raise rates.requests.burst of the tenant, or of other_tenants, to 12,850; or wait with admit()");
  CHECK(limited(constraint::tenant_input) ==
        "refused (rate_limited): the tenant's rate lets 900 of 12,000 input tokens through now, 1,350 input tokens "
        "asked; it "
        "could start in 4 s; raise rates.input_tokens.burst of the tenant, or of other_tenants, to 12,850; or wait "
        "with admit()");
  CHECK(limited(constraint::tenant_output) ==
        "refused (rate_limited): the tenant's rate lets 900 of 12,000 output tokens through now, 400 output tokens "
        "asked; it "
        "could start in 4 s; raise rates.output_tokens.burst of the tenant, or of other_tenants, to 12,850; or wait "
        "with admit()");
  decision pause = refused(reason::rate_limited, constraint::provider_pause);
  pause.shortfall = 0;
  pause.could_start = pause.at + 600s;
  CHECK(said(pause) ==
        "refused (rate_limited): the provider asked for a pause; it could start in 600 s; or wait with admit()");
}

TEST_CASE("budgets: what the run has left on the axis, and by how much to extend it") {
  CHECK(
      said(reason::budget_exhausted, constraint::budget_tokens) ==
      "refused (budget_exhausted): the run's budget has 900 of 12,000 tokens left, 1,750 tokens asked; raise the run's "
      "limit.tokens by 850 (extend_run) or ask for less");
  decision calls = refused(reason::budget_exhausted, constraint::budget_calls);
  calls.available = 0;
  calls.shortfall = 1;
  calls.limit = 9;
  CHECK(said(calls) ==
        "refused (budget_exhausted): the run's budget has 0 of 9 calls left, 1 call asked; raise the run's limit.calls "
        "by 1 "
        "(extend_run) or ask for less");
  decision tools = refused(reason::budget_exhausted, constraint::budget_tool_calls);
  tools.available = 1;
  tools.shortfall = 2;
  tools.limit = 9;
  CHECK(said(tools) ==
        "refused (budget_exhausted): the run's budget has 1 of 9 tool calls left, 3 tool calls asked; raise the run's "
        "limit.tool_calls by 2 (extend_run) or ask for less");
  CHECK(said(reason::budget_exhausted, constraint::budget_money) ==
        "refused (budget_exhausted): the run's budget has 900 of 12,000 units of money left, 1,750 units of money "
        "asked; raise the "
        "run's limit.money by 850 (extend_run) or ask for less");
  CHECK(said(reason::unknown_run, constraint::none) ==
        "refused (unknown_run): its run is not open; open it before its work, and close it after");
}

TEST_CASE("impossible: what was asked, what there could ever be, and both remedies") {
  CHECK(said(reason::impossible, constraint::pool_tokens) ==
        "impossible: 1,750 tokens asked, the pool holds at most 12,000 tokens (max_tokens = 400); lower max_tokens or "
        "raise "
        "capacity.tokens to 1,750");
  decision unsplit = refused(reason::impossible, constraint::class_tokens);
  unsplit.asked.output_tokens = 0;
  CHECK(said(unsplit) ==
        "impossible: 1,750 tokens asked, class batch holds at most 12,000 tokens; ask for less or raise "
        "classes.batch.ceiling.tokens to 1,750");
  CHECK(said(reason::impossible, constraint::pool_slots) ==
        "impossible: 2 slots asked, the pool holds at most 12,000 slots; ask for less or raise capacity.slots to 2");
  CHECK(said(reason::impossible, constraint::class_slots) ==
        "impossible: 2 slots asked, class batch holds at most 12,000 slots; ask for less or raise "
        "classes.batch.ceiling.slots to 2");
  CHECK(said(reason::impossible, constraint::provider_input) ==
        "impossible: 1,350 input tokens asked, the provider's rate never lets more than 12,000 input tokens through at "
        "once; ask for "
        "less or raise rates.input_tokens.burst to 1,350");
  CHECK(said(reason::impossible, constraint::tenant_output) ==
        "impossible: 400 output tokens asked, the tenant's rate never lets more than 12,000 output tokens through at "
        "once; ask for "
        "less or raise rates.output_tokens.burst of the tenant, or of other_tenants, to 400");
}

TEST_CASE("too late: when it could start, how long it would take, and how long there is") {
  decision made = refused(reason::infeasible, constraint::pool_slots);
  made.could_start = made.at + 41s;
  CHECK(said(made) ==
        "refused (infeasible): earliest start in 41 s with at most 11 ahead (23,456 tokens) in class batch; the "
        "deadline is in 30 s; "
        "give it a later one, raise capacity.slots or use a class of higher priority");
  made.expected_service = 7'250ms;
  made.bound = constraint::pool_tokens;
  CHECK(said(made) ==
        "refused (infeasible): earliest start in 41 s with at most 11 ahead (23,456 tokens) in class batch, then 7.25 "
        "s of work; the "
        "deadline is in 30 s; give it a later one, raise capacity.tokens or use a class of higher priority");
  made.bound = constraint::deadline;
  made.could_start = made.at;
  made.expected_service = 31s;
  made.ahead = 0;
  made.ahead_tokens = 0;
  CHECK(said(made) ==
        "refused (infeasible): earliest start in 0 s with at most 0 ahead in class batch, then 31 s of work; the "
        "deadline is in 30 s; "
        "give it a later one or ask for less output");
}

TEST_CASE("a full queue: for the newcomer, and for the one that makes room") {
  const auto full = [](reason why, constraint bound, std::int64_t limit) {
    decision made = refused(why, bound);
    made.limit = limit;
    made.available = 0;
    made.shortfall = 1;
    return made;
  };
  CHECK(said(full(reason::queue_full, constraint::queue, 500)) ==
        "refused (queue_full): the queue has its limit of 500 waiters, and none of them is worse; raise max_waiting by "
        "1 or come back "
        "later");
  decision known = full(reason::queue_full, constraint::class_queue, 1);
  known.could_start = known.at + 3s;
  CHECK(said(known) ==
        "refused (queue_full): class batch has its limit of 1 waiter, and none of them is worse; raise "
        "classes.batch.max_waiting by 1 "
        "or come back in 3 s");
  CHECK(
      said(full(reason::queue_full, constraint::class_queue, 0)) ==
      "refused (queue_full): nothing may wait in class batch; raise classes.batch.max_waiting by 1 or come back later");
  CHECK(said(full(reason::queue_full, constraint::queue, 0)) ==
        "refused (queue_full): nothing may wait in the queue; raise max_waiting by 1 or come back later");
  CHECK(said(full(reason::shed, constraint::queue, 500)) ==
        "refused (shed): after 1.5 s in class batch it made room in a full queue of 500 waiters; raise max_waiting by "
        "1 or ask for less");
}

TEST_CASE("each other refusal says its reason, its numbers and a remedy") {
  CHECK(said(reason::closed, constraint::none) == "refused (closed): the bulkhead is closed; admit before close()");
  CHECK(explain(refused(reason::unknown_class, constraint::none), "#9") ==
        "refused (unknown_class): the policy has no class #9; add it with policy::add_class");
  CHECK(said(reason::invalid_cost, constraint::none) ==
        "refused (invalid_cost): slots = 2, tokens = 1,750, output_tokens = 400; none may be negative, and "
        "output_tokens is a part of "
        "tokens");
  decision late = refused(reason::deadline_passed, constraint::none);
  late.deadline = late.at - 2s;
  CHECK(said(late) == "refused (deadline_passed): the deadline passed 2 s before it came; give it a later one");
  late.deadline = instant::min();
  CHECK(said(late) == "refused (deadline_passed): the deadline passed 9.22e+09 s before it came; give it a later one");
  CHECK(said(reason::deadline_in_queue, constraint::pool_slots) ==
        "refused (deadline_in_queue): the deadline passed after 1.5 s in class batch with at most 11 ahead (23,456 "
        "tokens): the pool "
        "has 900 of 12,000 slots free, 2 slots asked; raise capacity.slots by 850; or give it a later deadline");
  CHECK(said(reason::cancelled, constraint::none) ==
        "refused (cancelled): the caller cancelled it after 1.5 s in the queue");
  CHECK(said(reason::none, constraint::none) == "refused (none): for no reason");
}

TEST_CASE("granted, waiting and preempted are explained as well, and what is only observed") {
  decision made = refused(reason::none, constraint::pool_tokens);
  made.outcome = outcome::waiting;
  CHECK(said(made) ==
        "waiting in class batch for 1.5 s with at most 11 ahead (23,456 tokens): the pool has 900 of 12,000 tokens "
        "free, 1,750 tokens "
        "asked; raise capacity.tokens by 850");
  made.bound = constraint::tenant_turn;
  made.shortfall = 0;
  made.could_start = made.at + 800ms;
  CHECK(said(made) ==
        "waiting in class batch for 1.5 s with at most 11 ahead (23,456 tokens): another tenant of the class is served "
        "first; it could "
        "start in 0.8 s");
  made.observed = true;
  CHECK(said(made).starts_with("observed only, and let through: waiting in class batch for 1.5 s"));
  made.outcome = outcome::granted;
  CHECK(said(made) == "let through to class batch holding nothing, because the policy only observes");
  made.observed = false;
  CHECK(said(made) == "granted 2 slots and 1,750 tokens to class batch after 1.5 s (revision 7)");
  made.outcome = outcome::preempted;
  CHECK(said(made) ==
        "preempted: 2 slots and 1,750 tokens that class batch had borrowed go back to a class of higher priority below "
        "its floor; "
        "raise classes.batch.floor or capacity");
  decision too_large = refused(reason::impossible, constraint::pool_slots);
  too_large.observed = true;
  CHECK(said(too_large).starts_with("observed only, and let through: impossible: 2 slots asked"));
}

TEST_CASE("one of a thing is written in the singular, large numbers in groups, and no sum wraps") {
  decision made = refused(reason::no_room, constraint::pool_slots);
  made.asked.slots = 1;
  made.limit = 1;
  made.available = 0;
  made.shortfall = 1;
  CHECK(said(made) ==
        "refused (no_room): the pool has 0 of 1 slot free, 1 slot asked; raise capacity.slots by 1; or wait with "
        "admit()");
  made.bound = constraint::pool_tokens;
  made.limit = 1'234'567;
  CHECK(said(made).find("0 of 1,234,567 tokens free") != std::string::npos);
  made.bound = constraint::adaptive_limit;
  made.limit = unlimited;
  made.shortfall = unlimited;
  CHECK(said(made).find("raise adaptive.minimum to 9,223,372,036,854,775,807") != std::string::npos);
}
