#include "agent/loop/loop_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using llm::dialect;

namespace {

said looks_up(const std::string& key) { return said().calls("lookup", R"({"key":")" + key + R"("})"); }

/// A model that calls tools as long as it may, each time for another key.
void never_ends(loop_fixture& f, bool same_key = false) {
  f.transport.on_request([&f, same_key, n = 0](const http::request& what) mutable {
    const auto body = nlohmann::json::parse(what.body());
    const bool may_call = !body.contains("tool_choice");
    const std::string key = same_key ? "k" : "k" + std::to_string(n++);
    return plain(may_call ? looks_up(key) : said("As far as I know, 7."), f.spoken);
  });
}

/// The question of `loop_fixture`, by the client's estimate and without an answer.
std::int64_t input_of(loop_fixture& f) {
  llm::request asked = f.talk.request_for("m");
  asked.tools = f.tools.tools();
  asked.limit_output(1);
  return f.model.estimate(asked)->tokens - 1;
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a model that calls tools for ever is asked to answer in its last turn, in each dialect") {
  for (const dialect spoken : {dialect::openai_chat, dialect::openai_responses, dialect::anthropic_messages}) {
    CAPTURE(to_string(spoken));
    loop_fixture f(spoken);
    f.add_lookup();
    f.how.max_turns = 4;
    never_ends(f);
    run_scope run = f.open();
    const run_result result = f.finish(run);
    CHECK(result.outcome == run_outcome::partial);
    CHECK(result.stop == run_stop::turns);
    CHECK(result.finalised);
    CHECK(result.text == "As far as I know, 7.");
    CHECK(result.turns == 4);
    CHECK(result.tool_calls == 3);
    CHECK(mentions(result.explanation, "by its last turn, number 4; raise loop_options::max_turns"));
    CHECK(f.asked() == 4);
    const auto last = f.sent(3);
    // The tools are still offered: a history with calls is refused without.
    CHECK(last["tools"].size() == 1);
    CHECK(last["tool_choice"] ==
          (spoken == dialect::anthropic_messages ? nlohmann::json{{"type", "none"}} : nlohmann::json("none")));
    CHECK(mentions(last.dump(), "this is the last turn. Answer now"));
    CHECK(f.talk.messages().back().text == "As far as I know, 7.");
    CHECK(f.talk.messages().size() == 2 + 3 * 2 + 1);
    CHECK(fits(f.talk));
  }
}

TEST_CASE("without a last answer the loop just ends, and the calls of its last turn have results") {
  loop_fixture f;
  f.add_lookup();
  f.how.max_turns = 3;
  f.how.last_answer = false;
  never_ends(f);
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::turns);
  CHECK(result.outcome == run_outcome::partial);
  CHECK_FALSE(result.finalised);
  CHECK(result.turns == 3);
  CHECK(result.tool_calls == 2);
  CHECK(f.looked_up.size() == 2);
  CHECK(fits(f.talk));
  CHECK(mentions(f.talk.messages().back().text, "no further turn"));
  CHECK(f.talk.messages().back().is_error);
}

TEST_CASE("one turn alone is the last one, so that tools are not called") {
  loop_fixture f;
  f.add_lookup();
  f.how.max_turns = 1;
  never_ends(f);
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::turns);
  CHECK(result.finalised);
  CHECK(result.text == "As far as I know, 7.");
  CHECK(f.looked_up.empty());
}

TEST_CASE("the same call for ever is carried out three times, then told to the model, and the result says so") {
  loop_fixture f;
  f.add_lookup();
  f.how.max_turns = 8;
  std::vector<std::string> finished;
  f.how.hooks.finished = [&](const tool_result& each) { finished.emplace_back(to_string(each.outcome)); };
  never_ends(f, true);
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::turns);
  CHECK(result.outcome == run_outcome::partial);
  CHECK(result.turns == 8);
  CHECK(result.tool_calls == 3);
  CHECK(f.looked_up.size() == 3);
  CHECK(run.balance().spent.tool_calls == 3);
  REQUIRE(result.warnings.size() == 1);
  CHECK(result.warnings[0] ==
        "the model repeats itself: it has called \"lookup\" with the same arguments 4 times; from now on "
        "it is told so (loop_options::max_repeats)");
  CHECK(finished ==
        std::vector<std::string>{"answered", "answered", "answered", "refused", "refused", "refused", "refused"});
  CHECK(fits(f.talk));
  const auto told = f.sent(4)["messages"].back()["content"].get<std::string>();
  CHECK(mentions(told, "\"lookup\" has been called with exactly these arguments 3 times before"));
}

