// Tenants of one class share it by weight, whoever asks first and most.

#include <sluice/sluice.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <iostream>
#include <string>

//! [tenants]
sluice::policy shared_policy() {
  sluice::policy rules({.slots = 1, .tokens = 4'000});
  sluice::tenant_policy acme("acme");
  acme.weight = 2;                            // twice the tokens of the others while both have work waiting
  acme.rates.requests = {.per_minute = 600};  // and what it may send in a minute, whatever is free
  rules.tenants.push_back(acme);
  rules.other_tenants.rates.input_tokens = {.per_minute = 100'000};
  return rules;
}

asio::awaitable<void> ask(sluice::bulkhead& gate, std::string who) {
  auto permit = co_await gate.admit({.tokens = 1'000}, sluice::interactive, {.tenant = sluice::tenant(who)});
  if (permit) std::cout << who << ' ';
}
//! [tenants]

int main() {
  asio::io_context context;
  sluice::bulkhead gate(context.get_executor(), shared_policy());

  // Somebody holds the only slot; bolt queues six requests before acme queues its six.
  auto held = gate.try_admit({.tokens = 1'000}, sluice::batch);
  for (const char* who : {"bolt", "acme"}) {
    for (int i = 0; i < 6; ++i) asio::co_spawn(context, ask(gate, who), asio::detached);
    context.poll();
  }
  held->release();
  context.run();
  std::cout << '\n';
}
