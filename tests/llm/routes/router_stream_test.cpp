// Streams that are routed and raced: another one may take over until the first event.
#include "llm/routes/routes_fixture.hpp"

#include <sluice/llm/hedge.hpp>
#include <sluice/llm/router.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::duration;
using sluice::errc;
using sluice::llm::any_stream;
using sluice::llm::hedge;
using sluice::llm::hedge_options;
using sluice::llm::provider;
using sluice::llm::provider_state;
using sluice::llm::router;
using sluice::llm::stream_event;
using sluice::testing::scripted_exchange;

namespace {

using opening = std::shared_ptr<started<sluice::expected<any_stream, sluice::llm::failure>>>;

any_stream take(const opening& from) {
  REQUIRE((from->value && from->value->has_value()));
  return *std::move(*from->value);
}

std::string read_all(routes_fixture& f, any_stream& from) {
  std::string all;
  for (;;) {
    const auto next = f.start(from.next());
    if (!next->ended) return all + "waiting";
    if (!next->value->has_value()) return all + "failed";
    const auto& event = **next->value;
    if (!event) return all + "end";
    if (event->type == stream_event::kind::text) all += event->text + "|";
    if (event->type == stream_event::kind::done) all += "done|";
  }
}

std::vector<provider> two_of(routes_fixture& f) { return {provider("a", f.caller(0)), provider("b", f.caller(1))}; }

hedge_options fixed() {
  hedge_options made;
  made.learned = false;
  made.after = 100ms;
  return made;
}

}  // namespace

TEST_CASE("a stream comes whole through a router") {
  routes_fixture f(2);
  router routes(two_of(f));
  f.at(0).add(
      streamed().with_chunk(text_chunk("x")).with_chunk(text_chunk("y") + chunk("", "\"stop\"") + usage_chunk()));
  auto stream = take(f.start(routes.stream(question())));
  CHECK(read_all(f, stream) == "x|y|done|end");
  CHECK(stream.result().text == "xy");
  CHECK(stream.result().usage.output_tokens == 40);
  CHECK(routes.statistics()[0].answered == 1);
  CHECK(f.idle());
}

TEST_CASE("until the first event another provider takes over") {
  for (int row = 0; row < 4; ++row) {
    CAPTURE(row);
    routes_fixture f(2);
    router routes(two_of(f));
    if (row == 0) f.at(0).add(error_of(500));
    if (row == 1) f.at(0).add(scripted_exchange::failure(errc::connect_failed));
    if (row == 2) f.at(0).add(streamed().with_failure(errc::connection_lost, "gone"));
    if (row == 3)
      f.at(0).add(streamed().with_chunk("data: {\"error\":{\"message\":\"x\",\"code\":\"overloaded\"}}\n\n"));
    f.at(1).add(streams("b"));
    auto stream = take(f.start(routes.stream(question())));
    CHECK(read_all(f, stream) == "b|done|end");
    CHECK(f.idle());
  }
}

TEST_CASE("after the first event nobody takes over, and the provider is blamed") {
  routes_fixture f(2);
  sluice::llm::router_options options;
  options.health.failures = 1;
  router routes(two_of(f), options);
  f.at(0).add(streamed().with_chunk(text_chunk("half")).with_pause().with_failure(errc::connection_lost, "gone"));
  f.at(1).add(streams("b"));
  auto stream = take(f.start(routes.stream(question())));
  CHECK(read_all(f, stream) == "half|waiting");
  f.at(0).release(0);
  f.run();
  CHECK(read_all(f, stream) == "failed");
  CHECK(f.asked(1) == 0);
  CHECK(routes.statistics()[0].failed == 1);
  CHECK(routes.statistics()[0].state == provider_state::open);
  auto second = take(f.start(routes.stream(question())));
  CHECK(read_all(f, second) == "b|done|end");
  CHECK(f.idle());
}

TEST_CASE("a routed stream that is dropped, or outlives its router, holds nothing") {
  routes_fixture f(1);
  any_stream stream;
  {
    router routes({provider("a", f.caller(0))});
    f.at(0).add(streamed().with_chunk(text_chunk("x")).with_silence());
    stream = take(f.start(routes.stream(question())));
  }
  const auto first = f.start(stream.next());
  CHECK((**first->value)->text == "x");
  CHECK(f.at(0).open() == 1);
  stream = any_stream();
  f.run();
  CHECK(f.idle());
}

TEST_CASE("streams race for the first event, and the loser is cancelled") {
  for (const bool second_wins : {false, true}) {
    CAPTURE(second_wins);
    routes_fixture f(2);
    hedge hedged(f.caller(0), f.caller(1), fixed());
    const auto slow = [](const std::string& text) {
      return streamed()
          .with_pause()
          .with_chunk(text_chunk(text))
          .with_pause()
          .with_chunk(text_chunk("more") + chunk("", "\"stop\""));
    };
    f.at(0).add(slow("first"));
    f.at(1).add(slow("second"));
    const auto opening = f.start(hedged.stream(question()));
    f.advance(100ms);
    CHECK(f.asked(1) == 1);
    CHECK_FALSE(opening->ended);
    const std::size_t winner = second_wins ? 1 : 0;
    f.at(winner).release(0);
    f.run();
    auto stream = take(opening);
    CHECK(f.at(1 - winner).cancelled() == 1);
    CHECK(f.gate(1 - winner).statistics().all.in_flight == 0);
    CHECK(f.gate(winner).statistics().all.in_flight == 1);
    f.at(winner).release(0);
    CHECK(read_all(f, stream) == (second_wins ? "second|more|done|end" : "first|more|done|end"));
    CHECK(hedged.statistics().won == (second_wins ? 1 : 0));
    CHECK(f.idle());
  }
}

TEST_CASE("the time to the first event is learned, not that to the end") {
  routes_fixture f(1);
  hedge_options options;
  options.least_samples = 1;
  hedge hedged(f.caller(0), options);
  f.at(0).add(streamed().with_pause().with_chunk(text_chunk("x")).with_pause().with_chunk(chunk("", "\"stop\"")));
  const auto opening = f.start(hedged.stream(question()));
  f.advance(200ms);
  f.at(0).release(0);
  f.run();
  auto stream = take(opening);
  f.advance(10s);
  f.at(0).release(0);
  CHECK(read_all(f, stream) == "x|done|end");
  const auto delay = hedged.delay("m", true);
  REQUIRE(delay.has_value());
  CHECK(*delay >= duration(170ms));
  CHECK(*delay <= duration(230ms));
}

TEST_CASE("a hedged stream that is cancelled before its first event") {
  routes_fixture f(2);
  hedge hedged(f.caller(0), f.caller(1), fixed());
  f.at(0).add(streamed().with_silence());
  f.at(1).add(scripted_exchange::silent());
  const auto opening = f.start(hedged.stream(question()));
  f.advance(100ms);
  CHECK(f.at(1).open() == 1);
  f.cancel(opening);
  CHECK(has_failed(opening, errc::cancelled));
  CHECK(f.idle());
}

TEST_CASE("an empty stream of any") {
  routes_fixture f(1);
  any_stream none;
  CHECK(has_failed(f.start(none.next()), errc::invalid_argument));
  CHECK(none.result().text.empty());
}
