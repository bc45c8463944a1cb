// Two hundred summaries and a chat on one budget: the summaries take what they may have, and the chat never waits for
// them. With `--times` it prints how long the chat's turns took, alone and beside the summaries.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <asio/co_spawn.hpp>
#include <asio/use_future.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace agent = sluice::agent;
namespace llm = sluice::llm;
using text = sluice::expected<std::string, sluice::error>;
using clock_type = std::chrono::steady_clock;

//! [shared_capacity]
sluice::policy shared_capacity() {
  sluice::policy rules({.slots = 8, .tokens = 32'000});
  rules[sluice::batch].ceiling = {.slots = 7, .tokens = 28'000};  // the last slot is never the summaries'
  return rules;
}
//! [shared_capacity]

//! [summaries]
asio::awaitable<text> summarise(llm::client& client, agent::run_scope& run, int number) {
  llm::request question("gpt-4o-mini");
  question.user("Sum up document " + std::to_string(number) + ".").limit_output(60);
  auto summary = co_await client.chat(question, run.call_options());
  if (!summary) co_return sluice::unexpected<sluice::error>(summary.error().why);
  co_return summary->text;
}

asio::awaitable<std::size_t> all_summaries(sluice::bulkhead& gate, llm::client& client) {
  auto run = agent::run_scope::open(gate, agent::run_settings("summaries").as(sluice::batch));
  agent::task_group<std::string> group(*run, {.width = 32});
  for (int number = 1; number <= 200; ++number) {
    group.start([&client, number](agent::run_scope& own) { return summarise(client, own, number); });
  }
  const auto done = co_await group.wait();
  co_return done.counts.succeeded;
}
//! [summaries]

asio::awaitable<std::vector<double>> chat(llm::client& client) {
  std::vector<double> seconds;
  llm::conversation talk;
  for (int turn = 0; turn < 20; ++turn) {
    talk.user("And then?");
    const auto begun = clock_type::now();
    auto answer = co_await client.chat(talk.request_for("gpt-4o-mini").limit_output(20));
    if (!answer) {
      std::cerr << answer.error().message() << '\n';
      break;
    }
    seconds.push_back(std::chrono::duration<double>(clock_type::now() - begun).count());
    talk.add(*answer);
  }
  co_return seconds;
}

double p95(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of.empty() ? 0 : of[of.size() * 95 / 100];
}

int main(int count, char** arguments) {
  sluice::testing::provider_model speed;
  speed.slots = 8;
  speed.sigma = 0;  // a provider that is no slower for being busy
  speed.time_scale = 4;
  sluice::testing::mock_provider provider(speed);
  sluice::runtime runtime(sluice::runtime_options(shared_capacity(), llm::client_options(provider.url())));

  const auto alone = runtime.run(chat(runtime.client()));
  auto summaries =
      asio::co_spawn(runtime.get_executor(), all_summaries(runtime.gate(), runtime.client()), asio::use_future);
  const auto beside = runtime.run(chat(runtime.client()));
  const std::size_t done = summaries.get();

  const auto accounts = runtime.gate().statistics();
  std::cout << done << " summaries, " << beside.size() << " turns of the chat beside them\n"
            << accounts[sluice::interactive].admitted_after_wait_total << " of its turns waited for capacity\n";
  if (count > 1 && std::string_view(arguments[1]) == "--times") {
    std::cout << "p95 of a turn: " << p95(alone) << " s alone, " << p95(beside) << " s beside the summaries\n";
  }
}
