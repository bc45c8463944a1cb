// Asks for admission, does the work, and gives back what it did not use.

#include <sluice/sluice.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <iostream>

struct answer {
  std::int64_t in = 0;
  std::int64_t out = 0;
};

// Stands for any call of a model.
asio::awaitable<answer> call_model() { co_return answer{1'150, 180}; }

//! [admit]
asio::awaitable<void> answer_one(sluice::bulkhead& gate) {
  // 1,200 tokens of prompt and up to 400 of answer: waits for room, or is told why there will be none.
  auto permit = co_await gate.admit({.tokens = 1'600, .output_tokens = 400}, sluice::interactive);
  if (!permit) {
    std::cerr << permit.error().explain() << '\n';
    co_return;
  }
  auto reply = co_await call_model();
  permit->settle({.input_tokens = reply.in, .output_tokens = reply.out});  // what was not used goes to others
}  // had it not been settled, the destructor would have given back all of it
//! [admit]

int main() {
  asio::io_context context;
  //! [gate]
  sluice::policy rules({.slots = 32, .tokens = 64'000});  // what the provider carries at once
  sluice::bulkhead gate(context.get_executor(), rules);
  //! [gate]

  asio::co_spawn(context, answer_one(gate), asio::detached);
  context.run();

  const auto accounts = gate.statistics();
  std::cout << "admitted " << accounts.all.admitted_total << ", used " << accounts.all.consumed_tokens_total << " of "
            << accounts.all.reserved_tokens_total << " tokens, " << accounts.all.refunded_tokens_total
            << " given back, in flight " << accounts.all.in_flight << '\n';

  // More than there will ever be is refused at once, with the numbers and the knob.
  const auto too_much = gate.try_admit({.tokens = 100'000}, sluice::batch);
  std::cout << too_much.error().explain() << '\n';
}
