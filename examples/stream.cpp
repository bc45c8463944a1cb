// Streams an answer. While it comes, the permit shrinks to what may still be produced, and others start in the rest.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <iostream>

//! [stream]
asio::awaitable<void> tell(sluice::llm::client& client) {
  sluice::llm::request question("gpt-4o-mini");
  question.user("Tell me about sluices.").limit_output(200);

  auto stream = co_await client.stream(question);
  if (!stream) {
    std::cerr << stream.error().message() << '\n';
    co_return;
  }
  for (;;) {
    auto event = co_await stream->next();
    if (!event) {
      std::cerr << event.error().message() << '\n';  // and what came before it is in event.error().partial
      co_return;
    }
    if (!*event) break;  // the end
    if ((*event)->type == sluice::llm::stream_event::kind::text) std::cout << (*event)->text << std::flush;
  }
  std::cout << '\n' << stream->result().usage.output_tokens << " tokens\n";
}  // destroyed before its end, the stream would close the exchange at once, and give its permit back
//! [stream]

int main() {
  sluice::testing::mock_provider provider;
  provider.reply_with(sluice::testing::mock_reply::text("They let through what the channel below can carry."));

  sluice::runtime runtime(sluice::runtime_options(sluice::policy({.slots = 32, .tokens = 64'000}),
                                                  sluice::llm::client_options(provider.url())));
  runtime.run(tell(runtime.client()));
  std::cout << "in flight " << runtime.gate().statistics().all.in_flight << '\n';
}
