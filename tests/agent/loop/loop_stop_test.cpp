#include "agent/loop/loop_fixture.hpp"

#include <sluice/runtime/sleep.hpp>

#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using llm::dialect;
using testing::scripted_exchange;

namespace {

said two_calls() {
  return said("Let me see.").calls("lookup", R"({"key":"a"})", "t1").calls("slow", R"({"key":"b"})", "t2");
}

/// A tool that takes a minute.
void add_slow(loop_fixture& f) {
  f.tools.add(lookup_tool("slow"), [&f](const llm::tool_arguments&) -> asio::awaitable<expected<std::string, error>> {
    co_await sleep_until(f.time, f.gate.in(60s));
    co_return "at last";
  });
}

enum class stopper { caller, run, root };

/// Stops a loop in `run`, a child of `root`, in one of three ways.
void stop(stopper who, loop_fixture::result& loop, run_scope& run, run_scope& root, loop_fixture& f) {
  if (who == stopper::caller) loop.cancel.emit(asio::cancellation_type::terminal);
  if (who == stopper::run) run.cancel();
  if (who == stopper::root) root.cancel();
  f.run();
}

constexpr stopper all_stoppers[] = {stopper::caller, stopper::run, stopper::root};

}  // namespace

TEST_CASE("a loop that is stopped while the model answers closes the exchange, by whomever") {
  for (const stopper who : all_stoppers) {
    CAPTURE(static_cast<int>(who));
    loop_fixture f;
    f.add_lookup();
    f.transport.add(scripted_exchange::silent());
    run_scope root = f.open();
    run_scope run = root.child(run_settings("child")).value();
    const auto loop = f.begin(run);
    REQUIRE(f.transport.open() == 1);
    stop(who, *loop, run, root, f);
    REQUIRE(loop->value.has_value());
    CHECK(loop->value->stop == run_stop::cancelled);
    CHECK(loop->value->outcome == run_outcome::partial);
    CHECK(loop->value->explanation == "run root/child was cancelled after 0 turns");
    CHECK(f.transport.cancelled() == 1);
    CHECK(f.idle());
    CHECK(f.time.armed() == 0);
    CHECK(fits(f.talk));
  }
}