TEST_CASE("repeated calls keep their places among the others of their turn") {
  loop_fixture f;
  f.add_lookup();
  f.how.max_repeats = 1;
  f.answers(said()
                .calls("lookup", R"({"key":"a"})", "t1")
                .calls("lookup", R"({"key":"a"})", "t2")
                .calls("lookup", R"({"key":"b"})", "t3")
                .calls("lookup", R"({"key":"a"})", "t4"));
  f.answers(said("Done."));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(f.looked_up == std::vector<std::string>{"a", "b"});
  CHECK(fits(f.talk));
  const auto sent = f.sent(1)["messages"];
  REQUIRE(sent.size() == 7);
  CHECK(sent[3]["content"] == "value of a");
  CHECK(mentions(sent[4]["content"], "1 time before"));
  CHECK(sent[5]["content"] == "value of b");
  CHECK(mentions(sent[6]["content"], "1 time before"));
}

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
  CHECK(told ==
        std::vector<std::string>{"50 % of the budget of run root is spent or set aside: 5,610 of 10,000 tokens",
                                 "80 % of the budget of run root is spent or set aside: 8,930 of 10,000 tokens"});
}

TEST_CASE("when the working time is over the model answers in the time that was kept") {
  loop_fixture f;
  f.tools.add(lookup_tool(), [&](const llm::tool_arguments&) -> asio::awaitable<expected<std::string, error>> {
    f.time.advance(9s);
    co_return "late";
  });
  never_ends(f);
  run_settings how("root");
  how.until(f.gate.in(10s)).keep_for_last_answer({}, 2s);
  run_scope run = f.open(std::move(how));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::deadline);
  CHECK(result.outcome == run_outcome::partial);
  CHECK(result.finalised);
  CHECK(result.text == "As far as I know, 7.");
  CHECK(result.turns == 2);
  CHECK(mentions(result.explanation,
                 "the time of run root was over 1.0 s ago, but for the 2 s kept for its last answer"));
  CHECK(mentions(f.sent(1).dump(), "the time is over. Answer now"));
}

TEST_CASE("an answer that does not come within the working time is given up for the last one") {
  for (const bool in_queue : {true, false}) {
    CAPTURE(in_queue);
    loop_fixture f(dialect::openai_chat, policy({.slots = 1, .tokens = 100'000}));
    f.add_lookup();
    run_settings how("root");
    how.until(f.gate.in(10s)).keep_for_last_answer({}, 2s);
    run_scope run = f.open(std::move(how));
    auto busy = f.gate.try_admit({.tokens = 10});
    REQUIRE(busy.has_value());
    if (!in_queue) {
      busy->release();
      f.transport.add(testing::scripted_exchange::failure(errc::deadline_exceeded, "no first byte in time"));
    }
    f.answers(said("In time."));
    const auto waiting = f.begin(run);
    if (in_queue) {
      f.advance(7'999ms);
      CHECK_FALSE(waiting->ended);
      f.advance(1ms);
      CHECK_FALSE(waiting->ended);
      busy->release();
      f.run();
    }
    REQUIRE(waiting->value.has_value());
    const run_result& result = *waiting->value;
    CHECK(result.stop == run_stop::deadline);
    CHECK(result.outcome == run_outcome::partial);
    CHECK(result.finalised);
    CHECK(result.text == "In time.");
    CHECK(result.turns == 1);
    REQUIRE(result.why != nullptr);
    CHECK(result.why->is(errc::deadline_exceeded));
    CHECK(f.idle());
  }
}

TEST_CASE("a last answer that does not come either leaves what there was, and says both") {
  loop_fixture f;
  f.add_lookup();
  f.how.max_turns = 2;
  f.answers(said("Let me see.").calls("lookup", R"({"key":"k"})"));
  f.transport.add(testing::scripted_exchange::failure(errc::connect_failed, "nobody there"));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::turns);
  CHECK(result.outcome == run_outcome::partial);
  CHECK_FALSE(result.finalised);
  CHECK(result.text == "Let me see.");
  CHECK(result.why->is(errc::connect_failed));
  CHECK(mentions(result.explanation, "raise loop_options::max_turns"));
  CHECK(mentions(result.explanation, "the last answer failed: "));
  CHECK(mentions(result.explanation, "nobody there"));
  CHECK(fits(f.talk));
}

TEST_CASE("a deadline that is past ends the loop at once, and nothing is sent") {
  loop_fixture f;
  f.add_lookup();
  run_scope run = f.open(run_settings("root").until(f.gate.in(10s)));
  f.advance(11s);
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::deadline);
  CHECK(result.outcome == run_outcome::partial);
  CHECK(result.turns == 0);
  CHECK(f.asked() == 0);
  CHECK(mentions(result.explanation, "the time of run root was over 1.0 s ago; give it a later deadline"));
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
