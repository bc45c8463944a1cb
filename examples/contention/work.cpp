#include "work.hpp"

#include "prompt.hpp"

#include <sluice/llm/request.hpp>

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace contention {
namespace {

using namespace std::chrono_literals;

constexpr int most_turns = 4;
constexpr std::int64_t tool_result_tokens = 80;

double seconds_between(sluice::instant from, sluice::instant to) {
  return std::chrono::duration<double>(to - from).count();
}

// The work of the tool itself: it takes time, but nothing of the provider's, so no permit is held.
asio::awaitable<std::string> look_up() {
  asio::steady_timer timer(co_await asio::this_coro::executor, 200ms);
  co_await timer.async_wait(asio::use_awaitable);
  co_return words(tool_result_tokens);
}

}  // namespace

asio::awaitable<void> chat(caller& calls, const provider& server, job size, tally& notes) {
  ++notes.started;
  const auto begun = calls.gate().now();
  sluice::llm::request asked(server.model());
  asked.user("Answer in about " + std::to_string(size.output_tokens) + " words. " + words(size.input_tokens));
  asked.limit_output(output_room(size.output_tokens));
  server.tell_size(asked, size);

  const sluice::llm::call_options how{.workload = sluice::interactive, .deadline = calls.gate().in(10s)};
  const auto got = co_await calls.ask(std::move(asked), how, delivery::streamed, notes);
  if (!got) {
    notes.piece_failed(got.error());
    co_return;
  }
  notes.piece_succeeded(seconds_between(begun, calls.gate().now()));
  if (got->first_token != sluice::never) notes.first_tokens.push_back(seconds_between(begun, got->first_token));
}

asio::awaitable<void> agent_run(caller& calls, const provider& server, job size, tally& notes) {
  ++notes.started;
  const auto begun = calls.gate().now();
  const sluice::llm::call_options how{.workload = sluice::batch, .deadline = calls.gate().in(120s)};

  sluice::llm::request asked(server.model());
  asked.system("You work through documents. Look things up before you answer, in about " +
               std::to_string(size.output_tokens) + " words.");
  asked.user(words(size.input_tokens));
  asked.with_tool(sluice::llm::tool("look_up", "Finds a passage.",
                                    R"({"type":"object","properties":{"query":{"type":"string"}}})"));
  asked.limit_output(output_room(size.output_tokens));
  server.tell_size(asked, size);

  for (int turn = 1; turn <= most_turns; ++turn) {
    // It must look something up first, and must come to an end in its last turn.
    asked.choose(turn == 1            ? sluice::llm::tool_choice::required
                 : turn == most_turns ? sluice::llm::tool_choice::none
                                      : sluice::llm::tool_choice::automatic);
    const auto got = co_await calls.ask(asked, how, delivery::whole, notes);
    if (!got) {
      notes.piece_failed(got.error());
      co_return;
    }
    const auto& reply = got->reply;
    if (reply.tool_calls.empty()) break;
    asked.assistant(reply);
    for (const auto& call : reply.tool_calls) {
      auto found = co_await look_up();
      asked.tool_result(call.id, call.valid ? std::move(found) : call.problem);
    }
  }
  notes.piece_succeeded(seconds_between(begun, calls.gate().now()));
}

}  // namespace contention
