#include "agent/loop/loop_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using llm::dialect;

TEST_CASE("the budget ends in mid-run: the last answer is paid from what was kept for it") {
  for (const dialect spoken : {dialect::openai_chat, dialect::openai_responses, dialect::anthropic_messages}) {
    CAPTURE(to_string(spoken));
    loop_fixture f(spoken);
    f.add_lookup();
    f.how.request.limit_output(200);
    const std::int64_t input = input_of(f);
    // Two turns of 1,000 tokens; the third finds too little.
    f.transport.on_request([&](const http::request& what) {
      const bool may_call = !nlohmann::json::parse(what.body()).contains("tool_choice");
      return plain((may_call ? looks_up("k" + std::to_string(f.asked())) : said("So far: 7.")).took(900, 100), spoken);
    });
    run_scope run = f.open(run_settings("nightly")
                               .limit({.tokens = 2'000 + input + 1'500})
                               .keep_for_last_answer({.tokens = input + 1'450}));
    const run_result result = f.finish(run);
    CHECK(result.outcome == run_outcome::budget_exhausted);
    CHECK(result.stop == run_stop::budget);
    CHECK(result.finalised);
    CHECK(result.text == "So far: 7.");
    CHECK(result.turns == 3);
    CHECK(result.spent == spending{.tokens = 3'000, .calls = 3, .tool_calls = 2});
    CHECK(mentions(result.explanation, "run nightly has 50 tokens"));
    CHECK(mentions(result.explanation, "raise its limit"));
    CHECK(mentions(f.sent(2).dump(), "the budget is spent. Answer now"));
    CHECK(fits(f.talk));
    CHECK(f.idle());
  }
}

TEST_CASE("without a reserve the last request that the run can pay asks for the answer") {
  loop_fixture f;
  f.add_lookup();
  never_ends(f);
  run_scope run = f.open(run_settings("root").limit({.calls = 3}));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::budget);
  CHECK(result.outcome == run_outcome::budget_exhausted);
  CHECK(result.finalised);
  CHECK(result.turns == 3);
  CHECK(result.text == "As far as I know, 7.");
  CHECK(mentions(result.explanation, "run root has 1 call of 3 left to make"));
}

TEST_CASE("by tokens it is the last one when nothing would be left for another") {
  // What a call and a short result add to the question is taken for 64 tokens.
  for (const std::int64_t less : {0, 1}) {
    loop_fixture f;
    f.add_lookup();
    f.how.least_output = 50;
    const std::int64_t input = input_of(f);
    run_scope run = f.open(run_settings("root").limit({.tokens = 2 * (input + 50) + 64 - less}));
    if (less == 0) f.answers(looks_up("first").took(input, 10));
    never_ends(f);
    const run_result result = f.finish(run);
    CHECK(result.turns == 2 - less);
    CHECK(result.tool_calls == 1 - less);
    CHECK(result.finalised);
    CHECK(result.outcome == run_outcome::budget_exhausted);
    CHECK(result.text == "As far as I know, 7.");
  }
}

TEST_CASE("one request that can be paid is the last answer, without the words that have no room") {
  loop_fixture f;
  f.add_lookup();
  never_ends(f);
  const std::int64_t input = input_of(f);
  const std::int64_t limit = input + 64 + 6;
  run_scope run = f.open(run_settings("root").limit({.tokens = limit, .calls = 2}));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::budget);
  CHECK(result.outcome == run_outcome::budget_exhausted);
  CHECK(result.finalised);
  CHECK(result.turns == 1);
  CHECK(result.text == "As far as I know, 7.");
  CHECK(result.explanation ==
        "run root has " + std::to_string(limit) + " tokens of " + std::to_string(limit) +
            " left to spend, and a request takes " + std::to_string(input) +
            " for what was said, and at least 64 for its answer; "
            "a last answer after that would take at least " +
            std::to_string(input + 64 + 64) +
            " more; raise its limit "
            "(run_settings::limit, run_scope::extend); the model was asked to answer with what it had");
  CHECK(f.sent(0)["tool_choice"] == "none");
  CHECK(f.sent(0)["max_completion_tokens"] == 70);
  CHECK_FALSE(mentions(f.sent(0).dump(), "Answer now"));
  CHECK(fits(f.talk));

  // One token less than a request takes at least.
  loop_fixture poor;
  poor.add_lookup();
  run_scope less = poor.open(run_settings("root").limit({.tokens = input + 63, .calls = 2}));
  const run_result nothing = poor.finish(less);
  CHECK(poor.asked() == 0);
  CHECK(mentions(nothing.explanation, "at least 64 for its answer; raise its limit"));
  CHECK(mentions(nothing.explanation, "nor could a last answer be paid"));
}

TEST_CASE("a request is taken to grow as it grew last time") {
  loop_fixture f;
  f.tools.add(lookup_tool(), [](const llm::tool_arguments&) -> asio::awaitable<expected<std::string, error>> {
    co_return std::string(4'000, 'r');
  });
  never_ends(f);
  const std::int64_t input = input_of(f);
  // After two turns there would be room for a third, but not for what a result of 1,000 tokens makes of it.
  run_scope run = f.open(run_settings("root").limit({.tokens = input + 1'500}));
  const run_result result = f.finish(run);
  CHECK(result.turns == 2);
  CHECK(result.finalised);
  CHECK(result.text == "As far as I know, 7.");
}

TEST_CASE("tool calls that are spent are a spent budget: the model answers with what it has") {
  loop_fixture f;
  f.add_lookup();
  never_ends(f);
  run_scope run = f.open(run_settings("root").limit({.tool_calls = 2}));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::budget);
  CHECK(result.outcome == run_outcome::budget_exhausted);
  CHECK(result.finalised);
  CHECK(result.tool_calls == 2);
  CHECK(result.turns == 3);
  CHECK(result.text == "As far as I know, 7.");
  CHECK(mentions(result.explanation, "run root has no tool call of 2 left to make"));
}

TEST_CASE("a child has no reserve: it answers while it can still pay, and never out of its root's") {
  loop_fixture f;
  f.add_lookup();
  f.how.request.limit_output(200);
  f.how.history.fit_budget = false;
  run_scope root = f.open(run_settings("root").limit({.tokens = 10'000}).keep_for_last_answer({.tokens = 9'500}));
  run_scope child = root.child(run_settings("child")).value();
  f.answers(looks_up("k").took(450, 20));
  const run_result result = f.finish(child);
  CHECK(result.stop == run_stop::budget);
  CHECK(result.outcome == run_outcome::budget_exhausted);
  CHECK_FALSE(result.finalised);
  CHECK(result.turns == 1);
  CHECK(f.asked() == 1);
  CHECK(mentions(result.explanation, "run root/child has 30 tokens left to spend"));
  CHECK(mentions(result.explanation, "nor could a last answer be paid"));
  CHECK(fits(f.talk));
  CHECK(root.balance().spent.tokens == 470);
}

TEST_CASE("with a budget of zero nothing is sent, and nobody waits") {
  const run_limits zeros[] = {{.tokens = 0}, {.calls = 0}, {.tokens = 0, .calls = 0, .tool_calls = 0, .money = 0}};
  for (const run_limits& zero : zeros) {
    loop_fixture f;
    f.add_lookup();
    run_scope run = f.open(run_settings("root").limit(zero));
    const run_result result = f.finish(run);
    CHECK(result.outcome == run_outcome::budget_exhausted);
    CHECK(result.stop == run_stop::budget);
    CHECK(result.text.empty());
    CHECK(result.turns == 0);
    CHECK_FALSE(result.explanation.empty());
    CHECK(f.asked() == 0);
    CHECK(result.warnings.empty());
  }
}

TEST_CASE("what money cannot pay is refused at the gate, and ends the budget") {
  policy rules({.slots = 4, .tokens = 1'000'000});
  rules.prices.emplace_back("m");
  rules.prices[0].input_per_million = 1'000'000;
  rules.prices[0].output_per_million = 1'000'000;
  loop_fixture f(dialect::openai_chat, rules);
  f.add_lookup();
  f.how.request.limit_output(100);
  never_ends(f);
  run_scope run = f.open(run_settings("root").limit({.money = 5}));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::budget);
  CHECK(result.outcome == run_outcome::budget_exhausted);
  CHECK(f.asked() == 0);
  REQUIRE(result.why != nullptr);
  CHECK(result.why->refusal->reason() == reason::budget_exhausted);
  CHECK(mentions(result.explanation, "money"));
}

TEST_CASE("the most tokens of an answer are what the run can still pay") {
  loop_fixture f;
  f.add_lookup();
  const std::int64_t input = input_of(f);
  f.answers(said("Short."));
  run_scope run = f.open(run_settings("root").limit({.tokens = 2 * input + 500}));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(f.sent(0)["max_completion_tokens"] == input + 500);
  CHECK(f.gate.statistics().all.reserved_tokens_total == 2 * input + 500);

  f.answers(said("Cut o").ends("length"));
  run_scope other = f.open(run_settings("other").limit({.tokens = 2'000}));
  llm::conversation talk("Be brief.");
  talk.user("Again.");
  f.talk = talk;
  const run_result cut = f.finish(other);
  CHECK(cut.stop == run_stop::cut_off);
  CHECK(cut.outcome == run_outcome::budget_exhausted);
  CHECK(mentions(cut.explanation, "which is what the run could still pay"));
}

TEST_CASE("what siblings have set aside is waited for, not taken for spent") {
  loop_fixture f;
  f.how.request.limit_output(300);
  f.answers(said("Done."));
  run_scope root = f.open(run_settings("root").limit({.tokens = 1'000}));
  run_scope child = root.child(run_settings("child")).value();
  auto sibling = f.gate.try_admit({.tokens = 900}, interactive, {.run = root.id()});
  REQUIRE(sibling.has_value());
  const auto waiting = f.begin(child);
  CHECK_FALSE(waiting->ended);
  CHECK(f.asked() == 0);
  sibling->settle({.input_tokens = 100, .output_tokens = 0});
  sibling->release();
  f.run();
  REQUIRE(waiting->value.has_value());
  CHECK(waiting->value->stop == run_stop::answer);
  CHECK(f.sent(0)["max_completion_tokens"] == 300);
}

TEST_CASE("a sibling that spends in between ends the budget, and is no failure") {
  loop_fixture f;
  f.how.request.limit_output(300);
  f.how.history.fit_budget = false;
  run_scope root = f.open(run_settings("root").limit({.tokens = 1'000}));
  run_scope child = root.child(run_settings("child")).value();
  auto sibling = f.gate.try_admit({.tokens = 900}, interactive, {.run = root.id()});
  REQUIRE(sibling.has_value());
  const auto waiting = f.begin(child);
  sibling->settle({.input_tokens = 960, .output_tokens = 0});
  sibling->release();
  f.run();
  REQUIRE(waiting->value.has_value());
  CHECK(f.asked() == 0);
  CHECK(waiting->value->stop == run_stop::budget);
  CHECK(waiting->value->outcome == run_outcome::budget_exhausted);
  CHECK(f.idle());
}

TEST_CASE("a threshold of the budget is told once, with its numbers") {
  loop_fixture f;
  f.add_lookup();
  f.how.request.limit_output(100);
  std::vector<std::string> told;
  f.how.on_event = [&](const loop_event& what) {
    if (what.type == loop_event::kind::warning) told.emplace_back(what.text);
  };
  f.answers(looks_up("a").took(5'600, 10));
  f.answers(looks_up("b").took(400, 10));
  f.answers(said("Done.").took(2'900, 10));
  run_scope run = f.open(run_settings("root").limit({.tokens = 10'000}));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(told == result.warnings);
  CHECK(told == std::vector<std::string>{"50 % of the budget of run root is spent: 5,610 of 10,000 tokens",
                                         "80 % of the budget of run root is spent: 8,930 of 10,000 tokens"});
}

TEST_CASE("a history that the run cannot pay is cut, to the last rounds") {
  loop_fixture f;
  f.add_lookup();
  f.talk = llm::conversation("Be brief.");
  for (int i = 0; i < 20; ++i) {
    llm::reply answer;
    answer.text = std::string(2'000, 'a');
    f.talk.user("Question " + std::to_string(i)).add(answer);
  }
  f.talk.user("And now?");
  const std::size_t before = f.talk.messages().size();
  f.answers(said("Done."));
  run_scope run = f.open(run_settings("root").limit({.tokens = 6'000}));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  const auto sent = f.sent(0)["messages"];
  CHECK(sent.front()["content"] == "Be brief.");
  CHECK(sent.back()["content"] == "And now?");
  CHECK(sent.size() < 8);
  CHECK(sent.size() > 3);
  CHECK(f.talk.messages().size() == before + 1);
  REQUIRE_FALSE(result.warnings.empty());
  CHECK(mentions(result.warnings[0], "the history is cut from 42 messages to"));

  run_scope strict = f.open(run_settings("strict").limit({.tokens = 6'000}));
  f.how.history.fit_budget = false;
  const run_result refused = f.finish(strict);
  CHECK(refused.stop == run_stop::budget);
  CHECK(f.asked() == 1);
}

TEST_CASE("a history longer than its own limit is sent in part, each time") {
  loop_fixture f;
  f.add_lookup();
  f.how.history.most_tokens = 300;
  f.how.max_turns = 12;
  f.how.request.limit_output(10);
  never_ends(f);
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.turns == 12);
  for (std::size_t i = 0; i < f.asked(); ++i) CHECK(f.sent(i)["messages"].size() < 24);
  CHECK(f.sent(11)["messages"][1]["content"] == "What is under k1?");
  CHECK(f.talk.messages().size() == 2 + 11 * 2 + 1);
}
