#include "agent/loop/loop_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using llm::dialect;

namespace {

constexpr dialect all_dialects[] = {dialect::openai_chat, dialect::openai_responses, dialect::anthropic_messages};

std::vector<std::string> results_in(const llm::conversation& talk) {
  std::vector<std::string> texts;
  for (const llm::message& each : talk.messages()) {
    if (each.who == llm::role::tool) texts.push_back(each.text);
  }
  return texts;
}

}  // namespace

TEST_CASE("the model calls its tools, is told their results, and answers") {
  for (const dialect spoken : all_dialects) {
    CAPTURE(to_string(spoken));
    loop_fixture f(spoken);
    f.add_lookup();
    f.answers(said("Let me see.")
                  .calls("lookup", R"({"key":"k1"})", "t1")
                  .calls("lookup", R"({"key":"k2"})", "t2")
                  .took(100, 20));
    f.answers(said("It is 7.").took(150, 5));
    run_scope run = f.open();
    const run_result result = f.finish(run);
    CHECK(result.outcome == run_outcome::complete);
    CHECK(result.stop == run_stop::answer);
    CHECK(result.text == "It is 7.");
    CHECK(result.last->usage.output_tokens == 5);
    CHECK(result.explanation.empty());
    CHECK_FALSE(result.finalised);
    CHECK_FALSE(result.why != nullptr);
    CHECK(result.turns == 2);
    CHECK(result.tool_calls == 2);
    CHECK(result.warnings.empty());
    CHECK(result.spent == spending{.tokens = 275, .calls = 2, .tool_calls = 2});
    CHECK(f.looked_up == std::vector<std::string>{"k1", "k2"});
    CHECK(results_in(f.talk) == std::vector<std::string>{"value of k1", "value of k2"});
    CHECK(f.talk.messages().size() == 6);
    CHECK(f.talk.messages().back().text == "It is 7.");
    CHECK(fits(f.talk));
    CHECK(f.idle());
    REQUIRE(f.asked() == 2);
    CHECK(f.sent(0)["tools"].size() == 1);
    CHECK_FALSE(f.sent(0).contains("tool_choice"));
    const std::string second = f.transport.requests()[1].body();
    CHECK(second.find("value of k1") < second.find("value of k2"));
    CHECK(second.find("value of k2") < std::string::npos);
  }
}

TEST_CASE("an answer at once is one turn, and so is a loop without tools") {
  for (const bool has_tools : {true, false}) {
    loop_fixture f;
    if (has_tools) f.add_lookup();
    f.how.max_turns = has_tools ? 16 : 1;
    f.answers(said("Hello."));
    run_scope run = f.open();
    const run_result result = f.finish(run);
    CHECK(result.stop == run_stop::answer);
    CHECK(result.turns == 1);
    CHECK(f.sent(0).contains("tools") == has_tools);
    CHECK_FALSE(f.sent(0).contains("tool_choice"));
  }
}

TEST_CASE("each request says what the template says, and a limit on its output all the same") {
  loop_fixture f;
  f.add_lookup();
  f.how.request.with_temperature(0.5).user("not looked at").with_tool(lookup_tool("not_offered"));
  f.how.default_output = 900;
  f.answers(looks_up("k1"));
  f.answers(said("Done."));
  run_scope run = f.open(run_settings("root").as(batch).on_behalf_of(tenant("acme")));
  REQUIRE(f.finish(run).stop == run_stop::answer);
  for (const std::size_t number : {0U, 1U}) {
    CHECK(f.sent(number)["temperature"] == 0.5);
    CHECK(f.sent(number)["max_completion_tokens"] == 900);
    CHECK(f.sent(number)["tools"].size() == 1);
    CHECK(f.sent(number)["messages"][0]["content"] == "Be brief.");
    CHECK(f.sent(number)["messages"][1]["content"] == "What is under k1?");
  }
  CHECK(f.sent(0)["messages"].size() == 2);
  CHECK(f.gate.statistics().classes.at(batch.index()).admitted_total == 2);

  f.how.request.limit_output(77);
  f.answers(said("Done."));
  REQUIRE(f.finish(run).stop == run_stop::answer);
  CHECK(f.sent(2)["max_completion_tokens"] == 77);
}

