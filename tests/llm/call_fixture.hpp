/// \file
/// `call_fixture`: one loop, a clock that stands still, a gate, a scripted server and a client, all on the test's thread.
#pragma once

#include <sluice/llm/client.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/testing/manual_time_source.hpp>
#include <sluice/testing/scripted_transport.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sluice::llm::test {

/// A coroutine under way: its result comes in `value`, or what it threw in `thrown`.
template <typename T>
struct started {
  std::optional<T> value;
  std::exception_ptr thrown;
  bool ended = false;
  asio::cancellation_signal cancel;
};

using chat_result = expected<reply, failure>;
using stream_result = expected<stream, failure>;
using event_result = expected<std::optional<stream_event>, failure>;

/// A client whose failures are not followed by another attempt.
inline client_options once() {
  client_options options("http://server/v1", "sk-secret");
  options.retry.max_attempts = 1;
  return options;
}

class call_fixture {
 public:
  explicit call_fixture(const policy& rules = policy({.slots = 4, .tokens = 100'000}), client_options options = once())
      : gate(loop.get_executor(), rules, time), caller(transport, gate, std::move(options)) {}

  testing::manual_time_source time;
  asio::io_context loop{1};
  testing::scripted_transport transport;
  bulkhead gate;
  client caller;

  /// Runs all that can run.
  void run() {
    loop.restart();
    loop.poll();
  }

  void advance(duration length) {
    time.advance(length);
    run();
  }

  template <typename T>
  std::shared_ptr<started<expected<T, failure>>> start(asio::awaitable<expected<T, failure>> what) {
    using result = expected<T, failure>;
    auto state = std::make_shared<started<result>>();
    asio::co_spawn(loop, hold(std::move(what), state),
                   asio::bind_cancellation_slot(state->cancel.slot(), [state](std::exception_ptr thrown) {
                     state->ended = true;
                     state->thrown = thrown;
                   }));
    run();
    return state;
  }

  template <typename State>
  void cancel(State& state) {
    state->cancel.emit(asio::cancellation_type::terminal);
    run();
  }

  [[nodiscard]] std::int64_t held_tokens() const { return gate.statistics().all.held.tokens; }
  [[nodiscard]] std::int64_t in_flight() const { return gate.statistics().all.in_flight; }
  [[nodiscard]] std::int64_t waiting() const { return gate.statistics().all.waiting; }
  [[nodiscard]] std::int64_t consumed() const { return gate.statistics().all.consumed_tokens_total; }
  /// Nothing is held, nothing waits, no exchange is open.
  [[nodiscard]] bool idle() const { return in_flight() == 0 && held_tokens() == 0 && waiting() == 0 && transport.open() == 0; }

 private:
  template <typename Result>
  static asio::awaitable<void> hold(asio::awaitable<Result> what, std::shared_ptr<started<Result>> state) {
    auto result = co_await std::move(what);
    state->value.emplace(std::move(result));
  }
};

/// A prompt of 1,000 tokens and 4 for the message, and room for 500 of output.
inline request question() {
  request asked("m");
  asked.user(std::string(4'000, 'q')).limit_output(500);
  return asked;
}
constexpr std::int64_t question_tokens = 1'504;

inline std::string chunk(const std::string& delta, const std::string& finish = "null") {
  return "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{" + delta + "},\"finish_reason\":" + finish +
         "}]}\n\n";
}
inline std::string text_chunk(const std::string& text) { return chunk("\"content\":\"" + text + "\""); }
inline std::string usage_chunk() {
  return "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":900,\"completion_tokens\":40}}\n\n";
}
inline testing::scripted_exchange streamed() {
  return testing::scripted_exchange(200).with_header("content-type", "text/event-stream").with_header("x-request-id", "r1");
}
inline testing::scripted_exchange plain(std::string body, int status = 200) {
  return testing::scripted_exchange(status).with_header("content-type", "application/json").with_chunk(std::move(body));
}
inline const std::string plain_answer =
    R"({"id":"c1","model":"m","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":900,"completion_tokens":40}})";

/// The default classes over 4 slots: interactive work has a floor of 3, so a second piece of batch work has borrowed.
inline policy lending() {
  policy rules({.slots = 4, .tokens = 1'000'000});
  rules[sluice::batch].elastic.enabled = false;
  return rules;
}

}  // namespace sluice::llm::test
