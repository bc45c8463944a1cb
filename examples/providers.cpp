// Two providers as one: the second answers when the first fails, and the first is left alone until it has had its rest.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <iostream>
#include <utility>
#include <vector>

using sluice::testing::mock_fault;
using sluice::testing::mock_provider;
using sluice::testing::mock_reply;

//! [providers]
asio::awaitable<void> ask(sluice::llm::router& providers, int times) {
  sluice::llm::request question("small");
  question.user("What is a sluice?").limit_output(50);
  for (int i = 0; i < times; ++i) {
    auto answer = co_await providers.chat(question);  // goes on to the next provider when one could not answer
    std::cout << (answer ? answer->text : answer.error().message()) << '\n';
  }
}
//! [providers]

int main() {
  mock_provider near;
  mock_provider far;
  near.fail_next(mock_fault::status(500), 3);
  near.on_request([](const auto&) { return mock_reply::text("near: a gate for water"); });
  far.on_request([](const auto& asked) { return mock_reply::text("far: " + asked.model + " says a gate for water"); });

  // Each service has a gate of its own: when one of them asks for a pause, the other one goes on.
  const sluice::policy rules({.slots = 8, .tokens = 32'000});
  sluice::runtime runtime(sluice::runtime_options(rules, sluice::llm::client_options(near.url())));
  sluice::bulkhead far_gate(runtime.get_executor(), rules, runtime.time());
  sluice::llm::client far_client(runtime.transport(), far_gate, sluice::llm::client_options(far.url()));

  //! [router]
  sluice::llm::provider first("near", runtime.client());
  sluice::llm::provider second("far", far_client);
  second.with_model("small", "vendor/small-1");  // the same model, by another name
  sluice::llm::router_options options;
  options.health.failures = 3;                           // after three failures in a row
  options.health.first_rest = std::chrono::minutes(10);  // it is left alone for so long
  sluice::llm::router providers({first, second}, options);
  //! [router]

  runtime.run(ask(providers, 4));
  for (const auto& each : providers.statistics()) {
    std::cout << each.name << ": " << to_string(each.state) << ", asked " << each.calls << ", answered "
              << each.answered << ", failed " << each.failed << '\n';
  }
}
