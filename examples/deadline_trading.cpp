// Answers that are worthless after 300 ms: a second attempt beside one that is stuck, and a refusal before the fact for
// what cannot be in time.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;
namespace agent = sluice::agent;
namespace llm = sluice::llm;

llm::request headline(int number) {
  llm::request question("gpt-4o-mini");
  question.user("Good or bad for shipping: headline " + std::to_string(number)).limit_output(5);
  return question;
}

//! [signal]
asio::awaitable<void> signal(sluice::bulkhead& gate, llm::hedge& desk, int number) {
  auto run = agent::run_scope::open(gate, agent::run_settings("signal").until(gate.in(300ms)));
  auto answer = co_await desk.chat(headline(number), run->call_options());
  std::cout << "headline " << number << ": " << (answer ? answer->text : answer.error().message()) << '\n';
}
//! [signal]

asio::awaitable<sluice::expected<std::string, sluice::error>> report(llm::client& client, agent::run_scope& run,
                                                                     int number) {
  auto answer = co_await client.chat(headline(number), run.call_options());
  if (!answer) co_return sluice::unexpected<sluice::error>(answer.error().why);
  co_return answer->text;
}

//! [before_the_fact]
asio::awaitable<void> too_late(sluice::bulkhead& gate, llm::client& client) {
  // The provider has become slow, and nobody has been told: the gate learns it from what these five take.
  auto reports = agent::run_scope::open(gate, agent::run_settings("reports"));
  agent::task_group<std::string> group(*reports);
  for (int number = 1; number <= 5; ++number) {
    group.start([&client, number](agent::run_scope& own) { return report(client, own, number); });
  }
  const auto done = co_await group.wait();

  auto run = agent::run_scope::open(gate, agent::run_settings("signal").until(gate.in(300ms)));
  auto answer = co_await client.chat(headline(99), run->call_options());
  const bool infeasible =
      !answer && answer.error().refusal && answer.error().refusal->reason() == sluice::reason::infeasible;
  std::cout << done.counts.succeeded << " reports in time enough; a signal "
            << (infeasible ? "was refused before the fact" : "was sent all the same") << '\n';
}
//! [before_the_fact]

int main() {
  sluice::testing::mock_provider provider;
  provider.on_request([](const auto&) { return sluice::testing::mock_reply::text("Good."); });
  provider.fail_next(sluice::testing::mock_fault::stall());  // the first attempt gets stuck

  sluice::runtime fast(
      sluice::runtime_options(sluice::policy({.slots = 8, .tokens = 32'000}), llm::client_options(provider.url())));
  //! [desk]
  llm::hedge_options quick;
  quick.after = 50ms;  // until enough calls have been seen to know better
  llm::hedge desk(fast.client(), quick);
  //! [desk]
  fast.run(signal(fast.gate(), desk, 1));
  std::cout << "second attempts sent " << desk.statistics().sent << ", won " << desk.statistics().won << '\n';

  sluice::testing::provider_model slow;
  slow.latency = 400ms;
  slow.sigma = 0;
  provider.set_model(slow);
  sluice::runtime busy(
      sluice::runtime_options(sluice::policy({.slots = 8, .tokens = 32'000}), llm::client_options(provider.url())));
  busy.run(too_late(busy.gate(), busy.client()));
}
