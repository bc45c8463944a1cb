// A second attempt beside one that takes too long: the first answer wins, and the other attempt is cancelled and paid
// for.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

//! [hedged_chat]
asio::awaitable<void> ask(sluice::llm::hedge& hedged) {
  sluice::llm::request question("gpt-4o-mini");
  question.user("What is a hedge?").limit_output(50);
  auto answer = co_await hedged.chat(question);
  std::cout << (answer ? answer->text : answer.error().message()) << '\n';
}
//! [hedged_chat]

int main() {
  sluice::testing::mock_provider provider;
  provider.on_request([](const auto&) { return sluice::testing::mock_reply::text("A second chance, planted early."); });
  provider.fail_next(sluice::testing::mock_fault::stall());  // the first request gets stuck

  sluice::runtime runtime(sluice::runtime_options(sluice::policy({.slots = 8, .tokens = 32'000}),
                                                  sluice::llm::client_options(provider.url())));

  //! [hedged]
  sluice::llm::hedge_options options;
  options.quantile = 0.95;  // after what 95 of 100 calls have taken, once enough of them have been seen
  options.after = 50ms;     // and after so long until then
  sluice::llm::hedge hedged(runtime.client(), options);
  //! [hedged]

  runtime.run(ask(hedged));
  const auto counts = hedged.statistics();
  std::cout << "hedges sent " << counts.sent << ", won " << counts.won << ", suppressed " << counts.suppressed << '\n';
  std::cout << "in flight " << runtime.gate().statistics().all.in_flight << '\n';
}