TEST_CASE("a call that is demanded is demanded in the first turn alone") {
  for (const bool by_name : {true, false}) {
    loop_fixture f;
    f.add_lookup();
    if (by_name) {
      f.how.request.force_tool("lookup");
    } else {
      f.how.request.choose(llm::tool_choice::required);
    }
    f.answers(looks_up("k1"));
    f.answers(said("Done."));
    run_scope run = f.open();
    CHECK(f.finish(run).stop == run_stop::answer);
    CHECK(f.sent(0).contains("tool_choice"));
    CHECK_FALSE(f.sent(1).contains("tool_choice"));
  }
}

TEST_CASE("a streamed answer is told as it comes, and tools run when it has ended") {
  loop_fixture f;
  std::vector<std::string> told;
  std::int64_t held_by_tools = -1;
  f.tools.add(lookup_tool(), [&](const llm::tool_arguments&) -> asio::awaitable<expected<std::string, error>> {
    held_by_tools = f.gate.statistics().all.held.tokens;
    co_return "found";
  });
  f.how.streamed = true;
  f.how.on_event = [&](const loop_event& what) {
    std::string line = std::to_string(what.turn) + " " + std::string(to_string(what.type));
    if (!what.text.empty()) line += " " + std::string(what.text);
    if (what.call != nullptr) line += " " + what.call->name;
    if (what.result != nullptr) line += " " + what.result->text;
    if (what.usage.output_tokens != 0) line += " " + std::to_string(what.usage.output_tokens);
    told.push_back(line);
  };
  f.transport.add(streamed(said("Let me").calls("lookup", R"({"key":"k1"})")));
  f.transport.add(streamed(said("It is")));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(result.text == "It is");
  CHECK(held_by_tools == 0);
  CHECK(told == std::vector<std::string>{"1 turn_started", "1 text Let ", "1 text me", "1 usage 10",
                                         "1 tool_started lookup", "1 tool_finished lookup found", "2 turn_started",
                                         "2 text It ", "2 text is", "2 usage 10"});
  CHECK(f.idle());
}

TEST_CASE("an answer that is not streamed is told in one piece") {
  loop_fixture f;
  std::vector<std::string> told;
  f.how.on_event = [&](const loop_event& what) {
    told.push_back(std::string(to_string(what.type)) + ":" + std::string(what.text));
  };
  f.answers(said("It is 7."));
  run_scope run = f.open();
  REQUIRE(f.finish(run).stop == run_stop::answer);
  CHECK(told == std::vector<std::string>{"turn_started:", "text:It is 7.", "usage:"});
}

TEST_CASE("what listeners throw is dropped, and the caller's hooks are called beside the events") {
  loop_fixture f;
  f.add_lookup();
  int started = 0;
  int finished = 0;
  int events = 0;
  f.how.on_event = [&](const loop_event&) {
    ++events;
    throw std::runtime_error("listener");
  };
  f.how.hooks.started = [&](const llm::tool_call&) {
    ++started;
    throw std::runtime_error("started");
  };
  f.how.hooks.finished = [&](const tool_result&) {
    ++finished;
    throw std::runtime_error("finished");
  };
  f.answers(looks_up("k1"));
  f.answers(said("Done."));
  run_scope run = f.open();
  CHECK(f.finish(run).stop == run_stop::answer);
  CHECK(started == 1);
  CHECK(finished == 1);
  CHECK(events == 7);
}

TEST_CASE("the caller's hooks are called without listeners, too") {
  loop_fixture f;
  f.add_lookup();
  int called = 0;
  f.how.hooks.started = [&](const llm::tool_call&) { ++called; };
  f.how.hooks.finished = [&](const tool_result&) { ++called; };
  f.answers(looks_up("k1"));
  f.answers(said("Done."));
  run_scope run = f.open();
  CHECK(f.finish(run).stop == run_stop::answer);
  CHECK(called == 2);
}

