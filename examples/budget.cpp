// A run pays for all that it starts, and is never overdrawn.

#include <sluice/sluice.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <iostream>

//! [budget]
asio::awaitable<void> answer(sluice::bulkhead& gate) {
  // 10,000 tokens for the whole task, of which 1,000 are kept for its last answer; its research may spend 4,000.
  const auto task = gate.open_run({.limit = {.tokens = 10'000}, .finalise_reserve = {.tokens = 1'000}}).value();
  const auto research =
      gate.open_run({.parent = task, .funding = sluice::run_funding::cap, .limit = {.tokens = 4'000}}).value();

  // Paid for at all levels in one step, before it waits; what it did not use comes back.
  auto first = co_await gate.admit({.tokens = 3'000}, sluice::interactive, {.run = research});
  first->settle({.input_tokens = 1'500, .output_tokens = 1'000});

  auto second = co_await gate.admit({.tokens = 3'000}, sluice::interactive, {.run = research});
  std::cout << (second ? "paid" : second.error().explain()) << '\n';

  gate.close_run(research);
  std::cout << gate.balance(task)->spent.tokens << " spent, " << gate.balance(task)->remaining.tokens << " to spend\n";
  gate.close_run(task);
}
//! [budget]

int main() {
  asio::io_context context;
  sluice::bulkhead gate(context.get_executor(), sluice::policy({.slots = 4, .tokens = 16'000}));
  asio::co_spawn(context, answer(gate), asio::detached);
  context.run();
}
