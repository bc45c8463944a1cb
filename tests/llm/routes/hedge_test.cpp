#include "llm/routes/routes_fixture.hpp"

#include <sluice/llm/hedge.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::duration;
using sluice::errc;
using sluice::llm::hedge;
using sluice::llm::hedge_options;
using sluice::testing::scripted_exchange;

namespace {

hedge_options fixed(duration delay = 100ms) {
  hedge_options made;
  made.learned = false;
  made.after = delay;
  return made;
}

scripted_exchange later(const std::string& text) { return says(text).with_pause_before_head(); }

}  // namespace

TEST_CASE("a call that is answered in time is not hedged") {
  routes_fixture f(2);
  hedge hedged(f.caller(0), f.caller(1), fixed());
  f.at(0).add(later("first"));
  const auto call = f.start(hedged.chat(question()));
  f.advance(99ms);
  f.at(0).release(0);
  f.run();
  CHECK(text_of(call) == "first");
  f.advance(1s);
  CHECK(f.asked(1) == 0);
  CHECK(hedged.statistics().sent == 0);
  CHECK(f.idle());
  CHECK(f.time.armed() == 0);
}

TEST_CASE("after the delay a second attempt is sent; the first answer wins, and the loser has stopped") {
  for (const bool second_wins : {false, true}) {
    CAPTURE(second_wins);
    routes_fixture f(2);
    hedge hedged(f.caller(0), f.caller(1), fixed());
    f.at(0).add(later("first"));
    f.at(1).add(later("second"));
    const auto call = f.start(hedged.chat(question()));
    f.advance(100ms);
    CHECK(f.asked(1) == 1);
    CHECK(f.gate(1).statistics().all.in_flight == 1);
    f.at(second_wins ? 1 : 0).release(0);
    f.run();
    CHECK(text_of(call) == (second_wins ? "second" : "first"));
    CHECK(f.at(second_wins ? 0 : 1).cancelled() == 1);
    const auto counts = hedged.statistics();
    CHECK(counts.sent == 1);
    CHECK(counts.won == (second_wins ? 1 : 0));
    CHECK(counts.suppressed == 0);
    CHECK(f.idle());
  }
}

