// What becomes of a call whose exchange the gate stops: preempted, or its run closed, wherever it is at that moment.
#include "llm/attempts/patient_fixture.hpp"

#include <sluice/runtime/detail/gate_hold.hpp>

#include <doctest/doctest.h>

#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::errc;
using sluice::permit;
using sluice::reason;
using sluice::run_id;
using sluice::llm::call_options;
using sluice::llm::call_phase;
using sluice::llm::client_options;
using sluice::llm::failure;
using sluice::testing::scripted_exchange;

namespace {

const std::string run_closed = "cancelled: its run was cancelled or closed while the exchange was under way";
const std::string preempted =
    "preempted: the capacity was lent, and its owner needs it back; ask again with failure::age as call_options::age "
    "to keep the place";
const std::string stop = chunk("", "\"stop\"") + usage_chunk() + "data: [DONE]\n\n";

sluice::llm::stream open(call_fixture& f, call_options how = {}) {
  const auto opened = f.start(f.caller.stream(question(), how));
  REQUIRE((opened->value && opened->value->has_value()));
  return *std::move(*opened->value);
}

std::string next_text(call_fixture& f, sluice::llm::stream& from) {
  const auto step = f.start(from.next());
  REQUIRE((step->value && *step->value && **step->value));
  return (***step->value).text;
}

failure next_failure(call_fixture& f, sluice::llm::stream& from) {
  const auto step = f.start(from.next());
  REQUIRE((step->value && !step->value->has_value()));
  return step->value->error();
}

/// Two pieces of batch work, the second of which has borrowed, as soon as somebody asks for what interactive work owns.
struct borrowed : call_fixture {
  explicit borrowed(client_options options = once()) : call_fixture(lending(), std::move(options)) {}

  void preempt() {
    while (auto one = gate.try_admit({.tokens = 1})) owners.push_back(std::move(*one));
    transport.add(plain(plain_answer));
    const auto urgent = start(caller.chat(question()));
    CHECK_FALSE(urgent->ended);
    advance(2s);
    CHECK((urgent->value && urgent->value->has_value()));
  }
  [[nodiscard]] std::int64_t preempted_total() const { return gate.statistics()[sluice::batch].preempted_total; }
  std::vector<permit> owners;
};

}  // namespace

TEST_CASE("only what could be stopped is sent with a signal") {
  call_fixture f(lending());
  for (int i = 0; i < 3; ++i) f.transport.add(plain(plain_answer));
  static_cast<void>(f.start(f.caller.chat(question())));
  static_cast<void>(f.start(f.caller.chat(question(), {.workload = sluice::batch})));
  static_cast<void>(f.start(f.caller.chat(question(), {.run = f.gate.open_run().value()})));
  const auto asked = f.transport.requests();
  REQUIRE(asked.size() == 3);
  CHECK(asked[0].stop == nullptr);
  REQUIRE(asked[1].stop != nullptr);
  REQUIRE(asked[2].stop != nullptr);
  CHECK(asked[2].stop != asked[1].stop);
  // What has ended is stopped no more.
  CHECK(asked[1].stop.use_count() == 2);
  CHECK(f.idle());
}

TEST_CASE("a chat whose run is closed ends at once, wherever it is, and is not tried again") {
  enum class place { before_head, in_body, in_refusal };
  for (const place where : {place::before_head, place::in_body, place::in_refusal}) {
    CAPTURE(static_cast<int>(where));
    call_fixture f(lending(), with({.max_attempts = 5}));
    switch (where) {
      case place::before_head: f.transport.add(scripted_exchange::silent()); break;
      case place::in_body: f.transport.add(plain("{\"id\":").with_silence()); break;
      case place::in_refusal: f.transport.add(plain("{\"error\":", 503).with_silence()); break;
    }
    const run_id run = f.gate.open_run().value();
    const auto chat = f.start(f.caller.chat(question(), {.run = run}));
    REQUIRE(f.transport.open() == 1);
    CHECK(f.gate.close_run(run));
    CHECK(f.transport.open() == 0);
    CHECK(f.transport.cancelled() == 1);
    f.advance(100s);
    REQUIRE((chat->value && !chat->value->has_value()));
    const failure& why = chat->value->error();
    CHECK(why.is(errc::cancelled));
    CHECK(why.message() == run_closed);
    CHECK(why.phase == (where == place::before_head ? call_phase::sent : call_phase::answering));
    CHECK(why.attempts == 1);
    CHECK(f.transport.requests().size() == 1);
    CHECK(f.gate.statistics()[sluice::interactive].preempted_total == 0);
    CHECK(f.idle());
  }
}

