// Streams that are fanned out.
#include "llm/call_fixture.hpp"

#include <sluice/llm/single_flight.hpp>

#include <doctest/doctest.h>
#include <asio/detached.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::errc;
using sluice::llm::any_stream;
using sluice::llm::call_options;
using sluice::llm::single_flight;
using sluice::llm::stream_event;
using sluice::testing::scripted_exchange;

namespace {

using opening = std::shared_ptr<started<sluice::expected<any_stream, sluice::llm::failure>>>;
using step = std::shared_ptr<started<event_result>>;
using kind = stream_event::kind;

const std::string stop = chunk("", "\"stop\"");

any_stream take(const opening& from) {
  REQUIRE((from->value && from->value->has_value()));
  return *std::move(*from->value);
}

std::string text_of(const step& from) {
  REQUIRE((from->value && from->value->has_value()));
  REQUIRE((*from->value)->has_value());
  return (**from->value)->text;
}

/// Reads to the end; the texts, each followed by `|`, then what came last.
std::string read_all(call_fixture& f, any_stream& from) {
  std::string all;
  for (;;) {
    const auto next = f.start(from.next());
    if (!next->ended) return all + "waiting";
    if (!next->value) return all + "thrown";
    if (!next->value->has_value()) return all + std::string(next->value->error().message());
    const auto& event = **next->value;
    if (!event) return all + "end";
    if (event->type == kind::text) all += event->text + "|";
    if (event->type == kind::tool_call) all += event->call.name + "()|";
    if (event->type == kind::done) all += "done|";
  }
}

}  // namespace

TEST_CASE("each caller gets the whole stream, however late it joins and however slowly it reads") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(streamed()
                      .with_chunk(text_chunk("a"))
                      .with_chunk(text_chunk("b"))
                      .with_pause()
                      .with_chunk(text_chunk("c"))
                      .with_chunk(stop + usage_chunk()));
  auto first = take(f.start(shared.stream(question())));
  CHECK(text_of(f.start(first.next())) == "a");
  CHECK(text_of(f.start(first.next())) == "b");
  const auto waits = f.start(first.next());
  CHECK_FALSE(waits->ended);

  auto late = take(f.start(shared.stream(question())));
  CHECK(text_of(f.start(late.next())) == "a");
  CHECK(late.result().text == "a");
  CHECK(first.result().text == "ab");
  f.transport.release(0);
  f.run();
  CHECK(text_of(waits) == "c");
  // The exchange has been read to its end, though nobody has read on.
  CHECK(f.in_flight() == 0);
  CHECK(f.transport.open() == 0);
  CHECK(read_all(f, first) == "done|end");
  CHECK(read_all(f, late) == "b|c|done|end");
  for (const auto* each : {&first, &late}) {
    CHECK(each->result().text == "abc");
    CHECK(each->result().finish == sluice::llm::finish_reason::stop);
    CHECK(each->result().usage.output_tokens == 40);
  }
  CHECK(f.transport.requests().size() == 1);
  CHECK(shared.statistics().followers == 1);
  CHECK(shared.statistics().tokens_saved == 940);
  CHECK(f.idle());
}

TEST_CASE("a stream and a plain answer are not the same question") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(plain(plain_answer).with_pause());
  f.transport.add(streamed().with_chunk(text_chunk("a") + stop));
  const auto chat = f.start(shared.chat(question()));
  auto stream = take(f.start(shared.stream(question())));
  CHECK(read_all(f, stream) == "a|done|end");
  f.transport.release(0);
  f.run();
  CHECK(chat->value->has_value());
  CHECK(f.transport.requests().size() == 2);
}

TEST_CASE("tool calls are fanned out whole") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(
      streamed()
          .with_chunk(chunk(R"("tool_calls":[{"index":0,"id":"t1","function":{"name":"look","arguments":"{\"a\""}}])"))
          .with_pause()
          .with_chunk(chunk(R"("tool_calls":[{"index":0,"function":{"arguments":":1}"}}])"))
          .with_chunk(chunk("", "\"tool_calls\"")));
  auto one = take(f.start(shared.stream(question())));
  auto two = take(f.start(shared.stream(question())));
  f.transport.release(0);
  f.run();
  for (auto* each : {&one, &two}) {
    CHECK(read_all(f, *each) == "look()|done|end");
    REQUIRE(each->result().tool_calls.size() == 1);
    CHECK(each->result().tool_calls[0].arguments == "{\"a\":1}");
  }
}