TEST_CASE("no permit is held while tools run: with one slot, a tool that asks the model gets it") {
  policy one_slot({.slots = 1, .tokens = 100'000});
  loop_fixture f(dialect::openai_chat, one_slot);
  f.tools.add(lookup_tool(),
              [&](tool_context& context, const llm::tool_arguments&) -> asio::awaitable<expected<std::string, error>> {
                llm::request asked("m");
                asked.user("And you?").limit_output(50);
                auto answer = co_await f.model.chat(asked, context.run.call_options());
                if (!answer) co_return unexpected<error>(answer.error().why);
                co_return answer->text;
              });
  f.answers(looks_up("k1"));
  f.answers(said("From within."));
  f.answers(said("Done."));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(results_in(f.talk) == std::vector<std::string>{"From within."});
  CHECK(result.spent.calls == 3);
  CHECK(f.idle());
}

TEST_CASE("the model is told what is left, at the end of each request and not in the conversation") {
  loop_fixture f;
  f.add_lookup();
  f.how.tell_what_is_left = true;
  f.answers(looks_up("k1").took(2'000, 100));
  f.answers(said("Done."));
  run_scope run = f.open(run_settings("root").limit({.tokens = 12'345}).until(f.gate.in(90s)));
  REQUIRE(f.finish(run).stop == run_stop::answer);
  CHECK(f.sent(0)["messages"].back()["content"] == "(about 90 s and 12,000 tokens left)");
  CHECK(f.sent(0)["messages"].back()["role"] == "user");
  CHECK(f.sent(1)["messages"].back()["content"] == "(about 90 s and 10,000 tokens left)");
  CHECK(f.sent(1)["messages"].size() == 5);
  CHECK(f.talk.messages().size() == 5);

  f.answers(said("Done."));
  run_scope free = f.open();
  REQUIRE(f.finish(free).stop == run_stop::answer);
  CHECK(f.sent(2)["messages"].back()["content"] == "Done.");
}

TEST_CASE("a conversation goes on from loop to loop") {
  loop_fixture f;
  f.add_lookup();
  f.answers(looks_up("k1", "t1"));
  f.answers(said("It is 7."));
  f.answers(looks_up("k2", "t1"));
  f.answers(said("It is 8."));
  run_scope run = f.open();
  REQUIRE(f.finish(run).text == "It is 7.");
  f.talk.user("And k2?");
  const run_result second = f.finish(run);
  CHECK(second.text == "It is 8.");
  CHECK(second.turns == 2);
  CHECK(second.spent.calls == 2);
  CHECK(run.balance().spent.calls == 4);
  CHECK(fits(f.talk));
  CHECK(f.talk.messages().size() == 9);
}

TEST_CASE("options that do not hold are a failure, and nothing is sent") {
  loop_fixture f;
  f.how.max_turns = 0;
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::failed);
  CHECK(result.outcome == run_outcome::partial);
  REQUIRE(result.why != nullptr);
  CHECK(result.why->is(errc::invalid_argument));
  CHECK(result.explanation == "loop_options::max_turns = 0; it is at least 1");
  CHECK(f.asked() == 0);
}

TEST_CASE("a conversation in which nothing was said is a failure, and nothing is sent") {
  loop_fixture f;
  f.talk = llm::conversation();
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::failed);
  CHECK(result.why->is(errc::invalid_argument));
  CHECK(f.asked() == 0);
}

TEST_CASE("several loops share a run, a client and a toolbox") {
  loop_fixture f;
  f.add_lookup();
  f.transport.on_request([](const http::request& what) {
    const bool answered = what.body().find("value of") != std::string::npos;
    return plain(answered ? said("Done.") : looks_up("k1"));
  });
  run_scope run = f.open();
  llm::conversation other("Be brief.");
  other.user("What is under k2?");
  const auto first = f.begin(run);
  started<run_result> second;
  f.start(second, run_tools(run, f.model, other, f.tools, f.how));
  REQUIRE((first->value && second.value));
  CHECK(first->value->text == "Done.");
  CHECK(second.value->text == "Done.");
  CHECK(run.balance().spent.calls == 4);
  CHECK(f.looked_up.size() == 2);
}