TEST_CASE("the loser is booked: its permit ends with what was seen of it") {
  routes_fixture f(2);
  hedge hedged(f.caller(0), f.caller(1), fixed());
  f.at(0).add(scripted_exchange(200).with_header("content-type", "application/json").with_chunk("{").with_silence());
  f.at(1).add(says("second"));
  const auto call = f.start(hedged.chat(question()));
  f.advance(100ms);
  CHECK(text_of(call) == "second");
  // Its prompt had been processed.
  CHECK(f.gate(0).statistics().all.consumed_tokens_total >= 1'000);
  CHECK(f.gate(1).statistics().all.consumed_tokens_total == 940);
  CHECK(f.idle());
}

TEST_CASE("both may go to one client") {
  routes_fixture f(1);
  hedge hedged(f.caller(0), fixed());
  f.at(0).add(scripted_exchange::silent());
  f.at(0).add(says("again"));
  const auto call = f.start(hedged.chat(question()));
  f.advance(100ms);
  CHECK(text_of(call) == "again");
  CHECK(f.asked(0) == 2);
  CHECK(f.idle());
}

TEST_CASE("a first attempt that fails before the delay is not hedged") {
  routes_fixture f(2);
  hedge hedged(f.caller(0), f.caller(1), fixed());
  f.at(0).add(error_of(500));
  const auto call = f.start(hedged.chat(question()));
  CHECK(has_failed(call, errc::provider_failed));
  f.advance(1s);
  CHECK(f.asked(1) == 0);
}

TEST_CASE(
    "a hedge that fails leaves the call to the first attempt, and the other way round; when both fail the first one's "
    "failure is it") {
  routes_fixture f(2);
  hedge hedged(f.caller(0), f.caller(1), fixed());
  SUBCASE("the hedge fails") {
    f.at(0).add(later("first"));
    f.at(1).add(error_of(500));
    const auto call = f.start(hedged.chat(question()));
    f.advance(100ms);
    CHECK_FALSE(call->ended);
    f.at(0).release(0);
    f.run();
    CHECK(text_of(call) == "first");
  }
  SUBCASE("the first one fails") {
    f.at(0).add(error_of(500).with_pause());
    f.at(1).add(later("second"));
    const auto call = f.start(hedged.chat(question()));
    f.advance(100ms);
    f.at(0).release(0);
    f.run();
    CHECK_FALSE(call->ended);
    f.at(1).release(0);
    f.run();
    CHECK(text_of(call) == "second");
    CHECK(hedged.statistics().won == 1);
  }
  SUBCASE("both fail") {
    f.at(0).add(scripted_exchange(503).with_pause());
    f.at(1).add(error_of(401));
    const auto call = f.start(hedged.chat(question()));
    f.advance(100ms);
    f.at(0).release(0);
    f.run();
    CHECK(has_failed(call, errc::overloaded));
    CHECK(hedged.statistics().won == 0);
  }
  CHECK(hedged.statistics().sent == 1);
  CHECK(f.idle());
}

TEST_CASE("no room for a hedge: it is not sent, and the call goes on") {
  routes_fixture f(2, routes_fixture::gates::one_each, wide(1));
  hedge hedged(f.caller(0), f.caller(1), fixed());
  f.at(0).add(later("first"));
  auto taken = f.gate(1).try_admit({.tokens = 1});
  REQUIRE(taken.has_value());
  const auto call = f.start(hedged.chat(question()));
  f.advance(100ms);
  CHECK(f.gate(1).statistics().all.waiting == 0);
  f.at(0).release(0);
  f.run();
  CHECK(text_of(call) == "first");
  CHECK(hedged.statistics().suppressed == 1);
  CHECK(hedged.statistics().sent == 0);
  CHECK(f.asked(1) == 0);
  taken->release();
  CHECK(f.idle());
}

TEST_CASE("a hedge for which the retry budget has no room does not fail the call") {
  sluice::policy rules = wide();
  rules.retries.enabled = true;
  rules.retries.minimum = 1;
  rules.retries.share = 0.0;
  routes_fixture f(1, routes_fixture::gates::one, rules);
  hedge hedged(f.caller(0), fixed());
  f.at(0).on_request([](const auto&) { return later("slow"); });
  const auto first = f.start(hedged.chat(question()));
  const auto second = f.start(hedged.chat(question()));
  f.advance(100ms);
  // One hedge is always let through.
  CHECK(f.asked(0) == 3);
  CHECK_FALSE(second->ended);
  f.at(0).release_all();
  f.run();
  CHECK(text_of(first) == "slow");
  CHECK(text_of(second) == "slow");
  CHECK(hedged.statistics().sent == 1);
  CHECK(hedged.statistics().suppressed == 1);
  CHECK(f.idle());
}

TEST_CASE("a hedge is one attempt, and is not hedged itself") {
  sluice::llm::client_options options("http://server/v1");
  options.retry.max_attempts = 3;
  routes_fixture f(2, routes_fixture::gates::one_each, wide(), options);
  hedge hedged(f.caller(0), f.caller(1), fixed());
  f.at(0).add(later("first"));
  f.at(1).on_request([](const auto&) { return error_of(500); });
  const auto call = f.start(hedged.chat(question()));
  f.advance(100ms);
  for (int i = 0; i < 100; ++i) f.advance(100ms);
  CHECK(f.asked(1) == 1);
  f.at(0).release(0);
  f.run();
  CHECK(text_of(call) == "first");

  f.at(0).add(later("alone"));
  const auto extra = f.start(hedged.chat(question(), {.kind = sluice::attempt::hedge}));
  f.advance(10s);
  CHECK(f.asked(1) == 1);
  f.at(0).release(1);
  f.run();
  CHECK(text_of(extra) == "alone");
  CHECK(f.idle());
}

TEST_CASE("cancelled: both attempts are cancelled, and have stopped when it completes") {
  for (const duration when : {0ms, 99ms, 100ms}) {
    routes_fixture f(2);
    hedge hedged(f.caller(0), f.caller(1), fixed());
    f.at(0).add(scripted_exchange::silent());
    f.at(1).add(scripted_exchange::silent());
    const auto call = f.start(hedged.chat(question()));
    f.advance(when);
    CHECK(f.at(1).open() == (when == 100ms ? 1 : 0));
    f.cancel(call);
    CHECK(has_failed(call, errc::cancelled));
    CHECK(f.idle());
    CHECK(f.time.armed() == 0);
  }
}

TEST_CASE("its run is closed: both attempts are stopped, and no other is made") {
  for (const bool second_is_out : {false, true}) {
    routes_fixture f(2, routes_fixture::gates::one);
    hedge hedged(f.caller(0), f.caller(1), fixed());
    f.at(0).add(scripted_exchange::silent());
    f.at(1).add(scripted_exchange::silent());
    const sluice::run_id run = f.gate(0).open_run().value();
    const auto call = f.start(hedged.chat(question(), {.run = run}));
    if (second_is_out) f.advance(100ms);
    f.gate(0).close_run(run);
    f.advance(10s);
    CHECK(has_failed(call, errc::cancelled));
    CHECK(text_of(call) == "cancelled: its run was cancelled or closed while the exchange was under way");
    CHECK(f.asked(1) == (second_is_out ? 1 : 0));
    CHECK(f.idle());
  }
}

TEST_CASE("the deadline holds for both") {
  routes_fixture f(2);
  hedge hedged(f.caller(0), f.caller(1), fixed());
  f.at(0).add(scripted_exchange::silent());
  f.at(1).add(scripted_exchange::silent());
  const auto deadline = f.in(5s);
  const auto call = f.start(hedged.chat(question(), {.deadline = deadline}));
  f.advance(100ms);
  CHECK(f.at(0).requests().at(0).limits.deadline == deadline);
  CHECK(f.at(1).requests().at(0).limits.deadline == deadline);
  f.cancel(call);
}

TEST_CASE("the delay is learned from calls of the same model and kind, and not before there are enough") {
  routes_fixture f(2);
  hedge_options options;
  options.least_samples = 10;
  hedge hedged(f.caller(0), f.caller(1), options);
  f.at(0).on_request([](const auto&) { return later("x"); });
  f.at(1).on_request([](const auto&) { return says("second"); });
  CHECK_FALSE(hedged.delay("m", false).has_value());
  for (std::size_t i = 0; i < 10; ++i) {
    const auto call = f.start(hedged.chat(question()));
    f.advance(i == 9 ? 900ms : 100ms);
    f.at(0).release(i);
    f.run();
    CHECK(text_of(call) == "x");
  }
  CHECK(f.asked(1) == 0);
  const auto delay = hedged.delay("m", false);
  REQUIRE(delay.has_value());
  // The slowest one of ten is beyond the p90.
  CHECK(*delay > duration(800ms));
  CHECK(*delay < duration(1s));
  CHECK_FALSE(hedged.delay("m", true).has_value());
  CHECK_FALSE(hedged.delay("other", false).has_value());

  const auto call = f.start(hedged.chat(question()));
  f.advance(*delay - 1ms);
  CHECK(f.asked(1) == 0);
  f.advance(1ms);
  CHECK(text_of(call) == "second");
  // It would have taken at least so long.
  CHECK(*hedged.delay("m", false) >= *delay - 1ms);
  CHECK(f.idle());
}

TEST_CASE("until enough is known the delay is `after`, and never below `least_delay`") {
  routes_fixture f(1);
  hedge_options options;
  options.after = 1ms;
  options.least_delay = 30ms;
  const hedge hedged(f.caller(0), options);
  CHECK(hedged.delay("m", false) == duration(30ms));
  options.after = 50ms;
  CHECK(hedge(f.caller(0), options).delay("m", true) == duration(50ms));
}

TEST_CASE("what a loser had answered is counted as wasted") {
  routes_fixture f(2);
  hedge hedged(f.caller(0), f.caller(1), fixed());
  // Both answers are read in one turn.
  f.at(0).add(later("first"));
  f.at(1).add(later("second"));
  const auto call = f.start(hedged.chat(question()));
  f.advance(100ms);
  f.at(0).release(0);
  f.at(1).release(0);
  f.run();
  CHECK(call->value->has_value());
  const auto used = f.gate(0).statistics().all.consumed_tokens_total + f.gate(1).statistics().all.consumed_tokens_total;
  CHECK(hedged.statistics().wasted_tokens == used - 940);
  CHECK(f.idle());
}

TEST_CASE("what a loser had taken counts as wasted, however it ended") {
  routes_fixture f(2);
  hedge hedged(f.caller(0), f.caller(1), fixed());
  // Its first byte has come, and with it the prompt has been processed.
  f.at(0).add(plain("{\"choices\":").with_silence());
  f.at(1).add(says("second"));
  const auto call = f.start(hedged.chat(question()));
  f.advance(100ms);
  CHECK(text_of(call) == "second");
  CHECK(f.gate(0).statistics().all.consumed_tokens_total == 1'004);
  CHECK(hedged.statistics().wasted_tokens == 1'004);
  CHECK(f.idle());
}

TEST_CASE("options that do not hold") {
  routes_fixture f(1);
  const auto message = [&](const hedge_options& options) {
    try {
      const hedge made(f.caller(0), options);
    } catch (const sluice::error_exception& why) {
      CHECK(why.why().is(errc::invalid_configuration));
      return why.why().message();
    }
    return std::string();
  };
  CHECK(message({}).empty());
  CHECK(message({.quantile = 1}).find("quantile") != std::string::npos);
  CHECK(message({.quantile = 0}).find("quantile") != std::string::npos);
  CHECK(message({.least_samples = 0}).find("least_samples") != std::string::npos);
  CHECK(message({.after = duration(-1)}).find("after") != std::string::npos);
  CHECK(message({.least_delay = duration(-1)}).find("least_delay") != std::string::npos);
}

TEST_CASE("a loop that goes first takes a hedged call with it") {
  sluice::testing::manual_time_source time;
  sluice::testing::scripted_transport transport;
  transport.add(scripted_exchange::silent());
  transport.add(scripted_exchange::silent());
  auto loop = std::make_unique<asio::io_context>();
  sluice::bulkhead gate(loop->get_executor(), wide(), time);
  sluice::llm::client caller(transport, gate, once());
  hedge hedged(caller, fixed());
  const auto hold = [&]() -> asio::awaitable<void> {
    auto call = hedged.chat(question());
    static_cast<void>(co_await std::move(call));
  };
  asio::co_spawn(*loop, hold(), asio::detached);
  loop->poll();
  time.advance(100ms);
  loop->restart();
  loop->poll();
  CHECK(transport.open() == 2);
  loop.reset();
  CHECK(transport.open() == 0);
  CHECK(gate.statistics().all.in_flight == 0);
  time.advance(1h);
}

TEST_CASE("what a call would reserve is what its first attempt would") {
  routes_fixture f(2);
  sluice::llm::client_options dear = once();
  dear.estimator = [](const sluice::llm::request&) { return sluice::cost{.tokens = 9'000}; };
  sluice::llm::client second(f.at(1), f.gate(1), dear);
  const hedge hedged(f.caller(0), second, fixed());
  CHECK(hedged.estimate(question())->tokens == question_tokens);
  const hedge other_way(second, f.caller(0), fixed());
  CHECK(other_way.estimate(question())->tokens == 9'000);
}