TEST_CASE("a stream that breaks: each reads what came, and then the failure, again and again") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(streamed().with_chunk(text_chunk("half")).with_pause().with_failure(errc::connection_lost, "gone"));
  auto one = take(f.start(shared.stream(question())));
  auto two = take(f.start(shared.stream(question())));
  CHECK(text_of(f.start(one.next())) == "half");
  f.transport.release(0);
  f.run();
  for (auto* each : {&one, &two}) {
    const auto read = read_all(f, *each);
    CHECK(read.find("gone") != std::string::npos);
    const auto again = f.start(each->next());
    REQUIRE((again->value && !again->value->has_value()));
    CHECK(again->value->error().is(errc::connection_lost));
    CHECK(again->value->error().partial->text == "half");
  }
  CHECK(f.idle());
}

TEST_CASE("a stream that ends with its leader's run has not been cancelled by those of other runs") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(streamed().with_chunk(text_chunk("half")).with_silence());
  const auto closing = f.gate.open_run();
  const auto other = f.gate.open_run();
  auto leader = take(f.start(shared.stream(question(), {.run = *closing})));
  auto follower = take(f.start(shared.stream(question(), {.run = *other})));
  CHECK(text_of(f.start(leader.next())) == "half");
  CHECK(text_of(f.start(follower.next())) == "half");
  f.gate.close_run(*closing);
  f.run();
  const auto own = f.start(leader.next());
  REQUIRE((own->value && !own->value->has_value()));
  CHECK(own->value->error().is(errc::cancelled));
  const auto others = f.start(follower.next());
  REQUIRE((others->value && !others->value->has_value()));
  CHECK(others->value->error().is(errc::connection_lost));
  CHECK(others->value->error().what_helps() == sluice::llm::remedy::try_again);
  CHECK(others->value->error().partial->text == "half");
  CHECK(f.idle());
}

TEST_CASE("a head that never comes is a failure for all who wait for it") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(plain(R"({"error":{"message":"slow","code":"model_not_found"}})", 404).with_pause());
  const auto one = f.start(shared.stream(question()));
  const auto two = f.start(shared.stream(question()));
  CHECK_FALSE(one->ended);
  f.transport.release(0);
  f.run();
  for (const auto& each : {one, two}) {
    REQUIRE((each->value && !each->value->has_value()));
    CHECK(each->value->error().is(errc::provider_refused));
  }
  CHECK(f.idle());
}

TEST_CASE("those who let go leave the others; the last one stops the exchange") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(streamed().with_chunk(text_chunk("12345678")).with_silence());
  auto one = take(f.start(shared.stream(question())));
  auto two = take(f.start(shared.stream(question())));
  auto three = take(f.start(shared.stream(question())));
  CHECK(text_of(f.start(one.next())) == "12345678");
  one = any_stream();
  f.run();
  CHECK(f.transport.open() == 1);
  static_cast<void>(f.start(two.next()));
  const auto waits = f.start(two.next());
  f.cancel(waits);
  REQUIRE((waits->value && !waits->value->has_value()));
  CHECK(waits->value->error().is(errc::cancelled));
  CHECK(waits->value->error().partial->text == "12345678");
  CHECK(f.transport.open() == 1);
  SUBCASE("by dropping it") {
    three = any_stream();
    f.run();
  }
  SUBCASE("by being cancelled") {
    static_cast<void>(f.start(three.next()));
    const auto last = f.start(three.next());
    f.cancel(last);
    REQUIRE((last->value && !last->value->has_value()));
    CHECK(last->value->error().is(errc::cancelled));
  }
  CHECK(f.transport.cancelled() == 1);
  CHECK(f.idle());
  // The same as for one caller alone.
  call_fixture alone;
  alone.transport.add(streamed().with_chunk(text_chunk("12345678")).with_silence());
  {
    auto opened = alone.start(alone.caller.stream(question()));
    auto stream = std::move(**opened->value);
    static_cast<void>(alone.start(stream.next()));
  }
  CHECK(f.consumed() == alone.consumed());
  CHECK(f.consumed() > 0);
}

