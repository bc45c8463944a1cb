// Work with a deadline: it starts in time, or is told in time that it will not.

#include <sluice/sluice.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

//! [deadline]
asio::awaitable<void> hurried(sluice::bulkhead& gate) {
  const auto soon = gate.in(50ms);  // one instant, for the queue and for all that follows
  auto permit = co_await gate.admit({.tokens = 800}, sluice::interactive, {.deadline = soon});
  if (!permit) {
    const sluice::decision& why = permit.error().details();
    std::cout << to_string(why.reason) << ": bound by " << to_string(why.bound) << ", " << why.shortfall
              << " tokens short\n";
    co_return;
  }
  std::cout << "started in time\n";
}
//! [deadline]

int main() {
  asio::io_context context;
  sluice::bulkhead gate(context.get_executor(), sluice::policy({.slots = 4, .tokens = 1'000}));

  asio::co_spawn(context, hurried(gate), asio::detached);
  context.run();
  context.restart();

  // Now somebody holds what it needs, for longer than it can wait.
  auto held = gate.try_admit({.tokens = 500}, sluice::batch);
  asio::co_spawn(context, hurried(gate), asio::detached);
  context.run();
}
