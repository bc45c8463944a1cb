// What the runtime of agents costs on top of the bare client, which is asked the same in a plain loop.
#include "clocks.hpp"
#include "subject.hpp"
#include "table.hpp"

#include <sluice/agent/run_tools.hpp>
#include <sluice/agent/toolbox.hpp>
#include <sluice/llm/client.hpp>
#include <sluice/llm/conversation.hpp>
#include <sluice/testing/scripted_transport.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace bars {
namespace {

namespace agent = sluice::agent;
namespace llm = sluice::llm;
using sluice::testing::scripted_exchange;

constexpr std::size_t runs = 1'000;
constexpr int turns_with_tools = 10;
constexpr int calls_a_turn = 4;
constexpr int turns = turns_with_tools + 1;

// What is allowed, of a turn and of a live run.
double allowed_time() { return 20; }
double allowed_memory() { return 4'096; }

int turns_so_far(std::string_view body) {
  constexpr std::string_view mark = R"("role":"assistant")";
  int count = 0;
  for (std::size_t at = body.find(mark); at != body.npos; at = body.find(mark, at + mark.size())) ++count;
  return count;
}

std::string answer_after(int so_far) {
  std::string message = R"("content":"It is 7.")";
  std::string finish = "stop";
  if (so_far < turns_with_tools) {
    message = R"("content":null,"tool_calls":[)";
    for (int i = 0; i < calls_a_turn; ++i) {
      const std::string number = std::to_string(so_far * calls_a_turn + i);
      message += (i == 0 ? "" : ",") + std::string(R"({"id":"t)") + number +
                 R"(","type":"function","function":{"name":"lookup","arguments":"{\"key\":\"k)" + number + R"(\"}"}})";
    }
    message += "]";
    finish = "tool_calls";
  }
  return R"({"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant",)" + message +
         R"(},"finish_reason":")" + finish + R"("}],"usage":{"prompt_tokens":500,"completion_tokens":40}})";
}

llm::tool lookup() {
  return {"lookup", "Looks a key up.",
          R"({"type":"object","properties":{"key":{"type":"string"}},"required":["key"]})"};
}

/// The script, with a turn of the event loop before each answer, as with any server: else a plain loop of requests
/// would never wait, and its runs would come one after the other, each with its memory at hand, and not side by side.
class answers_later final : public sluice::http::transport {
 public:
  using exchange = sluice::expected<std::unique_ptr<sluice::http::response>, sluice::error>;

  explicit answers_later(sluice::http::transport& script) noexcept : script_(script) {}

  asio::awaitable<exchange> send(sluice::http::request what) override {
    co_await asio::post(asio::use_awaitable);
    co_return co_await script_.send(std::move(what));
  }

 private:
  sluice::http::transport& script_;
};

/// A gate with room for all, and a model that calls four tools in each of ten turns, and then answers. With `pausing`,
/// the exchange in the middle of each run waits.
struct stage {
  explicit stage(bool pausing) : gate(io.get_executor(), room()), client(later, gate, options()), tools(gate) {
    std::vector<std::string> answers;
    for (int n = 0; n <= turns_with_tools; ++n) answers.push_back(answer_after(n));
    over.on_request([pausing, answers = std::move(answers)](const sluice::http::request& asked) {
      const int so_far = turns_so_far(asked.body());
      auto exchange = scripted_exchange(200).with_header("content-type", "application/json");
      if (pausing && so_far == turns_with_tools / 2) exchange = std::move(exchange).with_pause_before_head();
      return std::move(exchange).with_chunk(answers[static_cast<std::size_t>(so_far)]);
    });
    tools.add(lookup(),
              [](const llm::tool_arguments&) -> asio::awaitable<sluice::expected<std::string, sluice::error>> {
                co_return "the value that was asked for";
              });
  }

  static sluice::policy room() {
    sluice::policy rules = four_classes();
    rules.total = {static_cast<std::int64_t>(runs), static_cast<std::int64_t>(runs) * 16'000};
    for (auto& each : rules.classes) each.floor = {};
    return rules;
  }
  static llm::client_options options() {
    llm::client_options made("http://server/v1");
    made.learn_from_usage = false;
    return made;
  }

  asio::io_context io{1};
  sluice::testing::scripted_transport over;
  answers_later later{over};
  sluice::bulkhead gate;
  llm::client client;
  agent::toolbox tools;
  std::size_t answered = 0;
};

asio::awaitable<void> run_agent(stage& on) {
  auto opened = agent::run_scope::open(on.gate, agent::run_settings("run").limit({.tokens = 1'000'000}));
  if (!opened) std::abort();
  agent::run_scope run = *std::move(opened);
  llm::conversation talk("Be brief.");
  talk.user("What is under the keys?");
  auto loop = agent::run_tools(run, on.client, talk, on.tools, agent::loop_options("m"));
  const auto result = co_await std::move(loop);
  if (result.stop != agent::run_stop::answer || result.turns != turns ||
      result.tool_calls != turns_with_tools * calls_a_turn) {
    std::abort();
  }
  co_await run.leave();
  ++on.answered;
}

asio::awaitable<void> run_bare(stage& on) {
  llm::conversation talk("Be brief.");
  talk.user("What is under the keys?");
  for (int turn = 0; turn < turns; ++turn) {
    llm::request asked = talk.request_for("m");
    asked.tools = on.tools.tools();
    asked.limit_output(4'096);
    const auto answer = co_await on.client.chat(std::move(asked));
    if (!answer || answer->tool_calls.empty() != (turn == turns_with_tools)) std::abort();
    talk.add(*answer);
    for (const llm::tool_call& call : answer->tool_calls) {
      if (!talk.tool_result(call, "the value that was asked for")) std::abort();
    }
  }
  ++on.answered;
}

using body = asio::awaitable<void> (*)(stage&);

/// Processor time of a turn, in microseconds.
template <body Run>
double turn_time() {
  stage on(false);
  const double start = thread_cpu();
  for (std::size_t n = 0; n < runs; ++n) asio::co_spawn(on.io, Run(on), asio::detached);
  on.io.run();
  const double took = thread_cpu() - start;
  if (on.answered != runs) std::abort();
  return took / runs / turns / 1'000;
}

double bytes_in_use() {
  const auto all = ::mallinfo2();
  return static_cast<double>(all.uordblks + all.hblkhd);
}

/// What a run has of memory in the middle of its sixth exchange.
template <body Run>
double run_memory() {
  stage on(true);
  const double before = bytes_in_use();
  for (std::size_t n = 0; n < runs; ++n) asio::co_spawn(on.io, Run(on), asio::detached);
  on.io.poll();
  if (on.over.open() != runs) std::abort();
  const double during = bytes_in_use();
  on.over.release_all();
  on.io.restart();
  on.io.run();
  if (on.answered != runs) std::abort();
  return (during - before) / runs;
}

double time_of_runtime() { return turn_time<run_agent>() - turn_time<run_bare>(); }
double memory_of_runtime() { return run_memory<run_agent>() - run_memory<run_bare>(); }

}  // namespace

std::vector<bar> agent_bars() {
  return {
      {"turn of an agent, 4 tools, 1,000 runs", "us", turn_time<run_agent>, turn_time<run_bare>, report_only, 5},
      {"runtime in a turn, and what is allowed", "us", time_of_runtime, allowed_time, 1, 7},
      {"memory of a live run", "B", run_memory<run_agent>, run_memory<run_bare>, report_only, 3},
      {"runtime in a live run, and what is allowed", "B", memory_of_runtime, allowed_memory, 1, 3},
  };
}

}  // namespace bars
