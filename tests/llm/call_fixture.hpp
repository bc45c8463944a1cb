/// \file
/// `call_fixture`: a gate, a scripted server and a client, on one loop under a clock that stands still.
#pragma once

#include "llm/loop_fixture.hpp"

#include <sluice/llm/client.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/testing/scripted_transport.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace sluice::llm::test {

using chat_result = expected<reply, failure>;
using stream_result = expected<stream, failure>;
using event_result = expected<std::optional<stream_event>, failure>;

/// A client whose failures are not followed by another attempt.
inline client_options once() {
  client_options options("http://server/v1", "sk-secret");
  options.retry.max_attempts = 1;
  return options;
}

class call_fixture : public loop_fixture {
 public:
  explicit call_fixture(const policy& rules = policy({.slots = 4, .tokens = 100'000}), client_options options = once())
      : gate(loop.get_executor(), rules, time), caller(transport, gate, std::move(options)) {}

  testing::scripted_transport transport;
  bulkhead gate;
  client caller;

  [[nodiscard]] std::int64_t held_tokens() const { return gate.statistics().all.held.tokens; }
  [[nodiscard]] std::int64_t in_flight() const { return gate.statistics().all.in_flight; }
  [[nodiscard]] std::int64_t waiting() const { return gate.statistics().all.waiting; }
  [[nodiscard]] std::int64_t consumed() const { return gate.statistics().all.consumed_tokens_total; }
  /// Nothing is held, nothing waits, no exchange is open.
  [[nodiscard]] bool idle() const {
    return in_flight() == 0 && held_tokens() == 0 && waiting() == 0 && transport.open() == 0;
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
  return "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{" + delta +
         "},\"finish_reason\":" + finish + "}]}\n\n";
}
inline std::string text_chunk(const std::string& text) { return chunk("\"content\":\"" + text + "\""); }
inline std::string usage_chunk() {
  return "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":900,\"completion_tokens\":40}}\n\n";
}
inline testing::scripted_exchange streamed() {
  return testing::scripted_exchange(200)
      .with_header("content-type", "text/event-stream")
      .with_header("x-request-id", "r1");
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
