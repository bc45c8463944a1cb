// Two classes share four slots. Batch borrows what is idle, and gives it back when somebody is waiting for an answer.

#include <sluice/sluice.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

//! [policy]
sluice::policy shared_policy() {
  sluice::policy rules({.slots = 4, .tokens = 8'000});
  rules[sluice::interactive].floor = {.slots = 3, .tokens = 6'000};  // protected; lent while it is idle
  rules[sluice::interactive].restore_within = 20ms;                  // and back in this time when it is wanted
  rules[sluice::batch].floor = {.slots = 1, .tokens = 2'000};        // batch always keeps one
  return rules;
}
//! [policy]

//! [run]
asio::awaitable<void> document(sluice::bulkhead& gate, int number) {
  int attempt = 0;
  auto read = [&](sluice::permit&) -> asio::awaitable<void> {
    ++attempt;
    asio::steady_timer work(co_await asio::this_coro::executor, 500ms);  // the exchange with the provider
    co_await work.async_wait(asio::use_awaitable);
  };
  // Runs under guard: when the slot is wanted back, `read` is cancelled, queued again with its age, and called once
  // more.
  auto done = co_await gate.run({.tokens = 2'000}, sluice::batch, read);
  if (!done) std::cout << done.error().explain() << '\n';
  if (done && attempt > 1) std::cout << "document " << number << " was interrupted, and finished all the same\n";
}
//! [run]

asio::awaitable<void> chat(sluice::bulkhead& gate) {
  auto permit = co_await gate.admit({.tokens = 2'000}, sluice::interactive);
  std::cout << (permit ? "the chat got its slot back" : permit.error().explain()) << '\n';
}

int main() {
  asio::io_context context;
  sluice::bulkhead gate(context.get_executor(), shared_policy());

  // Nobody chats: batch takes all four slots, three of them borrowed.
  for (int number = 1; number <= 4; ++number) asio::co_spawn(context, document(gate, number), asio::detached);
  context.poll();
  std::cout << "batch holds " << gate.statistics()[sluice::batch].held.slots << " slots, "
            << gate.statistics()[sluice::batch].borrowed.slots << " of them borrowed\n";

  asio::co_spawn(context, chat(gate), asio::detached);
  context.run();
  const auto& batch = gate.statistics()[sluice::batch];
  std::cout << "batch: " << batch.admitted_total << " admissions, " << batch.preempted_total << " preempted\n";
}
