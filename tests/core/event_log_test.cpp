#include "core/busy_machine.hpp"

#include <sluice/core/event_log.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::busy_machine;
using sluice::core::testing::busy_policy;

namespace {

constexpr instant at(duration since) { return instant(since); }

/// What comes back when one event is written and read.
template <typename Body>
logged_event through(const Body& body, const event_result& result = {}, const effects& out = {}) {
  std::string log;
  event_log_writer writer(log);
  writer.begin(policy({4, 4'000}), true);
  writer.append({at(5s), body}, result, out, {});
  writer.end();
  auto reader = event_log_reader::open(log);
  REQUIRE(reader);
  logged_event back;
  const auto more = reader->next(back);
  REQUIRE_MESSAGE(more, more.error().message());
  REQUIRE(*more);
  CHECK(back.number == 0);
  CHECK(back.what.at == at(5s));
  CHECK(back.result == result);
  logged_event none;
  CHECK(reader->next(none) == expected<bool, error>(false));
  CHECK(reader->next(none) == expected<bool, error>(false));
  CHECK_FALSE(reader->full());
  return back;
}

template <typename Body>
Body body_through(const Body& body, const event_result& result = {}) {
  const logged_event back = through(body, result);
  REQUIRE(std::holds_alternative<Body>(back.what.what));
  return std::get<Body>(back.what.what);
}

std::string message_of(std::string_view log) {
  auto reader = event_log_reader::open(log);
  if (!reader) return reader.error().message();
  logged_event each;
  for (;;) {
    const auto more = reader->next(each);
    if (!more) return more.error().message();
    if (!*more) return "whole";
  }
}

std::string small_log() {
  std::string log;
  event_log_writer writer(log);
  admission machine(policy({4, 4'000}));
  machine.record(&writer);
  effects out;
  request asked;
  asked.cost = {100, 40, 1};
  const request_id id = machine.arrive(asked, at(1s), out);
  machine.finish(id, ending::released, usage{60, 20}, at(2s), out);
  writer.end();
  return log;
}

}  // namespace

TEST_CASE("a request comes back with all that it says") {
  request what;
  what.cost = {1'600, 600, 2};
  what.workload = workload(200);
  what.may_wait = false;
  what.deadline = at(65s);
  what.tenant = tenant("acme");
  what.run = {3, 9};
  what.finalising = true;
  what.model = model("large");
  what.tag = 0xdead'beef'cafe'f00d;
  what.age = {at(2s), 17, 2};
  const auto back = body_through(events::arrive{what}, {true, {5, 4'000'000'000}, {}}).what;
  CHECK(back.cost == what.cost);
  CHECK(back.workload == what.workload);
  CHECK(back.may_wait == what.may_wait);
  CHECK(back.deadline == what.deadline);
  CHECK(back.tenant == what.tenant);
  CHECK(back.run == what.run);
  CHECK(back.finalising == what.finalising);
  CHECK(back.model == what.model);
  CHECK(back.tag == what.tag);
  CHECK(back.age == what.age);
}

TEST_CASE("numbers at their ends come back") {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t edge : {most, least, std::int64_t{-1}, std::int64_t{0}}) {
    request what;
    what.cost = {edge, edge, edge};
    what.tag = static_cast<std::uint64_t>(edge);
    what.deadline = instant(duration(edge));
    const auto back = body_through(events::enter{what}, {false, {}, {}}).what;
    CHECK(back.cost == what.cost);
    CHECK(back.tag == what.tag);
    CHECK(back.deadline == what.deadline);

    const auto far = body_through(events::report{{7, 1}, {edge, edge, edge, edge}}).how_far;
    CHECK(far.input_tokens == edge);
    CHECK(far.output_tokens == edge);
    CHECK(far.remaining_output == edge);
    CHECK(far.margin == edge);
    CHECK(body_through(events::pause{instant(duration(edge))}).until == instant(duration(edge)));
    CHECK(body_through(events::extend_run{{1, 2}, {edge, edge, edge, edge}}).more == spending{edge, edge, edge, edge});
  }
  CHECK(body_through(events::finish{{7, 1}, ending::abandoned, usage{most, most}}).used == usage{most, most});
  CHECK(body_through(events::finish{{7, 1}, ending::abandoned, usage{-1, least}}).used == usage{-1, least});
}

TEST_CASE("every other event comes back") {
  CHECK(body_through(events::cancel{{4, 5}}, {false, {}, {}}).id == request_id{4, 5});
  body_through(events::tick{});
  body_through(events::close{});
  const auto stoppable = body_through(events::set_stoppable{{1, 3}, true});
  CHECK(stoppable.id == request_id{1, 3});
  CHECK(stoppable.stoppable);
  for (const ending how : {ending::released, ending::preempted, ending::abandoned}) {
    const auto ended = body_through(events::finish{{1, 3}, how, {}});
    CHECK(ended.id == request_id{1, 3});
    CHECK(ended.how == how);
    CHECK_FALSE(ended.used);
  }
  CHECK(body_through(events::finish{{1, 3}, ending::released, usage{}}).used == usage{});
  for (const provider_signal what :
       {provider_signal::rate_limited, provider_signal::overloaded, provider_signal::timed_out}) {
    const auto signal = body_through(events::signal{{2, 8}, what});
    CHECK(signal.id == request_id{2, 8});
    CHECK(signal.what == what);
  }
  run_options run;
  run.parent = {1, 2};
  run.funding = run_funding::carve;
  run.limit = {100, unlimited, 7, 3};
  run.finalise_reserve = {1, 2, 3, 4};
  run.tag = 99;
  const logged_event opened = through(events::open_run{run}, {true, {}, {6, 7}});
  const run_options& same = std::get<events::open_run>(opened.what.what).what;
  CHECK(same.parent == run.parent);
  CHECK(same.funding == run.funding);
  CHECK(same.limit == run.limit);
  CHECK(same.finalise_reserve == run.finalise_reserve);
  CHECK(same.tag == run.tag);
  CHECK(body_through(events::close_run{{6, 7}}).id == run_id{6, 7});
  CHECK(body_through(events::close_run{{6, 7}, true}).hold);
  CHECK_FALSE(body_through(events::close_run{{6, 7}}).hold);
  const auto charged = body_through(events::charge_run{{6, 7}, {1, 2, 3, -4}}, {false, {}, {}});
  CHECK(charged.id == run_id{6, 7});
  CHECK(charged.what == spending{1, 2, 3, -4});
  const provider_limits limits{
      .requests = {60, 3, 6min}, .input_tokens = {-1, -7}, .tokens = {.remaining = 0, .reset = 20ms}};
  CHECK(body_through(events::report_limits{limits}).said == limits);
  for (const attempt kind : {attempt::first, attempt::retry, attempt::hedge})
    CHECK(body_through(events::arrive{{.kind = kind}}).what.kind == kind);
}

TEST_CASE("a policy comes back with all that it says") {
  policy next = busy_policy(44);
  next.observe = true;
  next.explain_records = 7;
  next.max_preemptions = 5;
  next.feasibility.wait_share = 0.123456789;
  next[batch].largest_request = 400;
  next.retries = {.enabled = false, .share = 0.7, .minimum = 9, .window = 3s};
  next.reopening = {.share = 0.4, .least = 1ms, .most = 2ms, .step = 3us};
  const auto back = body_through(events::reconfigure{std::make_shared<const policy>(next)}).next;
  REQUIRE(back != nullptr);
  CHECK(back->total == next.total);
  REQUIRE(back->classes.size() == 3);
  for (std::size_t c = 0; c < 3; ++c) {
    const class_policy& is = back->classes[c];
    const class_policy& was = next.classes[c];
    CHECK(is.name == was.name);
    CHECK(is.priority == was.priority);
    CHECK(is.floor == was.floor);
    CHECK(is.ceiling == was.ceiling);
    CHECK(is.preemptible == was.preemptible);
    CHECK(is.restore_within == was.restore_within);
    CHECK(is.elastic == was.elastic);
    CHECK(is.largest_request == was.largest_request);
    CHECK(is.max_waiting == was.max_waiting);
  }
  CHECK(back->max_waiting == next.max_waiting);
  CHECK(back->max_preemptions == next.max_preemptions);
  CHECK(back->rates == next.rates);
  CHECK(back->retries == next.retries);
  CHECK(back->reopening == next.reopening);
  CHECK(back->other_tenants.name == "others");
  REQUIRE(back->tenants.size() == 1);
  CHECK(back->tenants[0].name == "acme");
  CHECK(back->tenants[0].weight == 3);
  CHECK(back->tenants[0].rates == next.tenants[0].rates);
  CHECK(back->max_tenants == next.max_tenants);
  CHECK(back->bypass == next.bypass);
  CHECK(back->feasibility == next.feasibility);
  CHECK(back->overload == next.overload);
  CHECK(back->adaptive == next.adaptive);
  REQUIRE(back->prices.size() == 1);
  CHECK(back->prices[0].name == "large");
  CHECK(back->prices[0].input_per_million == 3'000'000);
  CHECK(back->prices[0].output_per_million == 15'000'000);
  CHECK(back->observe);
  CHECK(back->explain_records == 7);
  CHECK(back->revision == 44);
}

TEST_CASE("effects come back in order, with the decisions behind them") {
  effects out;
  out.list.push_back({effect::kind::granted, 0, {3, 1}, 12, {}});
  out.list.push_back({effect::kind::rejected, 0, {9, 2}, 13, {}});
  out.list.push_back({effect::kind::preempt, 0, {4, 4}, 0, {}});
  out.list.push_back({effect::kind::wake_at, 0, {}, 0, at(6s)});
  out.list.push_back({effect::kind::wake_at, 0, {}, 0, never});
  out.list.push_back({effect::kind::budget_threshold, 95, {5, 6}, 77, {}});
  out.list.push_back({effect::kind::rejected, 1, {}, 14, {}});
  out.list.push_back({effect::kind::stop, 0, {8, 3}, 15, {}});
  // What no machine does yet is kept all the same.
  out.list.push_back({effect::kind::wake_at, 5, {6, 7}, 8, at(9s)});
  decision full;
  full.outcome = outcome::rejected;
  full.reason = reason::infeasible;
  full.bound = constraint::deadline;
  full.workload = batch;
  full.tenant = tenant("acme");
  full.observed = true;
  full.revision = 9;
  full.asked = {1, 2, 3};
  full.limit = 4;
  full.available = -5;
  full.shortfall = 6;
  full.ahead = 7;
  full.ahead_tokens = 8;
  full.could_start = at(9s);
  full.expected_service = 10s;
  full.waited = 11s;
  full.deadline = at(12s);
  full.at = at(13s);
  out.decisions = {full, decision{}};
  const logged_event back = through(events::tick{}, {}, out);
  REQUIRE(back.effects.list.size() == out.list.size());
  REQUIRE(back.effects.decisions.size() == 2);
  for (std::size_t i = 0; i < out.list.size(); ++i) CHECK_MESSAGE(same(back.effects.list[i], out.list[i]), i);
  CHECK(same(back.effects.decisions[0], out.decisions[0]));
  CHECK(same(back.effects.decisions[1], out.decisions[1]));
}

TEST_CASE("only the effects of an event are written, from wherever the caller's buffer stands") {
  std::string log;
  event_log_writer writer(log);
  admission machine(policy({1, 1'000}));
  machine.record(&writer);
  effects out;
  request asked;
  asked.cost.tokens = 5'000;
  machine.arrive(asked, at(1s), out);
  machine.arrive(asked, at(2s), out);
  REQUIRE(out.decisions.size() == 2);
  writer.end();
  auto reader = event_log_reader::open(log);
  REQUIRE(reader);
  logged_event each;
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(reader->next(each) == expected<bool, error>(true));
    REQUIRE(each.effects.list.size() == 1);
    CHECK(each.effects.list[0].detail == 0);
    CHECK(same(each.effects.decisions.at(0), out.decisions[i]));
  }
}

TEST_CASE("the instant that is written is the one that counted") {
  std::string log;
  event_log_writer writer(log);
  admission machine(policy({4, 4'000}));
  machine.record(&writer);
  effects out;
  const request_id id = machine.arrive({.cost = {.tokens = 10}}, at(3s), out);
  machine.finish(id, ending::released, {}, instant::min(), out);
  machine.tick(at(1s), out);
  machine.tick(at(4s), out);
  writer.end();
  auto reader = event_log_reader::open(log);
  REQUIRE(reader);
  std::vector<instant> instants;
  for (logged_event each; *reader->next(each);) instants.push_back(each.what.at);
  CHECK(instants == std::vector<instant>{at(3s), at(3s), at(3s), at(4s)});
}

TEST_CASE("what is not a log is told where and why") {
  const std::string log = small_log();
  REQUIRE(message_of(log) == "whole");
  CHECK(message_of("") == "event log: byte 0: expected the beginning of an event log");
  CHECK(message_of("id,class,arrival_ms\n") == "event log: byte 0: expected the beginning of an event log");
  CHECK(message_of("\x89slu") == "event log: byte 4: expected the beginning of an event log");
  std::string other = log;
  other[8] = 3;
  CHECK(message_of(other) == "event log: byte 8: expected version 4, not 3");
  other = log;
  other[9] = 7;
  CHECK(message_of(other) == "event log: byte 10: expected yes or no");
  CHECK(message_of(log + "x") ==
        "event log: byte " + std::to_string(log.size()) + ", in event 2: expected nothing after the end");
  const std::string size = std::to_string(log.size() - 8);
  CHECK(message_of(log.substr(0, log.size() - 1)) == "event log: byte " + size + ", in event 2: expected a digest");
  other = log;
  other.back() = static_cast<char>(other.back() + 1);
  CHECK(message_of(other) == "event log: byte " + size +
                                 ", in event 2: expected the digest of the bytes before it: some of them have changed");

  std::string wrong;
  event_log_writer writer(wrong);
  policy floors({4, 4'000});
  floors[batch].floor = {40, 10};
  writer.begin(floors, true);
  writer.end();
  CHECK(message_of(wrong).find("event log: byte 10: expected a policy that holds (classes.batch.floor.slots") == 0);
}

TEST_CASE("a cut anywhere, and any byte anywhere, gives events or an error") {
  std::string log;
  event_log_writer writer(log);
  busy_machine run(11);
  run.machine.record(&writer);
  for (int i = 0; i < 150; ++i) run.step();
  writer.end();
  REQUIRE(message_of(log) == "whole");
  for (std::size_t size = 0; size < log.size(); ++size) {
    CHECK(message_of(std::string_view(log).substr(0, size)).find("expected") != std::string::npos);
  }
  std::mt19937_64 draw(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string other = log;
    const std::size_t place = draw() % other.size();
    const char changed = static_cast<char>(draw());
    if (other[place] == changed) continue;
    other[place] = changed;
    CHECK(message_of(other).find("expected") != std::string::npos);
  }
}

TEST_CASE("an error stays") {
  const std::string log = small_log();
  auto reader = event_log_reader::open(std::string_view(log).substr(0, log.size() - 12));
  REQUIRE(reader);
  logged_event each;
  while (const auto more = reader->next(each)) REQUIRE(*more);
  const auto first = reader->next(each);
  REQUIRE_FALSE(first);
  CHECK(reader->next(each).error() == first.error());
}

TEST_CASE("a full log ends in good order") {
  std::string log;
  event_log_writer writer(log, 1'000);
  busy_machine run(2);
  run.machine.record(&writer);
  int steps = 0;
  for (; !writer.ended() && steps < 10'000; ++steps) run.step();
  REQUIRE(writer.ended());
  const std::uint64_t events = writer.events();
  const std::size_t size = log.size();
  CHECK(size < 1'400);
  for (int i = 0; i < 50; ++i) run.step();
  writer.end();
  CHECK(log.size() == size);
  CHECK(writer.events() == events);

  auto reader = event_log_reader::open(log);
  REQUIRE(reader);
  std::uint64_t read = 0;
  for (logged_event each; *reader->next(each);) ++read;
  CHECK(read == events);
  CHECK(reader->full());
}

TEST_CASE("the text may be taken away piece by piece") {
  const auto run_of = [](std::string& log, event_log_writer& writer, const auto& after_each) {
    busy_machine run(8);
    run.machine.record(&writer);
    for (int i = 0; i < 400; ++i) {
      run.step();
      after_each();
    }
    writer.end();
    after_each();
    return log;
  };
  std::string whole;
  event_log_writer one(whole);
  run_of(whole, one, [] {});
  std::string piece;
  std::string pieces;
  event_log_writer other(piece);
  run_of(piece, other, [&] {
    pieces += piece;
    piece.clear();
  });
  CHECK(pieces == whole);
}

TEST_CASE("a log from the middle speaks of requests that it does not introduce") {
  admission machine(policy({4, 4'000}));
  effects out;
  const request_id early = machine.arrive({.cost = {.tokens = 10}}, at(1s), out);
  std::string log;
  event_log_writer writer(log);
  machine.record(&writer);
  out.clear();
  machine.finish(early, ending::released, usage{3, 4}, at(2s), out);
  machine.record(nullptr);
  machine.tick(at(3s), out);
  writer.end();
  auto reader = event_log_reader::open(log);
  REQUIRE(reader);
  CHECK_FALSE(reader->from_the_start());
  logged_event each;
  REQUIRE(*reader->next(each));
  const auto& ended = std::get<events::finish>(each.what.what);
  CHECK(ended.id == early);
  CHECK(ended.used == usage{3, 4});
  CHECK_FALSE(*reader->next(each));
}

TEST_CASE("recording changes nothing") {
  std::string log;
  event_log_writer writer(log);
  busy_machine recorded(21);
  busy_machine plain(21);
  recorded.machine.record(&writer);
  for (int i = 0; i < 2'000; ++i) {
    recorded.step();
    plain.step();
  }
  CHECK(recorded.seen == plain.seen);
  CHECK(recorded.rejected_for == plain.rejected_for);
  CHECK(recorded.machine.statistics().all == plain.machine.statistics().all);
  CHECK_FALSE(recorded.machine.broken_invariant());
}

TEST_CASE("a request takes less than 40 bytes in all") {
  // 32 slots, a request each 40 ms or so, deadlines, tenants, a report each second and a set_stoppable.
  std::mt19937_64 draw(1);
  std::string log;
  event_log_writer writer(log);
  policy rules({32, 100'000});
  admission machine(rules);
  machine.record(&writer);
  const std::size_t header = log.size();
  struct running {
    request_id id;
    instant end;
  };
  std::vector<running> work;
  std::vector<request_id> reported;
  effects out;
  instant now{};
  constexpr int requests = 20'000;
  for (int n = 0; n < requests; ++n) {
    now += duration(static_cast<std::int64_t>(draw() % 160'000'000));
    std::erase_if(work, [&](const running& each) {
      if (each.end > now) return false;
      machine.finish(each.id, ending::released,
                     usage{static_cast<std::int64_t>(draw() % 1'500), static_cast<std::int64_t>(draw() % 500)},
                     each.end, out);
      return true;
    });
    request asked;
    asked.cost = {static_cast<std::int64_t>(1'000 + draw() % 2'000), 500, 1};
    asked.workload = draw() % 3 == 0 ? batch : interactive;
    asked.deadline = now + 30s;
    asked.tenant = tenant(draw() % 50 + 1'000'000'007);
    asked.model = model("large");
    asked.tag = static_cast<std::uint64_t>(n) + 1;
    machine.arrive(asked, now, out);
    for (const effect& each : out.list) {
      if (each.what != effect::kind::granted) continue;
      work.push_back({each.id, now + duration(static_cast<std::int64_t>(draw() % 4'000'000'000))});
      machine.set_stoppable(each.id, true, now, out);
    }
    out.clear();
  }
  writer.end();
  const double bytes = static_cast<double>(log.size() - header) / requests;
  MESSAGE(bytes << " bytes a request in " << static_cast<double>(writer.events()) / requests
                << " events; the policy takes " << header);
  CHECK(bytes < 40);
}
