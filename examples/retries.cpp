// A provider that is overloaded, asks to slow down, fails, and then answers; and one that is down while twenty callers
// want it.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <asio.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;
using sluice::testing::mock_fault;

//! [observer]
void tell(const sluice::llm::attempt_record& seen) {
  std::cout << "attempt " << seen.number << " (" << to_string(seen.kind) << "): ";
  if (!seen.code) {
    std::cout << "answered\n";
  } else {
    std::cout << seen.code.message() << (seen.again_in ? "; again" : "; no more") << '\n';
  }
}
//! [observer]

asio::awaitable<void> ask(sluice::llm::client& client, int& answered) {
  sluice::llm::request question("the-model");
  question.user("Are you there?").limit_output(20);
  auto answer = co_await client.chat(question, {.deadline = client.gate().in(30s)});
  if (answer) ++answered;
}

int main() {
  sluice::testing::mock_provider provider;
  asio::io_context context;

  //! [retries]
  sluice::policy rules({.slots = 8, .tokens = 32'000});
  rules.retries.share = 0.2;  // second attempts take at most a fifth of what first ones take, whoever makes them
  sluice::bulkhead gate(context.get_executor(), rules);

  sluice::llm::client_options server(provider.url(), "the-api-key");
  server.retry.max_attempts = 4;
  server.retry.first_backoff = 10ms;  // random up to this, then up to twice, four times, ... as much
  server.observer = tell;
  //! [retries]

  const auto over = sluice::http::make_curl_transport(context.get_executor(), gate.time());
  sluice::llm::client client(*over, gate, server);
  provider.fail_next(mock_fault::status(503));
  provider.fail_next(mock_fault::rate_limited_ms(20ms));
  provider.fail_next(mock_fault::status(500));
  int answered = 0;
  asio::co_spawn(context, ask(client, answered), asio::detached);
  context.run();
  std::cout << answered << " of 1 answered\n";

  server.observer = nullptr;
  sluice::bulkhead other_gate(context.get_executor(), rules);
  sluice::llm::client hopeful(*over, other_gate, server);
  provider.fail_rate(1.0, mock_fault::status(500));
  const auto before = provider.stats().received;
  for (int n = 0; n < 20; ++n) asio::co_spawn(context, ask(hopeful, answered), asio::detached);
  context.restart();
  context.run();
  const auto sent = provider.stats().received - before;
  std::cout << "20 callers, a provider that fails: " << (sent <= 24 ? "at most 24" : "too many") << " requests\n";
}
