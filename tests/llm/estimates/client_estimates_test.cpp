#include <sluice/llm/client.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "llm/call_fixture.hpp"

using namespace std::chrono_literals;
using sluice::cost;
using sluice::errc;
using sluice::policy;
using sluice::llm::client_options;
using sluice::llm::request;
using sluice::llm::test::call_fixture;
using sluice::llm::test::plain;
using sluice::llm::test::plain_answer;
using sluice::llm::test::question;

namespace {

request unlimited() {
  request asked("m");
  asked.user(std::string(4'000, 'q'));
  return asked;
}

std::string answer_of(int input, int output) {
  return R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":)" +
         std::to_string(input) + R"(,"completion_tokens":)" + std::to_string(output) + "}}";
}

}  // namespace

TEST_CASE("what would be reserved is what is reserved") {
  call_fixture f;
  CHECK(f.caller.estimate(question()) == cost{.tokens = 1'504, .output_tokens = 500});
  CHECK(f.caller.estimate(unlimited()) == cost{.tokens = 3'052, .output_tokens = 2'048});
  CHECK(f.caller.estimate(question(), {.reservation = cost{.tokens = 7}}) == cost{.tokens = 7});
  f.transport.add(sluice::testing::scripted_exchange::silent());
  const auto chat = f.start(f.caller.chat(unlimited()));
  CHECK(f.held_tokens() == 3'052);
  f.cancel(chat);
}

TEST_CASE("after some answers the estimates are what the provider counts") {
  call_fixture f;
  for (int i = 0; i < 20; ++i) {
    f.transport.add(plain(answer_of(1'506, 300)));
    const auto chat = f.start(f.caller.chat(unlimited()));
    REQUIRE(chat->value);
    REQUIRE(*chat->value);
  }
  CHECK(f.caller.estimate(unlimited()) == cost{.tokens = 1'506 + 300, .output_tokens = 300});
  CHECK(f.caller.estimate(question()) == cost{.tokens = 1'506 + 500, .output_tokens = 500});
  CHECK(f.idle());
  CHECK(f.consumed() == 20 * 1'806);
}

TEST_CASE("answers that failed or were not counted teach nothing") {
  call_fixture f;
  for (int i = 0; i < 20; ++i) {
    f.transport.add(plain(R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]})"));
    f.start(f.caller.chat(unlimited()));
    f.transport.add(plain(R"({"error":{"message":"no"}})", 400));
    f.start(f.caller.chat(unlimited()));
  }
  CHECK(f.caller.estimate(unlimited()) == cost{.tokens = 3'052, .output_tokens = 2'048});
}

TEST_CASE("larger than the pool is told at once, with the numbers and what to lower") {
  call_fixture f(policy({.slots = 4, .tokens = 8'192}));
  request asked("m");
  asked.user(std::string(4 * 1'938, 'q')).limit_output(8'000);
  const std::string told =
      "impossible: 9,942 tokens asked, the pool holds at most 8,192 tokens (max_tokens = 8,000); lower max_tokens or "
      "raise "
      "capacity.tokens to 9,942";
  const auto fate = f.caller.would_admit(asked);
  REQUIRE_FALSE(fate);
  CHECK(fate.error().is(errc::refused));
  CHECK(fate.error().message() == told);
  CHECK(fate.error().refusal->reason() == sluice::reason::impossible);
  CHECK(fate.error().what_helps() == sluice::llm::remedy::change_request);
  const auto chat = f.start(f.caller.chat(asked));
  REQUIRE(chat->value);
  REQUIRE_FALSE(*chat->value);
  CHECK(chat->value->error().message() == told);
  CHECK(f.transport.requests().empty());
  // Without a limit there is none to lower, but one can be set.
  request endless("m");
  endless.user(std::string(40'000, 'q'));
  CHECK(f.caller.would_admit(endless).error().message() ==
        "impossible: 12,052 tokens asked, the pool holds at most 8,192 tokens (reserved for an answer without limit: "
        "2,048); set max_tokens "
        "or raise capacity.tokens to 12,052");
}

TEST_CASE("what admission would say, and nothing changes") {
  call_fixture f(policy({.slots = 1, .tokens = 8'192}));
  CHECK(f.caller.would_admit(question())->at_once);
  CHECK(f.idle());
  f.transport.add(sluice::testing::scripted_exchange::silent());
  const auto chat = f.start(f.caller.chat(question()));
  const auto waits = f.caller.would_admit(question());
  REQUIRE(waits);
  CHECK_FALSE(waits->at_once);
  CHECK(f.waiting() == 0);
  const auto late = f.caller.would_admit(question(), {.deadline = f.gate.now() - 1s});
  REQUIRE_FALSE(late);
  CHECK(late.error().is(errc::deadline_exceeded));
  CHECK(f.caller.would_admit(question(), {.workload = sluice::workload(9)}).error().refusal->reason() ==
        sluice::reason::unknown_class);
  const auto broken = f.caller.would_admit(question(), {.reservation = cost{.tokens = -1}});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().is(errc::invalid_argument));
  f.cancel(chat);
  CHECK(f.caller.would_admit(question())->at_once);
}

TEST_CASE("a question, and the words that answer it") {
  call_fixture f;
  f.transport.add(plain(plain_answer));
  const auto asked = f.start(f.caller.ask("m", "Why is the sky blue?"));
  REQUIRE(asked->value);
  CHECK(*asked->value == "Hi");
  const std::string body = f.transport.requests().front().body();
  CHECK(body.find(R"("content":"Why is the sky blue?")") != std::string::npos);
  CHECK(f.idle());
}

TEST_CASE("what is no plain answer is told, not lost") {
  call_fixture f;
  f.transport.add(plain(R"({"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]})"));
  const auto refused = f.start(f.caller.ask("m", "Why?"));
  REQUIRE(refused->value);
  CHECK(refused->value->error().message() == "the model would not answer: No.");
  CHECK(refused->value->error().partial->refusal == "No.");

  f.transport.add(plain(
      R"({"choices":[{"message":{"content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"f",)"
      R"("arguments":"{}"}}]},)"
      R"("finish_reason":"tool_calls"}]})"));
  const auto calls = f.start(f.caller.ask("m", "Why?"));
  REQUIRE(calls->value);
  CHECK(calls->value->error().partial->tool_calls.front().name == "f");

  f.transport.add(plain(R"({"error":{"message":"bad"}})", 400));
  const auto failed = f.start(f.caller.ask("m", "Why?"));
  REQUIRE(failed->value);
  CHECK(failed->value->error().is(errc::provider_refused));
  CHECK(f.idle());
}

TEST_CASE("a question may be cancelled, and has the options of any call") {
  call_fixture f;
  f.transport.add(sluice::testing::scripted_exchange::silent());
  const auto asked = f.start(f.caller.ask("m", "Why?", {.reservation = cost{.tokens = 321}}));
  CHECK(f.held_tokens() == 321);
  f.cancel(asked);
  CHECK(asked->ended);
  CHECK(f.idle());
}

TEST_CASE("a client by the environment") {
  call_fixture f;
  const auto set = [](const std::string& name) -> std::optional<std::string> {
    if (name == "OPENAI_API_KEY") return "sk-env";
    if (name == "OPENAI_BASE_URL") return "http://server/v2";
    return std::nullopt;
  };
  auto caller = sluice::llm::client::from_env(f.transport, f.gate, set);
  f.transport.add(plain(plain_answer));
  const auto asked = f.start(caller.ask("m", "Why?"));
  REQUIRE(asked->value);
  CHECK(*asked->value == "Hi");
  CHECK(f.transport.requests().front().url() == "http://server/v2/chat/completions");
  const auto empty = [](const std::string&) { return std::nullopt; };
  CHECK_THROWS_WITH_AS(static_cast<void>(sluice::llm::client::from_env(f.transport, f.gate, empty)),
                       doctest::Contains("no provider is set"), sluice::error_exception);
}