TEST_CASE("a loop that is stopped while it waits for admission leaves the queue") {
  for (const stopper who : all_stoppers) {
    loop_fixture f(dialect::openai_chat, policy({.slots = 1, .tokens = 100'000}));
    auto busy = f.gate.try_admit({.tokens = 10});
    run_scope root = f.open();
    run_scope run = root.child(run_settings("child")).value();
    const auto loop = f.begin(run);
    REQUIRE(f.gate.statistics().all.waiting == 1);
    stop(who, *loop, run, root, f);
    REQUIRE(loop->value.has_value());
    CHECK(loop->value->stop == run_stop::cancelled);
    CHECK(f.gate.statistics().all.waiting == 0);
    CHECK(f.asked() == 0);
  }
}

TEST_CASE(
    "a loop that is stopped in the middle of its tools leaves a result for each call, and the next request is valid") {
  for (const stopper who : all_stoppers) {
    CAPTURE(static_cast<int>(who));
    loop_fixture f;
    f.add_lookup();
    add_slow(f);
    f.answers(two_calls());
    run_scope root = f.open();
    run_scope run = root.child(run_settings("child")).value();
    const auto loop = f.begin(run);
    CHECK(f.looked_up.size() == 1);
    CHECK_FALSE(loop->ended);
    stop(who, *loop, run, root, f);
    REQUIRE(loop->value.has_value());
    const run_result& result = *loop->value;
    CHECK(result.stop == run_stop::cancelled);
    CHECK(result.explanation == "run root/child was cancelled after 1 turn");
    CHECK(result.text == "Let me see.");
    CHECK(result.spent.calls == 1);
    CHECK(f.time.armed() == 0);
    CHECK(fits(f.talk));
    REQUIRE(f.talk.messages().size() == 5);
    CHECK(f.talk.messages()[3].text == "value of a");
    CHECK(f.talk.messages()[4].is_error);

    f.talk.user("Go on.");
    f.answers(said("Done."));
    run_scope next = f.open(run_settings("next"));
    CHECK(f.finish(next).stop == run_stop::answer);
    const auto sent = f.sent(1)["messages"];
    REQUIRE(sent.size() == 6);
    CHECK(sent[3]["tool_call_id"] == "t1");
    CHECK(sent[4]["tool_call_id"] == "t2");
  }
}

TEST_CASE("a stream that is stopped keeps what had come") {
  for (const stopper who : all_stoppers) {
    CAPTURE(static_cast<int>(who));
    loop_fixture f;
    f.how.streamed = true;
    f.transport.add(scripted_exchange(200)
                        .with_header("content-type", "text/event-stream")
                        .with_chunk(event({{"content", "It is sev"}}))
                        .with_silence());
    run_scope root = f.open();
    run_scope run = root.child(run_settings("child")).value();
    const auto loop = f.begin(run);
    stop(who, *loop, run, root, f);
    REQUIRE(loop->value.has_value());
    CHECK(loop->value->stop == run_stop::cancelled);
    CHECK(loop->value->text == "It is sev");
    CHECK(f.talk.messages().back().text == "It is sev");
    CHECK(f.idle());
    // What had come is paid, and everybody tells the same.
    CHECK(loop->value->spent.calls == 1);
    CHECK(loop->value->spent.tokens > 0);
    CHECK(run.balance().spent == loop->value->spent);
    CHECK(root.balance().spent == loop->value->spent);
    CHECK(root.balance().reserved == spending{});
  }
}

TEST_CASE("a listener may cancel the run from within: the loop stops there, and calls have results") {
  loop_fixture f;
  f.add_lookup();
  run_scope run = f.open();
  f.how.on_event = [&](const loop_event& what) {
    if (what.type == loop_event::kind::usage) run.cancel();
  };
  f.answers(two_calls());
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::cancelled);
  CHECK(result.turns == 1);
  CHECK(f.looked_up.empty());
  CHECK(fits(f.talk));
  CHECK(f.talk.messages().size() == 5);
}

TEST_CASE("a run that was cancelled or closed before takes no loop") {
  loop_fixture f;
  run_scope cancelled = f.open();
  cancelled.cancel();
  const run_result first = f.finish(cancelled);
  CHECK(first.stop == run_stop::cancelled);
  CHECK(first.spent == spending{});

  run_scope root = f.open(run_settings("root"));
  run_scope child = root.child(run_settings("child")).value();
  { const run_scope ended = std::move(root); }
  const run_result second = f.finish(child);
  CHECK(second.stop == run_stop::cancelled);
  CHECK(second.explanation == "run root/child was cancelled after 0 turns");
  CHECK(f.asked() == 0);
}

TEST_CASE("leaving a run waits for the loops in it") {
  loop_fixture f;
  f.transport.add(scripted_exchange::silent());
  run_scope run = f.open();
  const auto loop = f.begin(run);
  started<leave_result> left;
  f.start(left, run.leave());
  REQUIRE(left.value.has_value());
  CHECK(left.value->abandoned == 0);
  REQUIRE(loop->value.has_value());
  CHECK(loop->value->stop == run_stop::cancelled);
  CHECK(f.idle());
}

TEST_CASE("a loop that waits for its next attempt ends at once with its run, and leaves nothing behind") {
  loop_fixture f;
  llm::client_options patient = once_only(f.spoken);
  patient.retry.max_attempts = 5;
  patient.retry.first_backoff = 60s;
  llm::client client(f.transport, f.gate, patient);
  f.transport.add(scripted_exchange(500).with_chunk("{}"));
  loop_fixture::result loop;
  started<leave_result> left;
  {
    run_scope run = f.open();
    f.start(loop, run_tools(run, client, f.talk, f.tools, f.how));
    REQUIRE(f.asked() == 1);
    REQUIRE_FALSE(loop.ended);
    f.start(left, run.leave());
  }
  REQUIRE(left.value.has_value());
  CHECK(left.value->abandoned == 0);
  REQUIRE(loop.value.has_value());
  CHECK(loop.value->stop == run_stop::cancelled);
  CHECK(f.time.armed() == 0);
  CHECK(f.idle());
}

TEST_CASE("a loop outlives the scope of its run, and finds the run closed") {
  loop_fixture f;
  f.transport.add(scripted_exchange::silent());
  loop_fixture::result loop;
  {
    run_scope run = f.open();
    f.start(loop, run_tools(run, f.model, f.talk, f.tools, f.how));
    REQUIRE(f.transport.open() == 1);
  }
  f.run();
  REQUIRE(loop.value.has_value());
  CHECK(loop.value->stop == run_stop::cancelled);
  CHECK(f.gate.statistics().runs == 0);
  CHECK(f.idle());
}

TEST_CASE("after a caller's cancellation its next wait throws, and after the run's it does not") {
  for (const bool by_caller : {true, false}) {
    CAPTURE(by_caller);
    loop_fixture f;
    f.transport.add(scripted_exchange::silent());
    run_scope run = f.open();
    bool came_back = false;
    bool went_on = false;
    const auto body = [&]() -> asio::awaitable<int> {
      const run_result result = co_await run_tools(run, f.model, f.talk, f.tools, f.how);
      came_back = result.stop == run_stop::cancelled;
      co_await sleep_until(f.time, f.gate.in(1s));
      went_on = true;
      co_return 1;
    };
    started<int> caller;
    f.start(caller, body());
    if (by_caller) {
      caller.cancel.emit(asio::cancellation_type::terminal);
    } else {
      run.cancel();
    }
    f.run();
    f.advance(1s);
    CHECK(caller.ended);
    CHECK(came_back);
    CHECK(went_on == !by_caller);
    CHECK((caller.thrown != nullptr) == by_caller);
  }
}

TEST_CASE("a cancellation at each step, of the caller or of the run, leaves nothing held, and a conversation to send") {
  for (const stopper who : all_stoppers) {
    CAPTURE(static_cast<int>(who));
    // The steps: each handler that the loop's executor runs.
    for (std::size_t step = 0;; ++step) {
      CAPTURE(step);
      loop_fixture f;
      f.add_lookup();
      const auto paused = [&](const said& what) {
        f.transport.add(plain(what, f.spoken).with_pause_before_head().with_pause());
      };
      paused(said("Let me see.").calls("lookup", R"({"key":"a"})", "t1").calls("lookup", R"({"key":"b"})", "t2"));
      paused(said("Done."));
      run_scope root = f.open();
      run_scope run = root.child(run_settings("child")).value();
      started<run_result> loop;
      f.loop.restart();
      asio::co_spawn(f.loop, run_tools(run, f.model, f.talk, f.tools, f.how),
                     asio::bind_cancellation_slot(loop.cancel.slot(), [&](std::exception_ptr thrown, run_result value) {
                       loop.ended = true;
                       loop.thrown = thrown;
                       loop.value.emplace(std::move(value));
                     }));
      for (std::size_t n = 0; n < step; ++n) {
        if (f.loop.poll_one() != 0) continue;
        if (f.asked() > 0) f.transport.release(f.asked() - 1);
        static_cast<void>(f.loop.poll_one());
      }
      const bool was_over = loop.ended;
      if (!was_over) stop(who, loop, run, root, f);
      f.run();
      REQUIRE(loop.ended);
      CHECK(f.idle());
      CHECK(f.time.armed() == 0);
      CHECK(fits(f.talk));
      if (!loop.thrown) {
        const bool settled = loop.value->stop == run_stop::cancelled || loop.value->stop == run_stop::answer;
        CHECK(settled);
      }
      if (was_over) {
        CHECK(step > 5);
        break;
      }
    }
  }
}

namespace {

/// A caller on a context of its own, whose loop runs on the fixture's. All that its listeners and hooks refer to is in
/// its frame.
class caller_elsewhere {
 public:
  caller_elsewhere(loop_fixture& f, run_scope& run) : f_(f), run_(run), context_(std::in_place) {
    asio::co_spawn(*context_, ask(), [this](std::exception_ptr) { ended_ = true; });
  }

  /// One handler: of the caller's context, or of the loop's.
  void step() {
    context_->restart();
    if (context_->poll_one() != 0) return;
    f_.loop.restart();
    if (f_.loop.poll_one() != 0) return;
    f_.transport.release_all();
    if (f_.loop.poll_one() == 0 && f_.time.next() != never) f_.time.advance_to(f_.time.next());
  }
  /// With its frame.
  void destroy() {
    context_.reset();
    is_gone_ = true;
  }
  /// What was called when it was gone.
  [[nodiscard]] int called_late() const { return called_late_; }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  asio::awaitable<void> ask() {
    std::vector<std::string> heard;
    const auto hear = [this, &heard](const char* what) {
      called_late_ += is_gone_ ? 1 : 0;
      if (!is_gone_) heard.emplace_back(what);
    };
    llm::conversation talk("Be brief.");
    talk.user("What is under k1?");
    loop_options how("m");
    how.streamed = true;
    how.on_event = [hear](const loop_event&) { hear("event"); };
    how.hooks.started = [hear](const llm::tool_call&) { hear("started"); };
    how.hooks.finished = [hear](const tool_result&) { hear("finished"); };
    how.hooks.before = [hear](run_scope&, const llm::tool_call&) -> asio::awaitable<expected<void, error>> {
      hear("before");
      return let();
    };
    co_await run_tools(run_, f_.model, talk, f_.tools, std::move(how));
  }
  static asio::awaitable<expected<void, error>> let() { co_return expected<void, error>(); }

  loop_fixture& f_;
  run_scope& run_;
  std::optional<asio::io_context> context_;
  bool is_gone_ = false;
  bool ended_ = false;
  int called_late_ = 0;
};

}  // namespace

TEST_CASE("a caller that is destroyed with its own context, at each step, is not touched by its loop any more") {
  for (std::size_t steps = 0;; ++steps) {
    CAPTURE(steps);
    loop_fixture f;
    f.add_lookup();
    add_slow(f);
    f.transport.on_request([](const http::request& what) {
      const bool is_first = what.body().find("\"tool_call_id\"") == std::string::npos;
      return is_first ? streamed(two_calls()) : streamed(said("It is seven."));
    });
    run_scope run = f.open();
    caller_elsewhere caller(f, run);
    for (std::size_t n = 0; n < steps; ++n) caller.step();
    const bool was_over = caller.ended();
    caller.destroy();
    f.run();
    CHECK(caller.called_late() == 0);
    CHECK(f.idle());
    CHECK(f.time.armed() == 0);
    CHECK(run.balance().reserved == spending{});
    // The run is not the caller's, and goes on.
    CHECK_FALSE(run.cancelled());
    f.how.streamed = true;
    const auto next = f.begin(run);
    f.advance(60s);
    REQUIRE(next->value.has_value());
    CHECK(next->value->text == "It is seven.");
    if (was_over) {
      CHECK(steps > 10);
      break;
    }
  }
}

TEST_CASE("a run in the frame of a caller that is destroyed with its own context is closed, and its loop ends") {
  loop_fixture f;
  f.transport.add(scripted_exchange::silent());
  std::optional<asio::io_context> elsewhere(std::in_place);
  const auto ask = [&f]() -> asio::awaitable<void> {
    run_scope own = f.open();
    loop_options how("m");
    co_await run_tools(own, f.model, f.talk, f.tools, std::move(how));
  };
  asio::co_spawn(*elsewhere, ask, [](std::exception_ptr) {});
  elsewhere->poll();
  f.run();
  REQUIRE(f.transport.open() == 1);
  elsewhere.reset();
  f.run();
  CHECK(f.transport.cancelled() == 1);
  CHECK(f.idle());
  CHECK(f.gate.statistics().runs == 0);
  // What had not come to its end is not in the conversation.
  CHECK(f.talk.messages().size() == 2);
  CHECK(fits(f.talk));
}