TEST_CASE("a call that waits for its next attempt when its run is closed, or one above that, ends at once") {
  for (const bool by_parent : {false, true}) {
    CAPTURE(by_parent);
    call_fixture f(many_slots(), with({.max_attempts = 5, .first_backoff = 60s}));
    f.transport.add(plain("{}", 500));
    const run_id parent = f.gate.open_run().value();
    const run_id run = f.gate.open_run({.parent = parent}).value();
    const run_id other = f.gate.open_run().value();
    const auto chat = f.start(f.caller.chat(question(), {.run = run}));
    REQUIRE(f.transport.requests().size() == 1);
    CHECK_FALSE(chat->ended);
    CHECK(f.gate.close_run(other));
    f.run();
    CHECK_FALSE(chat->ended);
    CHECK(f.gate.close_run(by_parent ? parent : run));
    f.run();
    REQUIRE((chat->value && !chat->value->has_value()));
    const failure& why = chat->value->error();
    CHECK(why.is(errc::cancelled));
    CHECK(why.message().starts_with(
        "cancelled: its run was cancelled or closed while it waited for another attempt; the first one failed: "));
    CHECK(why.attempts == 1);
    CHECK(f.time.armed() == 0);
    CHECK(f.idle());
  }
}

TEST_CASE("a call that has to wait for the provider's pause when its run is closed is cancelled, and says why") {
  call_fixture f(many_slots(), with({.max_attempts = 5}));
  f.transport.add(plain("{}", 429).with_header("retry-after", "30"));
  const run_id run = f.gate.open_run().value();
  const auto chat = f.start(f.caller.chat(question(), {.run = run}));
  CHECK_FALSE(chat->ended);
  CHECK(f.gate.close_run(run));
  f.run();
  REQUIRE((chat->value && !chat->value->has_value()));
  CHECK(chat->value->error().is(errc::cancelled));
  CHECK(chat->value->error().message().starts_with(
      "cancelled: its run was cancelled or closed before there was another attempt; the first one failed: "));
}

TEST_CASE("the caller of a call that was stopped goes on") {
  call_fixture f(lending());
  f.transport.add(scripted_exchange::silent());
  const run_id run = f.gate.open_run().value();
  bool went_on = false;
  const auto program = [&]() -> asio::awaitable<chat_result> {
    auto answer = co_await f.caller.chat(question(), {.run = run});
    co_await asio::post(f.loop, asio::use_awaitable);
    went_on = true;
    co_return answer;
  };
  const auto call = f.start(program());
  f.gate.close_run(run);
  f.run();
  CHECK(call->ended);
  CHECK_FALSE(call->thrown);
  CHECK(went_on);
}

TEST_CASE("closed while it waits for its next attempt: the run's refusal, and no other attempt") {
  patient f;
  f.add(status(503));
  const run_id run = f.gate.open_run().value();
  const auto chat = f.start(f.caller.chat(question(), {.run = run}));
  CHECK(f.transport.requests().size() == 1);
  f.gate.close_run(run);
  f.pass(100s);
  REQUIRE((chat->value && !chat->value->has_value()));
  CHECK(f.transport.requests().size() == 1);
  CHECK(f.idle());
}

TEST_CASE("the runs below a closed one are stopped, those beside it are not") {
  call_fixture f(lending());
  for (int i = 0; i < 3; ++i) f.transport.add(plain(plain_answer).with_pause());
  const run_id above = f.gate.open_run().value();
  const run_id below = f.gate.open_run({.parent = above}).value();
  const run_id beside = f.gate.open_run().value();
  const auto first = f.start(f.caller.chat(question(), {.run = above}));
  const auto second = f.start(f.caller.chat(question(), {.run = below}));
  const auto third = f.start(f.caller.chat(question(), {.run = beside}));
  f.gate.close_run(above);
  f.run();
  CHECK((first->ended && second->ended));
  CHECK(second->value->error().message() == run_closed);
  CHECK_FALSE(third->ended);
  f.transport.release_all();
  f.run();
  CHECK((third->value && third->value->has_value()));
  CHECK(f.idle());
}

