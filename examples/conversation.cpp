// A conversation with a tool: the model asks for the weather, is told that it asked wrongly, asks again, and answers.
// The provider is a mock on loopback, so no key is needed.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

namespace llm = sluice::llm;

//! [tool]
// The result of a call; what is wrong with its arguments is said in words that the model can act on.
sluice::expected<std::string, sluice::error> weather(const llm::tool_call& call) {
  const llm::tool_arguments args(call);
  const auto city = args.get<std::string>("city");
  if (!city) return sluice::unexpected<sluice::error>(city.error());
  const auto days = args.get<std::optional<std::int64_t>>("days");
  if (!days) return sluice::unexpected<sluice::error>(days.error());
  return "Snow in " + *city + " for " + std::to_string(days->value_or(1)) + " days.";
}
//! [tool]

//! [conversation]
asio::awaitable<void> plan_a_trip(llm::client& client) {
  const llm::tool forecast("weather", "The weather of the coming days.",
                           R"({"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}})");
  llm::conversation talk("Answer in one sentence.");
  talk.user("What will the weather be like in Oslo?");

  for (;;) {
    talk.trim(16'000);
    auto answer = co_await client.chat(talk.request_for("gpt-4o-mini").with_tool(forecast));
    if (!answer) {
      std::cerr << answer.error().message() << '\n';
      co_return;
    }
    talk.add(*answer);
    if (answer->tool_calls.empty()) break;
    for (const llm::tool_call& call : answer->tool_calls) {
      const auto result = weather(call);
      const std::string said = result ? *result : result.error().message();
      std::cout << call.name << call.arguments << " -> " << said << '\n';
      talk.tool_result(call, said, !result);
    }
  }
  std::cout << talk.messages().back().text << '\n';
  std::cout << talk.messages().size() << " messages, about " << talk.tokens("gpt-4o-mini") << " tokens\n";
}
//! [conversation]

//! [ask]
asio::awaitable<void> ask(llm::client& client) {
  auto answer = co_await client.ask("gpt-4o-mini", "Why is snow white?");
  std::cout << (answer ? *answer : answer.error().message()) << '\n';
}
//! [ask]

int main() {
  sluice::testing::mock_provider provider;
  provider.reply_with(sluice::testing::mock_reply::tool_call("weather", R"({"city":"Oslo","days":"three"})"));
  provider.reply_with(sluice::testing::mock_reply::tool_call("weather", R"({"city":"Oslo","days":3})"));
  provider.reply_with(sluice::testing::mock_reply::text("It will snow in Oslo for three days."));
  provider.reply_with(sluice::testing::mock_reply::text("Its crystals scatter all colours alike."));

  const sluice::policy rules({.slots = 8, .tokens = 64'000});
  sluice::runtime runtime(sluice::runtime_options(rules, llm::client_options(provider.url())));
  runtime.run(plan_a_trip(runtime.client()));
  runtime.run(ask(runtime.client()));
}
