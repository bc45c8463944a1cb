// Whatever happens, in whatever order: every caller gets one result, and in the end nothing is held and nothing is
// open.
#include "llm/routes/routes_fixture.hpp"

#include <sluice/llm/hedge.hpp>
#include <sluice/llm/router.hpp>
#include <sluice/llm/single_flight.hpp>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::errc;
using sluice::llm::any_stream;
using sluice::llm::call_options;
using sluice::llm::failure;
using sluice::llm::hedge;
using sluice::llm::hedge_options;
using sluice::llm::reply;
using sluice::llm::request;
using sluice::llm::router;
using sluice::llm::router_options;
using sluice::llm::single_flight;
using sluice::testing::scripted_exchange;

namespace {

asio::awaitable<chat_result> read(single_flight& from, request what, call_options how) {
  auto opened = co_await from.stream(std::move(what), how);
  if (!opened) co_return chat_result(sluice::unexpected<failure>(std::move(opened).error()));
  for (;;) {
    auto event = co_await opened->next();
    if (!event) co_return chat_result(sluice::unexpected<failure>(std::move(event).error()));
    if (!*event) co_return chat_result(opened->result());
  }
}

sluice::policy narrow() {
  sluice::policy rules = wide(2);
  rules.retries.enabled = true;
  rules.retries.minimum = 2;
  return rules;
}

class house {
 public:
  explicit house(std::uint32_t seed)
      : f(2, seed % 2 == 0 ? routes_fixture::gates::one : routes_fixture::gates::one_each, narrow()),
        routes(providers(f), routing(seed)),
        hedged(routes, hedging(seed)),
        shared(hedged) {
    for (std::size_t i = 0; i < 2; ++i) {
      f.at(i).on_request([this](const sluice::http::request& sent) { return answer(sent); });
    }
  }

  void step(std::uint32_t what) {
    const std::uint32_t detail = what / 16;
    switch (what % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: return ask(detail, false);
      case 5:
      case 6:
      case 7: return ask(detail, true);
      case 8:
      case 9:
        if (!calls.empty()) f.cancel(calls[detail % calls.size()]);
        return;
      case 10: return f.advance(std::chrono::milliseconds(detail % 4'000));
      case 11: return f.advance(100ms);
      default:
        if (const std::size_t asked = f.asked(detail % 2); asked > 0)
          f.at(detail % 2).release(asked - 1 - detail / 2 % asked);
        return f.run();
    }
  }

  /// What is wrong in the end; empty when nothing is.
  std::string finish() {
    for (const auto& each : calls) {
      if (!each->ended) f.cancel(each);
    }
    f.run();
    for (const auto& each : calls) {
      if (!each->ended) return "a call has not ended";
      if (each->value.has_value() == (each->thrown != nullptr)) return "a call has ended twice, or without a result";
    }
    if (!f.idle()) return "something is held or open";
    if (f.time.armed() != 0) return "something is armed";
    if (shared.statistics().in_flight != 0) return "an exchange may be joined that is over";
    const auto counts = shared.statistics();
    if (counts.leaders + counts.followers < static_cast<std::int64_t>(calls.size())) return "a call was not counted";
    return {};
  }

 private:
  static std::vector<sluice::llm::provider> providers(routes_fixture& of) {
    return {sluice::llm::provider("a", of.caller(0)), sluice::llm::provider("b", of.caller(1))};
  }
  static router_options routing(std::uint32_t seed) {
    router_options made;
    made.seed = seed + 1;
    made.health.failures = 2;
    if (seed % 3 == 0) made.order = sluice::llm::routing::weighted;
    return made;
  }
  static hedge_options hedging(std::uint32_t seed) {
    hedge_options made;
    made.after = 100ms;
    made.least_samples = 3;
    made.learned = seed % 5 != 0;
    return made;
  }

  scripted_exchange answer(const sluice::http::request& sent) {
    const bool streams_it = sent.body().find("\"stream\":true") != std::string::npos;
    draw_ = draw_ * 6364136223846793005U + 1442695040888963407U;
    switch ((draw_ >> 33U) % 8) {
      case 0: return error_of(500);
      case 1: return scripted_exchange::failure(errc::connect_failed);
      case 2: return scripted_exchange::silent();
      case 3: return error_of(400).with_pause();
      case 4: return streamed().with_chunk(text_chunk("cut")).with_pause().with_failure(errc::connection_lost);
      default: break;
    }
    if (!streams_it) return says("x").with_pause_before_head();
    return streamed()
        .with_pause()
        .with_chunk(text_chunk("x"))
        .with_pause()
        .with_chunk(text_chunk("y") + chunk("", "\"stop\""));
  }

  void ask(std::uint32_t detail, bool as_stream) {
    call_options how;
    if (detail % 3 == 0) how.deadline = f.in(std::chrono::milliseconds(50 + detail % 3'000));
    if (detail % 7 == 0) how.workload = sluice::batch;
    if (detail % 11 == 0) how.tenant = sluice::tenant(detail % 2);
    request what = question();
    what.with_seed(static_cast<std::int64_t>(detail % 2));
    if (as_stream) {
      calls.push_back(f.start(read(shared, std::move(what), how)));
    } else {
      calls.push_back(f.start(shared.chat(std::move(what), how)));
    }
  }

 public:
  routes_fixture f;
  router routes;
  hedge hedged;
  single_flight shared;
  std::vector<std::shared_ptr<started<chat_result>>> calls;

 private:
  std::uint64_t draw_ = 1;
};

}  // namespace

TEST_CASE("any calls, answers, failures, delays and cancellations end at zero") {
  const bool holds = rc::check("all ends at zero", [](std::uint32_t seed) {
    const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 1U << 20));
    house all(seed);
    for (const std::uint32_t each : steps) all.step(each);
    const std::string wrong = all.finish();
    if (!wrong.empty()) RC_FAIL(wrong);
  });
  CHECK(holds);
}

TEST_CASE("a long run of the same") {
  sluice::llm::single_flight_statistics all_shared;
  sluice::llm::hedge_statistics all_hedged;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    house all(seed);
    std::uint64_t draw = seed;
    for (int i = 0; i < 400; ++i) {
      draw = draw * 6364136223846793005U + 1442695040888963407U;
      all.step(static_cast<std::uint32_t>(draw >> 40U));
    }
    CHECK(all.finish() == "");
    all_shared.leaders += all.shared.statistics().leaders;
    all_shared.followers += all.shared.statistics().followers;
    all_hedged.sent += all.hedged.statistics().sent;
    all_hedged.won += all.hedged.statistics().won;
    all_hedged.suppressed += all.hedged.statistics().suppressed;
  }
  // All of it has come up.
  CHECK(all_shared.leaders > 200);
  CHECK(all_shared.followers > 200);
  CHECK(all_hedged.sent > 20);
  CHECK(all_hedged.won > 0);
  CHECK(all_hedged.suppressed > 0);
}

TEST_CASE("everything is destroyed at any time, the loop last or first") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    auto all = std::make_unique<house>(seed);
    std::uint64_t draw = seed * 77;
    for (int i = 0; i < 20; ++i) {
      draw = draw * 6364136223846793005U + 1442695040888963407U;
      all->step(static_cast<std::uint32_t>(draw >> 40U));
    }
    // The fixture's loop goes last, with all that is suspended in it.
    const auto calls = all->calls;
    all.reset();
    for (const auto& each : calls) CHECK(each.use_count() == 1);
  }
}