TEST_CASE("a stream whose run is closed while it is read: what came is kept, and paid") {
  call_fixture f(lending());
  f.transport.add(streamed().with_chunk(text_chunk("half")).with_silence());
  const run_id run = f.gate.open_run().value();
  auto stream = open(f, {.run = run});
  CHECK(next_text(f, stream) == "half");
  const auto step = f.start(stream.next());
  CHECK_FALSE(step->ended);
  f.gate.close_run(run);
  CHECK(f.transport.open() == 0);
  f.run();
  REQUIRE((step->value && !step->value->has_value()));
  const failure& why = step->value->error();
  CHECK(why.message() == run_closed);
  CHECK(why.partial->text == "half");
  CHECK(why.usage.output_tokens == 1);
  CHECK(f.consumed() == 1'005);
  CHECK(f.idle());
  CHECK(next_failure(f, stream).message() == run_closed);
}

TEST_CASE("a stream that nobody reads is closed at once when its run is, and gives its room back") {
  for (const bool read_before : {false, true}) {
    CAPTURE(read_before);
    for (const auto unread : {0s, 30s}) {
      client_options options = once();
      options.unread = unread;
      call_fixture f(lending(), options);
      f.transport.add(streamed().with_chunk(text_chunk("half")).with_silence());
      const run_id run = f.gate.open_run().value();
      auto stream = open(f, {.run = run});
      if (read_before) CHECK(next_text(f, stream) == "half");
      CHECK(f.in_flight() == 1);
      f.gate.close_run(run);
      CHECK(f.idle());
      CHECK(f.transport.cancelled() == 1);
      CHECK(f.consumed() == (read_before ? 1'005 : 0));
      f.advance(100s);
      for (int i = 0; i < 2; ++i) {
        const failure why = next_failure(f, stream);
        CHECK(why.is(errc::cancelled));
        CHECK(why.message() == run_closed);
        CHECK(why.attempts == 1);
        CHECK(why.status == 200);
        if (read_before) CHECK(why.partial->text == "half");
      }
      CHECK(f.transport.requests().size() == 1);
      CHECK(f.time.armed() == 0);
    }
  }
}

TEST_CASE("closed while events are still to be handed out: these first, then the failure") {
  call_fixture f(lending());
  f.transport.add(streamed().with_chunk(text_chunk("one") + text_chunk("two")).with_silence());
  const run_id run = f.gate.open_run().value();
  auto stream = open(f, {.run = run});
  CHECK(next_text(f, stream) == "one");
  f.gate.close_run(run);
  CHECK(f.idle());
  CHECK(next_text(f, stream) == "two");
  CHECK(next_failure(f, stream).message() == run_closed);
}

TEST_CASE("a stream whose end was read is over: the closing of its run changes nothing") {
  call_fixture f(lending());
  f.transport.add(streamed().with_chunk(text_chunk("all") + stop));
  const run_id run = f.gate.open_run().value();
  auto stream = open(f, {.run = run});
  CHECK(next_text(f, stream) == "all");
  CHECK(f.in_flight() == 0);
  f.gate.close_run(run);
  for (;;) {
    const auto step = f.start(stream.next());
    REQUIRE((step->value && step->value->has_value()));
    if (!**step->value) break;
  }
  CHECK(stream.result().text == "all");
}

TEST_CASE("a stream that nobody reads is preempted, too, and its room goes to who needs it at once") {
  for (const bool handed_out : {false, true}) {
    CAPTURE(handed_out);
    borrowed f;
    const auto half = [] { return streamed().with_chunk(text_chunk("half")).with_silence(); };
    f.transport.add(half());
    f.transport.add(half());
    const call_options how{.workload = sluice::batch};
    auto first = open(f, how);
    auto second = open(f, how);
    if (handed_out) {
      CHECK(next_text(f, first) == "half");
      CHECK(next_text(f, second) == "half");
    }
    f.preempt();
    CHECK(f.preempted_total() == 1);
    CHECK(f.transport.cancelled() == 1);
    f.transport.add(streamed().with_chunk(text_chunk("again") + stop));
    f.transport.add(streamed().with_chunk(text_chunk("again") + stop));
    const auto a = f.start(first.next());
    const auto b = f.start(second.next());
    if (handed_out) {
      REQUIRE(a->ended != b->ended);
      const failure& why = (a->ended ? a : b)->value->error();
      CHECK(why.is(errc::preempted));
      CHECK(why.message() == preempted);
      CHECK(why.age.preemptions == 1);
      CHECK(why.partial->text == "half");
      CHECK(f.gate.statistics()[sluice::batch].wasted_tokens_total == 1'005);
      f.cancel(a->ended ? b : a);
    } else {
      // One goes on as it was, the other has been asked for again.
      CHECK(f.transport.requests().size() == 4);
      REQUIRE((a->value && *a->value && b->value && *b->value));
      const std::string texts = (***a->value).text + (***b->value).text;
      CHECK((texts == "halfagain" || texts == "againhalf"));
    }
    first = {};
    second = {};
    f.owners.clear();
    f.run();
    CHECK(f.idle());
    CHECK(f.preempted_total() == 1);
  }
}

TEST_CASE("a stream that was preempted unread, and is destroyed unread, counts once") {
  borrowed f;
  f.transport.add(streamed().with_silence());
  f.transport.add(streamed().with_silence());
  auto first = open(f, {.workload = sluice::batch});
  auto second = open(f, {.workload = sluice::batch});
  f.preempt();
  CHECK(f.preempted_total() == 1);
  first = {};
  second = {};
  CHECK(f.preempted_total() == 1);
  f.owners.clear();
  CHECK(f.idle());
}

TEST_CASE("the observer is told of what was stopped unread") {
  std::vector<sluice::llm::attempt_record> told;
  client_options options = once();
  options.observer = [&](const sluice::llm::attempt_record& each) { told.push_back(each); };
  call_fixture f(lending(), options);
  f.transport.add(streamed().with_chunk(text_chunk("half")).with_silence());
  const run_id run = f.gate.open_run().value();
  auto stream = open(f, {.run = run});
  CHECK(next_text(f, stream) == "half");
  f.time.advance(7s);
  const auto closed = f.time.now();
  f.gate.close_run(run);
  CHECK(told.empty());
  f.advance(5s);
  CHECK(next_failure(f, stream).message() == run_closed);
  REQUIRE(told.size() == 1);
  CHECK(told[0].error == run_closed);
  CHECK(told[0].code == make_error_code(errc::cancelled));
  CHECK(told[0].ended == closed);
  CHECK(told[0].usage.output_tokens == 1);
}

TEST_CASE("a run may be closed, and a stream stopped, when the bulkhead is gone") {
  sluice::testing::manual_time_source time;
  asio::io_context loop;
  sluice::testing::scripted_transport transport;
  auto gate = std::make_unique<sluice::bulkhead>(loop.get_executor(), lending(), time);
  auto caller = std::make_unique<sluice::llm::client>(transport, *gate, once());
  sluice::detail::gate_hold hold(*gate);
  const run_id run = gate->open_run().value();
  transport.add(streamed().with_chunk(text_chunk("half")).with_silence());
  sluice::llm::stream stream;
  const auto program = [&]() -> asio::awaitable<void> {
    auto opened = co_await caller->stream(question(), {.run = run});
    stream = *std::move(opened);
    static_cast<void>(co_await stream.next());
  };
  asio::co_spawn(loop, program(), asio::detached);
  loop.poll();
  REQUIRE(transport.open() == 1);
  caller.reset();
  gate.reset();
  CHECK(transport.open() == 1);
  CHECK(hold.close_run(run));
  CHECK(transport.open() == 0);
  stream = {};
}

TEST_CASE("runs closed from another thread, while streams are read, unread and dropped: nothing stays behind") {
  asio::thread_pool pool(2);
  sluice::testing::scripted_transport transport;
  transport.on_request([](const sluice::http::request&) {
    return streamed().with_chunk(text_chunk("one")).with_chunk(text_chunk("two")).with_silence();
  });
  sluice::bulkhead gate(pool.get_executor(), sluice::policy({.slots = 400, .tokens = 100'000'000}));
  sluice::llm::client caller(transport, gate, once());
  constexpr int count = 150;
  std::atomic<int> begun = 0;
  std::atomic<int> stopped = 0;
  std::atomic<int> ended = 0;
  std::vector<run_id> runs;
  for (int i = 0; i < count; ++i) runs.push_back(gate.open_run().value());
  const auto program = [&](int number) -> asio::awaitable<void> {
    const call_options how{.run = runs[static_cast<std::size_t>(number)]};
    auto opened = co_await caller.stream(question(), how);
    ++begun;
    if (!opened) {
      ++stopped;
      co_return;
    }
    sluice::llm::stream stream = *std::move(opened);
    // Some are read to where they stop, some a little, some not at all; these are dropped or read again later.
    int reads = 0;
    for (;;) {
      if (number % 3 != 0 && ++reads > number % 3) {
        while (transport.cancelled() < 10) co_await asio::post(pool, asio::use_awaitable);
        if (number % 2 == 0) break;
      }
      auto event = co_await stream.next();
      if (event) continue;
      CHECK(event.error().message() == run_closed);
      ++stopped;
      break;
    }
  };
  for (int i = 0; i < count; ++i) asio::co_spawn(pool, program(i), [&](std::exception_ptr) { ++ended; });
  while (begun < count) std::this_thread::yield();
  for (const run_id each : runs) CHECK(gate.close_run(each));
  while (ended < count) std::this_thread::yield();
  CHECK(stopped >= count / 2);
  CHECK(transport.open() == 0);
  CHECK(transport.cancelled() == count);
  CHECK(gate.statistics().all.in_flight == 0);
  CHECK(gate.statistics().all.held.tokens == 0);
  pool.join();
}
