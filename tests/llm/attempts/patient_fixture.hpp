/// \file
/// `patient`: a client that tries again, over a script, and when it asked what.
#pragma once

#include "llm/call_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::llm::test {

inline client_options with(retry_policy rules, std::uint64_t seed = 1) {
  client_options options("http://server/v1", "sk-secret");
  options.retry = rules;
  options.seed = seed;
  return options;
}

inline policy many_slots(std::int64_t slots = 400) { return policy({.slots = slots, .tokens = 100'000'000}); }

struct patient : call_fixture {
  explicit patient(client_options options = with({}), const policy& rules = many_slots())
      : call_fixture(rules, std::move(options)) {
    transport.on_request([this](const http::request& asked) {
      asked_at.push_back(time.now());
      bodies.push_back(asked.body());
      if (next < script.size()) return script[next++];
      return plain(plain_answer);
    });
  }

  void add(testing::scripted_exchange what) { script.push_back(std::move(what)); }

  /// Lets so much time pass, stopping wherever something is due.
  void pass(duration length) {
    const instant until = time.now() + length;
    run();
    while (time.next() <= until) {
      time.advance_to(time.next());
      run();
    }
    time.advance_to(until);
    run();
  }

  [[nodiscard]] duration between(std::size_t first, std::size_t second) const {
    return asked_at.at(second) - asked_at.at(first);
  }

  std::vector<testing::scripted_exchange> script;
  std::size_t next = 0;
  std::vector<instant> asked_at;
  std::vector<std::string> bodies;
};

inline testing::scripted_exchange status(int code, std::string body = R"({"error":{"message":"m"}})") {
  return plain(std::move(body), code);
}
inline testing::scripted_exchange broken(errc why) { return testing::scripted_exchange::failure(why, "broken"); }

inline failure failure_of(patient& f, const call_options& how = {}, duration length = std::chrono::seconds(100)) {
  const auto chat = f.start(f.caller.chat(question(), how));
  f.pass(length);
  REQUIRE((chat->value && !chat->value->has_value()));
  CHECK(f.idle());
  return chat->value->error();
}

inline std::string said(const failure& what) { return what.message(); }
inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace sluice::llm::test
