#include <sluice/agent/history_policy.hpp>

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <string>
#include <vector>

namespace llm = sluice::llm;
using sluice::agent::fitted;

namespace {

llm::reply calling(const std::string& id) {
  llm::reply answer;
  answer.tool_calls.emplace_back(id, "f", "{}");
  return answer;
}

/// Turns of a question, a call with its result, and an answer.
llm::conversation turns(int count) {
  llm::conversation talk("Be brief.");
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    talk.user("Question " + number);
    const llm::reply asks = calling("t" + number);
    talk.add(asks);
    REQUIRE(talk.tool_result(asks.tool_calls[0], "Result " + number));
    llm::reply answer;
    answer.text = "Answer " + number;
    talk.add(answer);
  }
  return talk;
}

}  // namespace

TEST_CASE("a history that fits is left as it is") {
  const llm::conversation talk = turns(5);
  CHECK(fitted(talk, talk.tokens("m"), "m").messages().size() == 21);
  CHECK(fitted(talk, sluice::unlimited).messages().size() == 21);
}

TEST_CASE("whole turns are left out from the beginning, and the program's message stays") {
  const llm::conversation talk = turns(5);
  const llm::conversation part = fitted(talk, talk.tokens("m") - 1, "m");
  REQUIRE(part.messages().size() == 17);
  CHECK(part.messages()[0].text == "Be brief.");
  CHECK(part.messages()[1].text == "Question 1");
  CHECK(part.tokens("m") <= talk.tokens("m") - 1);
  CHECK(talk.messages().size() == 21);
}

TEST_CASE("of the last turn, rounds are left out, and the question and the last round stay") {
  llm::conversation talk("Be brief.");
  talk.user("Look three things up.");
  for (int i = 0; i < 3; ++i) {
    const llm::reply asks = calling("t" + std::to_string(i));
    talk.add(asks);
    REQUIRE(talk.tool_result(asks.tool_calls[0], "Result " + std::to_string(i)));
  }
  const llm::conversation least = fitted(talk, 1, "m");
  REQUIRE(least.messages().size() == 4);
  CHECK(least.messages()[1].text == "Look three things up.");
  CHECK(least.messages()[2].tool_calls.at(0).id == "t2");
  CHECK(least.messages()[3].text == "Result 2");
}

TEST_CASE("whatever is left out, no result is without its call and no call without its result") {
  rc::check("histories of any shape", [] {
    llm::conversation talk("System.");
    int id = 0;
    for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4))) {
      if (step == 0) talk.user(std::string(40, 'q'));
      llm::reply answer;
      if (step == 1) answer.text = std::string(30, 'a');
      for (int i = 2; i <= step; ++i) answer.tool_calls.emplace_back("t" + std::to_string(id++), "f", "{}");
      talk.add(answer);
      for (const llm::tool_call& call : answer.tool_calls)
        RC_ASSERT(talk.tool_result(call, std::string(20, 'r')).has_value());
    }
    const llm::conversation part = fitted(talk, *rc::gen::inRange(1, 400), "m");
    const auto& messages = part.messages();
    RC_ASSERT(messages.front().text == "System.");
    for (std::size_t at = 0; at < messages.size(); ++at) {
      RC_ASSERT(messages[at].who != llm::role::tool);
      for (const llm::tool_call& call : messages[at].tool_calls) {
        ++at;
        RC_ASSERT(at < messages.size());
        RC_ASSERT(messages[at].tool_call_id == call.id);
      }
    }
    RC_ASSERT(part.open_calls().empty());
  });
}
