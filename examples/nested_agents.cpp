// An agent as the tool of an agent: both draw from one budget, and the inner one has a cap of its own. Then a pool of
// whole runs with one place: an agent that keeps its place while it waits for another one's is told so at once.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <iostream>
#include <string>
#include <utility>

namespace agent = sluice::agent;
namespace llm = sluice::llm;
using answer = sluice::expected<std::string, sluice::error>;

//! [nested]
// The inner agent: a run below the call that it answers, with a cap of its own.
asio::awaitable<answer> look_up(llm::client& client, agent::toolbox& library, agent::tool_context& call,
                                std::string question) {
  auto run = call.run.child(agent::run_settings("librarian").limit({.tokens = 4'000, .tool_calls = 3}));
  if (!run) co_return sluice::unexpected<sluice::error>(run.error());
  llm::conversation talk("You know where everything is.");
  talk.user(std::move(question));
  agent::loop_options how("gpt-4o-mini");
  const agent::run_result found = co_await agent::run_tools(*run, client, talk, library, std::move(how));
  std::cout << "  " << run->path() << ": " << to_string(found.outcome) << '\n';
  co_await run->leave();
  co_return found.text;
}

void add_librarian(agent::toolbox& tools, llm::client& client, agent::toolbox& library) {
  tools.add(llm::tool("ask_librarian", "Asks somebody who can look things up.",
                      R"({"type":"object","properties":{"question":{"type":"string"}},"required":["question"]})"),
            [&client, &library](agent::tool_context& call, const llm::tool_arguments& args) {
              return look_up(client, library, call, args.get<std::string>("question").value());
            });
}
//! [nested]

asio::awaitable<void> write(sluice::bulkhead& gate, llm::client& client, agent::toolbox& tools) {
  auto run = agent::run_scope::open(gate, agent::run_settings("writer").limit({.tokens = 20'000}));
  llm::conversation talk("You write.");
  talk.user("When was the first sluice built?");
  agent::loop_options how("gpt-4o-mini");
  const agent::run_result result = co_await agent::run_tools(*run, client, talk, tools, std::move(how));
  std::cout << result.text << '\n';
  co_await run->leave();
}

//! [circle]
asio::awaitable<std::string> child_of(agent::run_scope& parent, agent::run_pool& places) {
  auto run = parent.child(agent::run_settings("child"));
  auto place = co_await places.admit(*run);
  co_return place ? "the child had a place" : place.error().message();
}

asio::awaitable<void> one_place(sluice::bulkhead& gate, agent::run_pool& places) {
  auto parent = agent::run_scope::open(gate, agent::run_settings("parent"));
  auto place = co_await places.admit(*parent);
  // Its parent holds the only place, and waits for it: that could never end, and is said at once.
  std::cout << co_await child_of(*parent, places) << '\n';
  // Here the parent lends its place while it waits.
  auto child = child_of(*parent, places);
  auto ended = co_await place->suspended_while(std::move(child));
  std::cout << (ended ? *ended : ended.error().message()) << '\n';
}
//! [circle]

int main() {
  using sluice::testing::mock_reply;
  sluice::testing::mock_provider provider;
  provider.reply_with(mock_reply::tool_call("ask_librarian", R"({"question":"The first sluice?"})"));
  provider.reply_with(mock_reply::tool_call("find", R"({"title":"Locks and sluices"})"));
  provider.reply_with(mock_reply::text("In 1373, at Vreeswijk."));
  provider.reply_with(mock_reply::text("The first one we know of stood at Vreeswijk in 1373."));

  sluice::runtime runtime(
      sluice::runtime_options(sluice::policy({.slots = 1, .tokens = 32'000}), llm::client_options(provider.url())));
  agent::toolbox library(runtime.gate());
  library.add(llm::tool("find", "Finds a book."),
              [](const llm::tool_arguments&) -> asio::awaitable<answer> { co_return std::string("Vreeswijk, 1373."); });
  agent::toolbox tools(runtime.gate());
  add_librarian(tools, runtime.client(), library);
  runtime.run(write(runtime.gate(), runtime.client(), tools));

  agent::run_pool places(runtime.get_executor(), sluice::policy({.slots = 1, .tokens = 0}));
  runtime.run(one_place(runtime.gate(), places));
}