TEST_CASE("cancelled before the head is there") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(scripted_exchange::silent());
  const auto one = f.start(shared.stream(question()));
  const auto two = f.start(shared.stream(question()));
  f.cancel(one);
  REQUIRE((one->value && !one->value->has_value()));
  CHECK(one->value->error().is(errc::cancelled));
  CHECK(f.transport.open() == 1);
  f.cancel(two);
  REQUIRE((two->value && !two->value->has_value()));
  CHECK(two->value->error().is(errc::cancelled));
  CHECK(f.idle());
}

TEST_CASE("a reader's own deadline ends its stream alone") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(streamed().with_chunk(text_chunk("a")).with_pause().with_chunk(text_chunk("b") + stop));
  auto patient = take(f.start(shared.stream(question())));
  auto hasty = take(f.start(shared.stream(question(), {.deadline = f.gate.in(2s)})));
  CHECK(read_all(f, hasty) == "a|waiting");
  f.advance(2s);
  const auto again = f.start(hasty.next());
  REQUIRE((again->value && !again->value->has_value()));
  CHECK(again->value->error().is(errc::deadline_exceeded));
  CHECK(again->value->error().partial->text == "a");
  f.transport.release(0);
  f.run();
  CHECK(read_all(f, patient) == "a|b|done|end");
  CHECK(f.idle());
  CHECK(f.time.armed() == 0);
}

TEST_CASE("before its head, a leader's deadline is not the others'") {
  call_fixture f(sluice::policy({.slots = 1, .tokens = 100'000}));
  auto taken = f.gate.try_admit({.tokens = 1});
  REQUIRE(taken.has_value());
  single_flight shared(f.caller);
  f.transport.add(streamed().with_chunk(text_chunk("a") + stop));
  const auto leader = f.start(shared.stream(question(), {.deadline = f.gate.in(1s)}));
  const auto other = f.start(shared.stream(question(), {.deadline = f.gate.in(5s)}));
  f.advance(1s);
  REQUIRE((leader->value && !leader->value->has_value()));
  CHECK(leader->value->error().is(errc::deadline_exceeded));
  taken->release();
  f.run();
  auto stream = take(other);
  CHECK(read_all(f, stream) == "a|done|end");
  CHECK(f.idle());
}

TEST_CASE("shared streams outlive the client, the transport and the gate") {
  asio::io_context loop;
  any_stream whole;
  any_stream cut;
  {
    sluice::testing::manual_time_source time;
    sluice::testing::scripted_transport transport;
    transport.add(streamed().with_chunk(text_chunk("a") + stop));
    transport.add(streamed().with_chunk(text_chunk("b")).with_silence());
    sluice::bulkhead gate(loop.get_executor(), sluice::policy({.slots = 2, .tokens = 10'000}), time);
    sluice::llm::client caller(transport, gate, sluice::llm::client_options("http://server/v1"));
    single_flight shared(caller);
    const auto open = [&](auto call, any_stream& into) -> asio::awaitable<void> { into = *co_await std::move(call); };
    asio::co_spawn(loop, open(shared.stream(question()), whole), asio::detached);
    asio::co_spawn(loop, open(shared.stream(question().with_seed(2)), cut), asio::detached);
    loop.poll();
    CHECK(transport.open() == 1);
  }
  cut = any_stream();
  loop.restart();
  loop.poll();
  std::string text;
  const auto read = [&]() -> asio::awaitable<void> {
    for (;;) {
      auto event = co_await whole.next();
      if (!event || !*event) break;
      text += (*event)->text;
    }
  };
  asio::co_spawn(loop, read(), asio::detached);
  loop.restart();
  loop.poll();
  CHECK(text == "a");
}
