// Asks a model under admission control. The provider is a mock on loopback, so no key is needed.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

//! [chat]
asio::awaitable<void> ask(sluice::llm::client& client) {
  sluice::llm::request question("gpt-4o-mini");
  question.system("Answer in one sentence.").user("What is a sluice?").limit_output(100);

  // Estimated, admitted, sent, settled by what the provider says it took.
  auto answer = co_await client.chat(question, {.workload = sluice::interactive, .deadline = client.gate().in(30s)});
  if (!answer) {
    std::cerr << answer.error().message() << '\n';
    co_return;
  }
  std::cout << answer->text << " (" << answer->usage.output_tokens << " tokens)\n";
}
//! [chat]

int main() {
  sluice::testing::mock_provider provider;
  provider.reply_with(sluice::testing::mock_reply::text("A gate that lets through what the channel can carry."));

  //! [runtime]
  sluice::policy rules({.slots = 32, .tokens = 64'000});
  sluice::llm::client_options server(provider.url(), "the-api-key");  // or "https://api.openai.com/v1", getenv(...)
  sluice::runtime runtime(sluice::runtime_options(rules, server));
  runtime.run(ask(runtime.client()));
  //! [runtime]

  const auto accounts = runtime.gate().statistics();
  std::cout << "reserved " << accounts.all.reserved_tokens_total << " tokens, used "
            << accounts.all.consumed_tokens_total << ", in flight " << accounts.all.in_flight << '\n';
}
