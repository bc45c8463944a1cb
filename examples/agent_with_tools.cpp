// An agent with tools: it looks two cities up at once, is told what it asked wrongly and what it may not do, asks again
// and answers. Everything it does is paid by one run. The provider is a mock on loopback, so no key is needed.

//! [agent_names]
#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>

using namespace std::chrono_literals;
namespace agent = sluice::agent;
namespace llm = sluice::llm;
// What a handler gives: the text for the model, or an error.
using answer = sluice::expected<std::string, sluice::error>;
//! [agent_names]

//! [agent_tools]
void add_tools(agent::toolbox& tools) {
  // The arguments have passed the schema before the handler runs; a call that has not is told to the model.
  tools.add(llm::tool("weather", "The weather of the coming days.",
                      R"({"type":"object","properties":{"city":{"type":"string"},
                          "days":{"type":"integer","minimum":1}},"required":["city"]})"),
            [](const llm::tool_arguments& args) -> asio::awaitable<answer> {
              co_return "Snow in " + args.get<std::string>("city").value() + ".";
            });
  tools.add(llm::tool("trains", "Trains to a city.",
                      R"({"type":"object","properties":{"to":{"type":"string"}},"required":["to"]})"),
            [](const llm::tool_arguments& args) -> asio::awaitable<answer> {
              co_return "Two trains a day to " + args.get<std::string>("to").value() + ".";
            },
            {.concurrency = 2, .timeout = 5s, .calls_per_run = 10});
  tools.add(llm::tool("book", "Books a train.", R"({"type":"object","properties":{"to":{"type":"string"}}})"),
            [](const llm::tool_arguments&) -> asio::awaitable<answer> {
              co_return sluice::unexpected<sluice::error>(sluice::error(sluice::errc::refused, "it is full"));
            });
}
//! [agent_tools]

//! [agent_hook]
// Asked before each call that fits its schema, and before it is paid for. The model is told the error's message.
asio::awaitable<sluice::expected<void, sluice::error>> may_call(agent::run_scope&, const llm::tool_call& call) {
  if (call.name == "book") {
    co_return sluice::unexpected<sluice::error>(sluice::error(sluice::errc::refused, "only people may book"));
  }
  co_return sluice::expected<void, sluice::error>();
}
//! [agent_hook]

//! [agent_run]
asio::awaitable<void> plan(sluice::bulkhead& gate, llm::client& client, agent::toolbox& tools) {
  // What all of it may spend, and by when; some of both is kept for the last answer.
  auto run = agent::run_scope::open(gate, agent::run_settings("trip")
                                              .limit({.tokens = 20'000, .calls = 10, .tool_calls = 12})
                                              .keep_for_last_answer({.tokens = 1'000, .calls = 1}, 5s)
                                              .until(gate.in(60s)));
  if (!run) {
    std::cerr << run.error().message() << '\n';
    co_return;
  }
  llm::conversation talk("Answer in one sentence.");
  talk.user("Oslo or Bergen?");

  agent::loop_options how("gpt-4o-mini");
  how.hooks.before = may_call;
  how.on_event = [](const agent::loop_event& event) {
    if (event.type != agent::loop_event::kind::tool_finished) return;
    std::cout << event.result->call.name << event.result->call.arguments << " -> " << event.result->text << '\n';
  };
  const agent::run_result result = co_await agent::run_tools(*run, client, talk, tools, std::move(how));

  std::cout << result.text << '\n'
            << to_string(result.outcome) << " after " << result.turns << " turns and " << result.tool_calls
            << " tool calls\n";
  co_await run->leave();
}
//! [agent_run]

//! [agent_main]
int main() {
  using sluice::testing::mock_reply;
  sluice::testing::mock_provider provider;
  provider.reply_with(mock_reply::text("Let me see.")
                          .with_tool_call("weather", R"({"city":"Oslo","days":"three"})")
                          .with_tool_call("trains", R"({"to":"Bergen"})"));
  provider.reply_with(mock_reply::tool_call("weather", R"({"city":"Oslo","days":3})"));
  provider.reply_with(mock_reply::tool_call("book", R"({"to":"Bergen"})"));
  provider.reply_with(mock_reply::text("Bergen, by one of two trains: it snows in Oslo."));

  sluice::runtime runtime(
      sluice::runtime_options(sluice::policy({.slots = 8, .tokens = 64'000}), llm::client_options(provider.url())));
  agent::toolbox tools(runtime.gate());
  add_tools(tools);
  runtime.run(plan(runtime.gate(), runtime.client(), tools));
}
//! [agent_main]
