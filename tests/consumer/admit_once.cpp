// A user's whole program: asks once for admission, says what came of it, and leaves nothing behind.
#include <sluice/sluice.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace {

asio::awaitable<void> answer(sluice::bulkhead& gate) {
  auto permit = co_await gate.admit({.tokens = 1'600}, sluice::interactive);
  if (!permit) {
    std::cout << permit.error().explain() << '\n';
    co_return;
  }
  std::cout << "admitted 1600 tokens of " << gate.current_policy().total.tokens << '\n';
}

}  // namespace

int main() {
  asio::io_context context;
  sluice::bulkhead gate(context.get_executor(), sluice::policy({.slots = 4, .tokens = 8'000}));
  std::exception_ptr failure;
  asio::co_spawn(context, answer(gate), [&](std::exception_ptr thrown) { failure = thrown; });
  context.run();
  return failure ? 1 : 0;
}
