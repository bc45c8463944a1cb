#include "agent/loop/loop_fixture.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using llm::dialect;

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
