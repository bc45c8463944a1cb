#include "llm/attempts/unread_limit.hpp"

#include "llm/call_fixture.hpp"

#include <doctest/doctest.h>

#include <asio/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::duration;
using sluice::errc;
using sluice::instant;
using sluice::llm::client_options;
using sluice::llm::detail::unread_limit;
using sluice::testing::scripted_exchange;

namespace {

struct counted final : unread_limit::owner {
  int unread = 0;
  int late = 0;
  int stopped = 0;
  instant at = sluice::never;
  void left_unread(unread_limit::verdict why, instant now) noexcept override {
    at = now;
    ++(why == unread_limit::verdict::too_late ? late : why == unread_limit::verdict::unread ? unread : stopped);
  }
};

client_options with(duration unread) {
  client_options options = once();
  options.unread = unread;
  return options;
}

sluice::policy pool() { return sluice::policy({.slots = 4, .tokens = 100'000}); }

sluice::llm::stream open(call_fixture& f, sluice::llm::call_options how = {}) {
  const auto opened = f.start(f.caller.stream(question(), how));
  REQUIRE((opened->value && opened->value->has_value()));
  return *std::move(*opened->value);
}

}  // namespace

TEST_CASE("it runs from the last reading, and not while somebody reads") {
  sluice::testing::manual_time_source time;
  counted seen;
  unread_limit limit(seen, 10s, sluice::never);
  time.advance(60s);
  CHECK(limit.begin_reading() == unread_limit::verdict::in_time);
  limit.end_reading(time);
  for (int n = 0; n < 10; ++n) {
    time.advance(9s);
    CHECK(limit.begin_reading() == unread_limit::verdict::in_time);
    limit.end_reading(time);
  }
  CHECK(limit.begin_reading() == unread_limit::verdict::in_time);
  time.advance(60s);
  limit.end_reading(time);
  time.advance(10s - 1ns);
  CHECK(seen.unread == 0);
  time.advance(1ns);
  CHECK(seen.unread == 1);
  CHECK(limit.begin_reading() == unread_limit::verdict::unread);
  CHECK(limit.begin_reading() == unread_limit::verdict::unread);
  CHECK(time.armed() == 0);
}

TEST_CASE("the deadline holds while nobody reads, with a limit or without") {
  for (const duration length : {0s, 100s}) {
    sluice::testing::manual_time_source time;
    counted seen;
    unread_limit limit(seen, length, time.now() + 5s);
    limit.end_reading(time);
    time.advance(5s);
    CHECK(seen.late == 1);
    CHECK(limit.begin_reading() == unread_limit::verdict::too_late);
  }
  sluice::testing::manual_time_source time;
  counted seen;
  unread_limit none(seen, 0s, sluice::never);
  none.end_reading(time);
  CHECK(time.armed() == 0);
}

TEST_CASE("a signal ends what nobody reads at once, with a limit or without, and is told of once") {
  for (const duration length : {0s, 10s}) {
    sluice::testing::manual_time_source time;
    counted seen;
    unread_limit limit(seen, length, sluice::never);
    const auto signal = std::make_shared<sluice::stop_signal>();
    limit.obey(signal);
    limit.end_reading(time);
    time.advance(5s);
    signal->stop(sluice::stop_cause::run_closed);
    CHECK(seen.stopped == 1);
    time.advance(100s);
    CHECK(seen.unread == 0);
    CHECK(time.armed() == 0);
    CHECK(limit.begin_reading() == unread_limit::verdict::stopped);
    CHECK(limit.begin_reading() == unread_limit::verdict::in_time);
    // The next exchange is another.
    limit.obey(nullptr);
    CHECK(signal.use_count() == 1);
    limit.end_reading(time);
    CHECK(seen.stopped == 1);
    CHECK(limit.begin_reading() == unread_limit::verdict::in_time);
  }
}

TEST_CASE("a signal that comes while somebody reads waits for the end of it; one of a former exchange is not heard") {
  sluice::testing::manual_time_source time;
  counted seen;
  const auto former = std::make_shared<sluice::stop_signal>();
  const auto signal = std::make_shared<sluice::stop_signal>();
  {
    unread_limit limit(seen, 10s, sluice::never);
    limit.obey(former);
    limit.obey(signal);
    limit.end_reading(time);
    former->stop(sluice::stop_cause::preempted);
    CHECK(seen.stopped == 0);
    CHECK(limit.begin_reading() == unread_limit::verdict::in_time);
    signal->stop(sluice::stop_cause::preempted);
    CHECK(seen.stopped == 0);
    time.advance(3s);
    limit.end_reading(time);
    CHECK(seen.stopped == 1);
    CHECK(seen.at == time.now());
    CHECK(limit.begin_reading() == unread_limit::verdict::stopped);
    // Stopped already when it is given.
    limit.obey(signal);
    limit.end_reading(time);
    CHECK(seen.stopped == 2);
  }
  CHECK(signal.use_count() == 1);
  CHECK(time.armed() == 0);
}

TEST_CASE("the limit may go while its signal is stopped on another thread") {
  sluice::testing::manual_time_source time;
  for (int round = 0; round < 300; ++round) {
    counted seen;
    const auto signal = std::make_shared<sluice::stop_signal>();
    std::atomic<bool> begun = false;
    std::thread stopper([&] {
      while (!begun) std::this_thread::yield();
      signal->stop(sluice::stop_cause::run_closed);
    });
    {
      unread_limit limit(seen, 10s, sluice::never);
      limit.obey(signal);
      limit.end_reading(time);
      begun = true;
      if (round % 2 == 0) static_cast<void>(limit.begin_reading());
    }
    const int stopped = seen.stopped;
    stopper.join();
    CHECK(seen.stopped == stopped);
    CHECK(stopped <= 1);
  }
}

TEST_CASE("stopped, or outlived by nobody's clock: nothing comes any more") {
  counted seen;
  auto time = std::make_unique<sluice::testing::manual_time_source>();
  {
    unread_limit limit(seen, 1s, sluice::never);
    limit.end_reading(*time);
    limit.stop();
    CHECK(time->armed() == 0);
    limit.end_reading(*time);
  }
  CHECK(time->armed() == 0);
  unread_limit limit(seen, 1s, sluice::never);
  limit.end_reading(*time);
  time.reset();
  CHECK(seen.unread == 0);
}

TEST_CASE("a stream that nobody reads is closed: its permit serves others, and the next reader is told") {
  call_fixture f(pool(), with(10s));
  f.transport.add(streamed().with_chunk(text_chunk("12345678")).with_silence());
  auto answer = open(f);
  static_cast<void>(f.start(answer.next()));
  CHECK(f.in_flight() == 1);
  f.advance(10s - 1ns);
  CHECK(f.in_flight() == 1);
  f.advance(1ns);
  CHECK(f.idle());
  CHECK(f.transport.cancelled() == 1);
  CHECK(f.consumed() > 1'004);
  for (int n = 0; n < 2; ++n) {
    const auto step = f.start(answer.next());
    REQUIRE((step->value && !step->value->has_value()));
    const auto& closed = step->value->error();
    CHECK(closed.is(errc::idle_timeout));
    CHECK(closed.message().find("client_options::unread (10 s)") != std::string::npos);
    CHECK(closed.partial->text == "12345678");
    CHECK(closed.attempts == 1);
    CHECK(closed.status == 200);
    CHECK(closed.request_id == "r1");
    CHECK(closed.usage == closed.partial->usage);
    CHECK(closed.usage.input_tokens == 1'004);
  }
}

TEST_CASE("never read at all, or with events that were not fetched") {
  call_fixture f(pool(), with(10s));
  f.transport.add(streamed().with_chunk(text_chunk("a") + text_chunk("b")).with_silence());
  auto answer = open(f);
  f.advance(9s);
  static_cast<void>(f.start(answer.next()));
  f.advance(10s);
  CHECK(f.idle());
  // What had come is still handed out.
  const auto second = f.start(answer.next());
  REQUIRE((second->value && second->value->has_value()));
  CHECK((**second->value)->text == "b");
  CHECK(f.start(answer.next())->value->error().is(errc::idle_timeout));

  f.transport.add(streamed().with_silence());
  auto unread = open(f);
  f.advance(10s);
  CHECK(f.idle());
  CHECK(f.start(unread.next())->value->error().is(errc::idle_timeout));
}

TEST_CASE("a reader that waits is not idle, and a whole answer may lie as long as it likes") {
  call_fixture f(pool(), with(10s));
  f.transport.add(streamed().with_pause().with_chunk(text_chunk("x") + chunk("", "\"stop\"") + "data: [DONE]\n\n"));
  auto answer = open(f);
  const auto step = f.start(answer.next());
  f.advance(60s);
  CHECK_FALSE(step->ended);
  f.transport.release(0);
  f.run();
  REQUIRE((step->value && step->value->has_value()));
  CHECK(f.idle());
  f.advance(600s);
  std::string kinds;
  for (;;) {
    const auto next = f.start(answer.next());
    REQUIRE((next->value && next->value->has_value()));
    if (!**next->value) break;
    kinds += (**next->value)->type == sluice::llm::stream_event::kind::done ? "." : "u";
  }
  CHECK(kinds == "u.");
  CHECK(f.time.armed() == 0);
}

TEST_CASE("the call's deadline ends a stream that nobody reads, and no limit is no limit") {
  call_fixture f(pool(), with(0s));
  f.transport.add(streamed().with_chunk(text_chunk("x")).with_silence());
  f.transport.add(streamed().with_chunk(text_chunk("x")).with_silence());
  auto bounded = open(f, {.deadline = f.gate.in(30s)});
  auto unbounded = open(f);
  static_cast<void>(f.start(bounded.next()));
  static_cast<void>(f.start(unbounded.next()));
  f.advance(30s);
  CHECK(f.in_flight() == 1);
  const auto late = f.start(bounded.next());
  REQUIRE((late->value && !late->value->has_value()));
  CHECK(late->value->error().is(errc::deadline_exceeded));
  CHECK(late->value->error().message().find("nobody read the stream") != std::string::npos);
  CHECK(late->value->error().status == 200);
  f.advance(100h);
  CHECK(f.in_flight() == 1);
}

TEST_CASE("the observer is told why, and when") {
  std::vector<sluice::llm::attempt_record> seen;
  client_options options = with(10s);
  options.observer = [&](const sluice::llm::attempt_record& what) { seen.push_back(what); };
  call_fixture f(pool(), options);
  f.transport.add(streamed().with_chunk(text_chunk("x")).with_silence());
  const instant start = f.gate.now();
  {
    auto answer = open(f);
    static_cast<void>(f.start(answer.next()));
    f.advance(60s);
  }
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].code == errc::idle_timeout);
  CHECK(seen[0].status == 200);
  CHECK(seen[0].ended == start + 10s);
}

TEST_CASE("gate and clock may go before a stream that is not read") {
  std::unique_ptr<sluice::llm::stream> left;
  {
    call_fixture f(pool(), with(10s));
    f.transport.add(streamed().with_chunk(text_chunk("x")).with_silence());
    left = std::make_unique<sluice::llm::stream>(open(f));
    static_cast<void>(f.start(left->next()));
  }
  left.reset();
}

TEST_CASE("read on one thread while the clock runs on another: closed once, or read to its end") {
  sluice::testing::manual_time_source time;
  for (int round = 0; round < 300; ++round) {
    counted seen;
    unread_limit limit(seen, 1ms, sluice::never);
    std::atomic<bool> go = false;
    std::thread clock([&] {
      while (!go) std::this_thread::yield();
      for (int n = 0; n < 5; ++n) time.advance(1ms);
    });
    go = true;
    bool lapsed = false;
    for (int n = 0; n < 20; ++n) {
      limit.end_reading(time);
      lapsed = limit.begin_reading() != unread_limit::verdict::in_time || lapsed;
    }
    limit.stop();
    clock.join();
    CHECK(seen.unread == (lapsed ? 1 : 0));
  }
  CHECK(time.armed() == 0);
}
