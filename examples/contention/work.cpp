#include "work.hpp"

#include "prompt.hpp"

#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/run_tools.hpp>
#include <sluice/llm/conversation.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/runtime/sleep.hpp>

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

// What an agent's loop asks, with the attempts that each call takes in this arm.
class agent_calls {
 public:
  agent_calls(caller& calls, tally& notes) : calls_(calls), notes_(notes) {}

  asio::awaitable<sluice::expected<sluice::llm::reply, sluice::llm::failure>> chat(sluice::llm::request what,
                                                                                   sluice::llm::call_options how) {
    auto got = co_await calls_.ask(std::move(what), how, delivery::whole, notes_);
    if (!got) co_return sluice::unexpected<sluice::llm::failure>(std::move(got).error());
    co_return std::move(got->reply);
  }
  asio::awaitable<sluice::expected<sluice::llm::stream, sluice::llm::failure>> stream(sluice::llm::request what,
                                                                                      sluice::llm::call_options how) {
    return calls_.client().stream(std::move(what), how);
  }
  sluice::expected<sluice::cost, sluice::llm::failure> estimate(const sluice::llm::request& what,
                                                                const sluice::llm::call_options& how) const {
    return calls_.client().estimate(what, how);
  }
  sluice::bulkhead& gate() const { return calls_.gate(); }

 private:
  caller& calls_;
  tally& notes_;
};

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

void add_tools(sluice::agent::toolbox& tools) {
  // The work of the tool itself: it takes time, but nothing of the provider's, so no permit is held.
  auto look_up =
      [](sluice::agent::tool_context& call,
         const sluice::llm::tool_arguments&) -> asio::awaitable<sluice::expected<std::string, sluice::error>> {
    auto& gate = call.run.gate();
    co_await sluice::sleep_until(gate.time(), gate.in(200ms));
    co_return words(tool_result_tokens);
  };
  tools.add(
      sluice::llm::tool("look_up", "Finds a passage.", R"({"type":"object","properties":{"query":{"type":"string"}}})"),
      std::move(look_up));
}

asio::awaitable<void> agent_run(caller& calls, const provider& server, sluice::agent::toolbox& tools, job size,
                                tally& notes) {
  ++notes.started;
  const auto begun = calls.gate().now();
  auto run = sluice::agent::run_scope::open(
      calls.gate(), sluice::agent::run_settings("agent").as(sluice::batch).until(calls.gate().in(120s)));
  if (!run) {
    notes.piece_failed(sluice::llm::failure(std::move(run).error()));
    co_return;
  }

  sluice::llm::conversation talk("You work through documents. Look things up before you answer, in about " +
                                 std::to_string(size.output_tokens) + " words.");
  talk.user(words(size.input_tokens));
  sluice::llm::request asked(server.model());
  asked.choose(sluice::llm::tool_choice::required).limit_output(output_room(size.output_tokens));
  server.tell_size(asked, size);
  sluice::agent::loop_options how(std::move(asked));
  how.max_turns = most_turns;

  agent_calls model(calls, notes);
  const auto result = co_await sluice::agent::run_tools(*run, model, talk, tools, std::move(how));
  co_await run->leave();
  // An answer that was asked for in the last turn is one, too.
  if (result.outcome == sluice::agent::run_outcome::complete || result.finalised) {
    notes.piece_succeeded(seconds_between(begun, calls.gate().now()));
  } else {
    const sluice::error why(sluice::errc::deadline_exceeded, result.explanation);
    notes.piece_failed(result.why ? *result.why : sluice::llm::failure(why));
  }
}

}  // namespace contention
