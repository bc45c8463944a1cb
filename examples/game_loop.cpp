// A game that asks a model what its guard says, sixty frames a second: each frame gives the loop a millisecond and
// never waits. A question that the player has walked away from is replaced, and its exchange is closed.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <asio/io_context.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;
namespace agent = sluice::agent;
namespace llm = sluice::llm;
using line = sluice::expected<std::string, sluice::error>;

//! [guard]
asio::awaitable<line> guard_says(llm::client& client, agent::run_scope& run, int room) {
  llm::request question("gpt-4o-mini");
  question.user("The player is in room " + std::to_string(room) + ". What do you say?").limit_output(20);
  auto said = co_await client.chat(question, run.call_options());
  if (!said) co_return sluice::unexpected<sluice::error>(said.error().why);
  co_return said->text;
}
//! [guard]

int main() {
  sluice::testing::mock_provider provider;
  provider.on_request([](const sluice::testing::mock_request& asked) {
    // It thinks for ever about the first two rooms.
    if (asked.last_text.find("room 3") == std::string::npos) {
      return sluice::testing::mock_reply::failure(sluice::testing::mock_fault::stall());
    }
    return sluice::testing::mock_reply::text("Mind the third step.");
  });

  //! [game]
  asio::io_context loop(1);  // the game's own, on the game's thread
  const auto time = sluice::make_steady_time_source(loop.get_executor());
  sluice::bulkhead gate(loop.get_executor(), sluice::policy({.slots = 4, .tokens = 8'000}), *time);
  const auto transport = sluice::http::make_curl_transport(loop.get_executor(), *time);
  llm::client client(*transport, gate, llm::client_options(provider.url()));

  auto game = agent::run_scope::open(gate, agent::run_settings("game"));
  agent::task_group<std::string> lines(*game);

  int room = 0;
  auto next_frame = std::chrono::steady_clock::now();
  for (int frame = 0; frame < 600; ++frame) {
    if (frame % 6 == 0 && room < 3) {  // the player goes on, and what was asked before is stale
      ++room;
      lines.start_latest("guard", [&client, room](agent::run_scope& own) { return guard_says(client, own, room); });
    }

    loop.restart();
    const auto end = std::chrono::steady_clock::now() + 1ms;
    while (std::chrono::steady_clock::now() < end && loop.poll_one() > 0) {
    }

    // The line of a guard who was asked again comes as `errc::cancelled`, if at all.
    if (const auto said = lines.poll("guard"); said && *said) {
      std::cout << "room " << room << ": " << **said << '\n';
      break;
    }
    next_frame += 16'667us;
    std::this_thread::sleep_until(next_frame);  // the frame is drawn here
  }
  //! [game]

  const bool closed = provider.wait_until([](const auto& stats) { return stats.cancelled == 2; });
  std::cout << (closed ? "two stale questions were closed" : "a stale question goes on") << '\n';
}
