// The same question to three providers, each in its own dialect. They are a mock on loopback, so no key is needed.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <asio.hpp>

#include <iostream>

//! [weather]
asio::awaitable<void> ask_for_weather(sluice::llm::client& client) {
  sluice::llm::request question("the-model");
  question.system("Use the tool.").user("What is the weather in Delft?").limit_output(200);
  question.with_tool(
      sluice::llm::tool("weather", "The weather in a city now.",
                        R"({"type":"object","properties":{"city":{"type":"string"}},"required":["city"]})"));

  auto answer = co_await client.chat(question);
  while (answer && !answer->tool_calls.empty()) {
    question.assistant(*answer);  // with all that its provider wants to see again
    for (const auto& call : answer->tool_calls) {
      std::cout << call.name << ' ' << call.arguments << '\n';
      question.tool_result(call.id, "14 degrees, rain");
    }
    answer = co_await client.chat(question);
  }
  std::cout << (answer ? answer->text : answer.error().message()) << '\n';
}
//! [weather]

int main() {
  using sluice::testing::mock_reply;
  sluice::testing::mock_provider provider;
  provider.reply_when([](const auto& asked) { return asked.last_role != "tool"; },
                      mock_reply::tool_call("weather", R"({"city":"Delft"})"));
  provider.reply_when([](const auto& asked) { return asked.last_role == "tool"; },
                      mock_reply::text("It rains in Delft, at 14 degrees."));

  asio::io_context context;
  sluice::bulkhead gate(context.get_executor(), sluice::policy({.slots = 4, .tokens = 16'000}));
  const auto over = sluice::http::make_curl_transport(context.get_executor(), gate.time());
  const std::string url =
      provider.url();  // in production "https://api.openai.com/v1", "https://api.anthropic.com/v1", ...
  const std::string key = "the-api-key";

  //! [openai_chat]
  sluice::llm::client_options chat(url, key);  // OpenAI's chat completions, and vLLM, llama.cpp, Ollama, ...
  chat.output_limit = sluice::llm::output_limit_field::max_tokens;  // what most of the others call it
  //! [openai_chat]

  //! [openai_responses]
  sluice::llm::client_options responses(sluice::llm::dialect::openai_responses, url, key);
  //! [openai_responses]

  //! [anthropic_messages]
  sluice::llm::client_options messages(sluice::llm::dialect::anthropic_messages, url, key);
  messages.default_max_tokens = 1'024;  // for requests that set no limit: this dialect wants one
  //! [anthropic_messages]

  for (const auto& options : {chat, responses, messages}) {
    std::cout << to_string(options.spoken) << ":\n";
    sluice::llm::client client(*over, gate, options);
    asio::co_spawn(context, ask_for_weather(client), asio::detached);
    context.restart();
    context.run();
  }
}
