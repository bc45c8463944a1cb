/// \file
/// `routes_fixture`: several servers, each behind a client and a gate of its own or all behind one, on one loop under a
/// clock that stands still.
#pragma once

#include "llm/call_fixture.hpp"

#include <sluice/llm/any_client.hpp>

#include <asio/detached.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace sluice::llm::test {

/// A gate that lets second attempts through.
inline policy wide(std::int64_t slots = 8) {
  policy rules({.slots = slots, .tokens = 1'000'000});
  for (class_policy& each : rules.classes) each.floor = {};
  rules.retries.enabled = false;
  return rules;
}

class routes_fixture : public loop_fixture {
 public:
  enum class gates { one, one_each };

  struct server {
    testing::scripted_transport transport;
    std::unique_ptr<bulkhead> own_gate;
    std::unique_ptr<client> caller;
  };

  explicit routes_fixture(std::size_t count, gates how = gates::one_each, const policy& rules = wide(),
                          const client_options& options = once()) {
    for (std::size_t i = 0; i < count; ++i) {
      auto& made = *servers.emplace_back(std::make_unique<server>());
      if (i == 0 || how == gates::one_each)
        made.own_gate = std::make_unique<bulkhead>(loop.get_executor(), rules, time);
      bulkhead& gate = made.own_gate ? *made.own_gate : *servers[0]->own_gate;
      made.caller = std::make_unique<client>(made.transport, gate, options);
    }
  }

  std::vector<std::unique_ptr<server>> servers;

  [[nodiscard]] testing::scripted_transport& at(std::size_t number) { return servers[number]->transport; }
  [[nodiscard]] client& caller(std::size_t number) { return *servers[number]->caller; }
  [[nodiscard]] bulkhead& gate(std::size_t number) { return caller(number).gate(); }
  [[nodiscard]] std::size_t asked(std::size_t number) { return at(number).requests().size(); }

  /// Nothing is held, nothing waits, no exchange is open, anywhere.
  [[nodiscard]] bool idle() const {
    for (const auto& each : servers) {
      const auto all = each->caller->gate().statistics().all;
      if (all.in_flight != 0 || all.held.tokens != 0 || all.waiting != 0 || each->transport.open() != 0) return false;
    }
    return true;
  }
};

/// An answer with these words, from the server.
inline testing::scripted_exchange says(const std::string& text) {
  return plain(R"({"id":"c1","model":"m","choices":[{"index":0,"message":{"content":")" + text +
               R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":900,"completion_tokens":40}})");
}
inline testing::scripted_exchange error_of(int status, const std::string& code = "some_code") {
  return plain(R"({"error":{"message":"it said no","code":")" + code + R"("}})", status);
}
inline testing::scripted_exchange streams(const std::string& text) {
  return streamed().with_chunk(text_chunk(text)).with_chunk(chunk("", "\"stop\"") + usage_chunk());
}

template <typename Call>
[[nodiscard]] bool has_failed(const Call& call, errc kind) {
  return call->value && !call->value->has_value() && call->value->error().is(kind);
}
[[nodiscard]] inline std::string text_of(const std::shared_ptr<started<chat_result>>& call) {
  if (!call->ended) return "(under way)";
  if (!call->value) return "(thrown)";
  return call->value->has_value() ? (*call->value)->text : call->value->error().message();
}

}  // namespace sluice::llm::test
