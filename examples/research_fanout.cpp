// Fifty researchers side by side: thirty answers are enough, the others are cancelled, and the last answer is paid out
// of what was kept for it. The provider is a mock on loopback that never answers twenty of them.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

using namespace std::chrono_literals;
namespace agent = sluice::agent;
namespace llm = sluice::llm;
using finding = sluice::expected<std::string, sluice::error>;

//! [research_task]
// One researcher, in a run of its own below the whole.
asio::awaitable<finding> research(llm::client& client, agent::run_scope& run, int page) {
  llm::request question("gpt-4o-mini");
  question.user("Sum up page " + std::to_string(page) + ".").limit_output(100);
  auto found = co_await client.chat(question, run.call_options());
  if (!found) co_return sluice::unexpected<sluice::error>(found.error().why);
  co_return std::move(found->text);
}
//! [research_task]

//! [research]
asio::awaitable<void> report(sluice::bulkhead& gate, llm::client& client) {
  auto run = agent::run_scope::open(gate, agent::run_settings("report")
                                              .limit({.calls = 51})
                                              .keep_for_last_answer({.calls = 1})
                                              .as(sluice::batch)
                                              .until(gate.in(60s)));
  if (!run) {
    std::cerr << run.error().message() << '\n';
    co_return;
  }

  agent::task_group<std::string> pages(*run, {.rule = agent::group_rule::quorum, .quorum = 30, .width = 50});
  for (int page = 1; page <= 50; ++page) {
    pages.start([&client, page](agent::run_scope& own) { return research(client, own, page); });
  }
  const auto found = co_await pages.wait();
  std::cout << found.counts.succeeded << " found, " << found.counts.cancelled << " cancelled\n";

  llm::request last("gpt-4o-mini");
  for (const auto& each : found.outcomes) {
    if (each) last.user(*each);
  }
  last.user("Make one sentence of it.").limit_output(100);
  auto refused = co_await client.chat(last, run->call_options());
  std::cout << (refused ? refused->text : refused.error().message()) << '\n';
  auto answer = co_await client.chat(last, run->call_options(true));  // out of what was kept
  std::cout << (answer ? answer->text : answer.error().message()) << '\n';

  co_await run->leave();
}
//! [research]

int main() {
  sluice::testing::mock_provider provider;
  provider.on_request([](const sluice::testing::mock_request& asked) {
    if (asked.messages > 1) return sluice::testing::mock_reply::text("Thirty pages agree.");
    const int page = std::stoi(asked.last_text.substr(asked.last_text.find("page ") + 5));
    if (page % 5 >= 3) return sluice::testing::mock_reply::failure(sluice::testing::mock_fault::stall());
    return sluice::testing::mock_reply::text("Page " + std::to_string(page) + " agrees.");
  });
  sluice::runtime runtime(
      sluice::runtime_options(sluice::policy({.slots = 64, .tokens = 64'000}), llm::client_options(provider.url())));
  runtime.run(report(runtime.gate(), runtime.client()));
  std::cout << "in flight " << runtime.gate().statistics().all.in_flight << '\n';
}
