// The same coroutines under a clock that the program moves by hand: an hour's deadline is tested in no time at all.

#include <sluice/sluice.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

asio::awaitable<void> wait_for_room(sluice::bulkhead& gate, std::string& told) {
  auto permit = co_await gate.admit({.tokens = 100}, sluice::batch, {.deadline = gate.in(1h)});
  told = permit ? "admitted" : std::string(to_string(permit.error().reason()));
}

int main() {
  //! [virtual_time]
  asio::io_context context;
  sluice::testing::manual_time_source clock;
  sluice::bulkhead gate(context.get_executor(), sluice::policy({.slots = 1, .tokens = 1'000}), clock);

  auto held = gate.try_admit({.tokens = 1'000}, sluice::interactive);
  std::string told = "still waiting";
  asio::co_spawn(context, wait_for_room(gate, told), asio::detached);

  context.poll();
  clock.advance(59min);
  context.poll();
  std::cout << "after 59 minutes: " << told << '\n';

  clock.advance(1min);
  context.poll();
  std::cout << "after 60 minutes: " << told << '\n';
  //! [virtual_time]
}
