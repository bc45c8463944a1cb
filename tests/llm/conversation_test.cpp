#include <sluice/llm/conversation.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using sluice::errc;
using sluice::llm::content_part;
using sluice::llm::conversation;
using sluice::llm::message;
using sluice::llm::reply;
using sluice::llm::request;
using sluice::llm::role;
using sluice::llm::tool_call;

namespace {

reply says(std::string text) {
  reply made;
  made.text = std::move(text);
  return made;
}

reply calls(const std::vector<std::string>& ids, std::string text = {}) {
  reply made = says(std::move(text));
  for (const std::string& id : ids) made.tool_calls.emplace_back(id, "f", "{\"id\":\"" + id + "\"}");
  return made;
}

/// One letter for each message, calls with their ids and results with theirs: `S U A[a,b] T(a) T(b)`.
std::string outline(const std::vector<message>& messages) {
  std::string drawn;
  for (const message& said : messages) {
    if (!drawn.empty()) drawn += ' ';
    drawn += said.who == role::system ? 'S' : said.who == role::user ? 'U' : said.who == role::assistant ? 'A' : 'T';
    if (said.who == role::tool) drawn += '(' + said.tool_call_id + (said.is_error ? "!" : "") + ')';
    if (said.tool_calls.empty()) continue;
    drawn += '[';
    for (const tool_call& call : said.tool_calls) drawn += (drawn.back() == '[' ? "" : ",") + call.id;
    drawn += ']';
  }
  return drawn;
}

std::string sent(const conversation& talk) { return outline(talk.request_for("m").messages); }

/// Every call of a request has one result behind its message and before the next, every result a call, every id one
/// use.
bool holds(const request& asked) {
  std::set<std::string> used;
  for (std::size_t at = 0; at < asked.messages.size();) {
    const message& said = asked.messages[at++];
    if (said.who == role::tool) return false;
    std::set<std::string> wanted;
    for (const tool_call& call : said.tool_calls) {
      if (!used.insert(call.id).second) return false;
      wanted.insert(call.id);
    }
    while (at < asked.messages.size() && asked.messages[at].who == role::tool) {
      if (wanted.erase(asked.messages[at++].tool_call_id) != 1) return false;
    }
    if (!wanted.empty()) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("what is said goes into the request in order") {
  conversation talk("Be brief.");
  talk.user("Why?").add(says("Because.")).user("Really?");
  const request asked = talk.request_for("gpt-4o");
  CHECK(asked.model == "gpt-4o");
  CHECK(outline(asked.messages) == "S U A U");
  CHECK(asked.messages[0].text == "Be brief.");
  CHECK(asked.messages[2].text == "Because.");
  CHECK(outline(talk.messages()) == "S U A U");
  CHECK(conversation().empty());
  CHECK(sent(conversation()).empty());
}

TEST_CASE("a user's message may hold pictures") {
  conversation talk;
  message said(role::assistant, "Look:");
  said.with(content_part::image("image/png", "AAAA"));
  talk.user(said);
  CHECK(sent(talk) == "U");
  CHECK(talk.messages().front().parts.size() == 1);
}

TEST_CASE("results stand behind their calls") {
  conversation talk;
  const reply turn = calls({"a", "b"}, "Let me see.");
  talk.user("?").add(turn);
  CHECK(talk.open_calls().size() == 2);
  REQUIRE(talk.tool_result(turn.tool_calls[0], "one"));
  REQUIRE(talk.tool_result(turn.tool_calls[1], "two", true));
  CHECK(talk.open_calls().empty());
  CHECK(sent(talk) == "U A[a,b] T(a) T(b!)");
  CHECK(talk.messages()[2].text == "one");
  CHECK(talk.messages()[1].text == "Let me see.");
}

TEST_CASE("a result without a call, or a second one, is refused") {
  conversation talk;
  const reply turn = calls({"a"});
  CHECK(talk.tool_result(turn.tool_calls[0], "early").error().is(errc::invalid_argument));
  talk.user("?").add(turn);
  CHECK(talk.tool_result(tool_call("other", "f", "{}"), "x").error().message() ==
        "the call \"other\" of tool \"f\" waits for no result: it has one, was trimmed, or was never made in this "
        "conversation");
  REQUIRE(talk.tool_result(turn.tool_calls[0], "one"));
  CHECK_FALSE(talk.tool_result(turn.tool_calls[0], "again"));
  CHECK(sent(talk) == "U A[a] T(a)");
}

TEST_CASE("a cancelled run leaves calls without results, and the next request holds all the same") {
  conversation talk;
  const reply turn = calls({"a", "b", "c"});
  talk.user("?").add(turn);
  REQUIRE(talk.tool_result(turn.tool_calls[1], "two"));
  talk.user("Never mind.");
  CHECK(sent(talk) == "U A[a,b,c] T(b) T(a!) T(c!) U");
  const request asked = talk.request_for("m");
  CHECK(asked.messages[3].text == conversation::no_result);
  CHECK(holds(asked));
  // The conversation itself goes on waiting, and a late result finds its place.
  CHECK(outline(talk.messages()) == "U A[a,b,c] T(b) U");
  talk.add(says("Well."));
  REQUIRE(talk.tool_result(turn.tool_calls[0], "one"));
  CHECK(sent(talk) == "U A[a,b,c] T(b) T(a) T(c!) U A");
}

TEST_CASE("an id is used once, whatever the model does") {
  conversation talk;
  const reply first = calls({"a"});
  const reply second = calls({"a"});
  talk.user("?").add(first);
  REQUIRE(talk.tool_result(first.tool_calls[0], "one"));
  talk.add(second);
  REQUIRE(talk.tool_result(second.tool_calls[0], "two"));
  CHECK(sent(talk) == "U A[a] T(a) A[a_0] T(a_0)");
  CHECK(holds(talk.request_for("m")));

  // Twice in one reply: each gets its own, in order.
  conversation twice;
  const reply both = calls({"x", "x", "x_1"});
  twice.user("?").add(both);
  CHECK(outline(twice.messages()) == "U A[x,x_2,x_1]");
  REQUIRE(twice.tool_result(both.tool_calls[0], "one"));
  REQUIRE(twice.tool_result(both.tool_calls[1], "two"));
  REQUIRE(twice.tool_result(both.tool_calls[2], "three"));
  CHECK(sent(twice) == "U A[x,x_2,x_1] T(x) T(x_2) T(x_1)");
  CHECK(twice.messages()[3].text == "two");
}

TEST_CASE("an open call is answered by the latest reply that made it") {
  conversation talk;
  const reply turn = calls({"a"});
  talk.user("?").add(turn).user("Again?").add(turn);
  REQUIRE(talk.tool_result(turn.tool_calls[0], "late"));
  CHECK(sent(talk) == "U A[a] T(a!) U A[a_0] T(a_0)");
  REQUIRE(talk.tool_result(turn.tool_calls[0], "later"));
  CHECK(sent(talk) == "U A[a] T(a) U A[a_0] T(a_0)");
  // By the id that it is sent under, too.
  talk.add(turn);
  REQUIRE(talk.tool_result(talk.open_calls().front(), "by its own id"));
  CHECK(talk.open_calls().empty());
  CHECK(holds(talk.request_for("m")));
}

TEST_CASE("calls without an id are given one") {
  conversation talk;
  const reply turn = calls({"", ""});
  talk.user("?").add(turn);
  REQUIRE(talk.tool_result(turn.tool_calls[1], "two"));
  CHECK(holds(talk.request_for("m")));
}

TEST_CASE("a reply that says nothing adds nothing, a refusal its words") {
  conversation talk;
  talk.user("?").add(reply());
  CHECK(sent(talk) == "U");
  reply refused;
  refused.refusal = "I would rather not.";
  talk.add(refused);
  CHECK(sent(talk) == "U A");
  CHECK(talk.messages().back().text == "I would rather not.");
  reply thoughts;
  thoughts.opaque.emplace_back(sluice::llm::dialect::anthropic_messages, "{}");
  talk.user("?").add(thoughts);
  CHECK(talk.messages().back().opaque.size() == 1);
}

TEST_CASE("its length by estimate") {
  conversation talk("abcdefgh");
  talk.user(std::string(400, 'q'));
  CHECK(talk.tokens() == 2 + 4 + 100 + 4);
  CHECK(talk.tokens("claude-sonnet-4") == 3 + 4 + 115 + 4);
  CHECK(conversation().tokens() == 0);
}

TEST_CASE("cutting takes whole turns from the beginning, and keeps the program's message") {
  conversation talk("System.");
  for (int turn = 0; turn < 4; ++turn) {
    const std::string id(1, static_cast<char>('a' + turn));
    const reply made = calls({id});
    talk.user(std::string(400, 'q')).add(made);
    REQUIRE(talk.tool_result(made.tool_calls[0], "result"));
    talk.add(says("answer"));
  }
  CHECK(outline(talk.messages()) == "S U A[a] T(a) A U A[b] T(b) A U A[c] T(c) A U A[d] T(d) A");
  CHECK(talk.trim(10'000) == 0);
  const std::int64_t all = talk.tokens();
  CHECK(talk.trim(all) == 0);
  CHECK(talk.trim(all - 1) == 4);
  CHECK(outline(talk.messages()) == "S U A[b] T(b) A U A[c] T(c) A U A[d] T(d) A");
  CHECK(talk.trim(talk.tokens() - 150) == 8);
  CHECK(outline(talk.messages()) == "S U A[d] T(d) A");
  CHECK(talk.tokens() < all);
  // What is over cannot be cut without losing the question or its last answer.
  CHECK(talk.trim(1) == 2);
  CHECK(outline(talk.messages()) == "S U A");
  CHECK(talk.trim(1) == 0);
}

TEST_CASE("inside the last turn whole rounds go, never a result without its call") {
  conversation talk;
  talk.user("?").user("I mean:");
  for (const char* id : {"a", "b", "c"}) {
    const reply made = calls({id, std::string(id) + "2"});
    talk.add(made);
    REQUIRE(talk.tool_result(made.tool_calls[0], std::string(400, 'r')));
    REQUIRE(talk.tool_result(made.tool_calls[1], std::string(400, 'r')));
  }
  CHECK(talk.trim(talk.tokens() - 1) == 3);
  CHECK(outline(talk.messages()) == "U U A[b,b2] T(b) T(b2) A[c,c2] T(c) T(c2)");
  CHECK(talk.trim(0) == 3);
  CHECK(outline(talk.messages()) == "U U A[c,c2] T(c) T(c2)");
  CHECK(holds(talk.request_for("m")));
}

TEST_CASE("calls that were cut off wait no more") {
  conversation talk;
  const reply lost = calls({"a"});
  talk.user(std::string(4'000, 'q')).add(lost).user("Go on.").add(says("Yes?"));
  CHECK(talk.trim(100) == 2);
  CHECK(sent(talk) == "U A");
  CHECK(talk.open_calls().empty());
  CHECK_FALSE(talk.tool_result(lost.tool_calls[0], "late"));
}

TEST_CASE("little or nothing to cut") {
  conversation none;
  CHECK(none.trim(0) == 0);
  conversation rules("System.");
  CHECK(rules.trim(0) == 0);
  conversation question("System.");
  question.user("?");
  CHECK(question.trim(0) == 0);
  conversation greeting;
  greeting.add(says(std::string(400, 'h'))).user("Hello.");
  CHECK(greeting.trim(50) == 1);
  CHECK(sent(greeting) == "U");
}

TEST_CASE("many calls in one turn") {
  conversation talk;
  std::vector<std::string> ids;
  for (int i = 0; i < 792; ++i) ids.push_back("call_" + std::to_string(i % 100));
  const reply turn = calls(ids);
  talk.user("?").add(turn);
  for (std::size_t i = 0; i < 700; ++i) REQUIRE(talk.tool_result(turn.tool_calls[i], std::to_string(i)));
  const request asked = talk.request_for("m");
  CHECK(asked.messages.size() == 1 + 1 + 792);
  CHECK(holds(asked));
  for (std::size_t i = 0; i < 700; ++i) REQUIRE(asked.messages[2 + i].text == std::to_string(i));
}

TEST_CASE("tens of thousands of results find their calls") {
  constexpr std::size_t many = 40'000;
  // All in one turn.
  conversation one;
  reply turn;
  for (std::size_t i = 0; i < many; ++i) turn.tool_calls.emplace_back("call", "f", "{}");
  one.user("?").add(turn);
  std::size_t right = 0;
  for (std::size_t i = 0; i < many; ++i) right += one.tool_result(turn.tool_calls[i], std::to_string(i)) ? 1U : 0U;
  CHECK(right == many);
  REQUIRE(one.messages().size() == 2 + many);
  for (std::size_t i = 0; i < many; ++i) {
    const message& result = one.messages()[2 + i];
    right -= result.text == std::to_string(i) && result.tool_call_id == one.messages()[1].tool_calls[i].id ? 1U : 0U;
  }
  CHECK(right == 0);

  // One in each turn, at once or when all has been said; then the latest call comes first.
  for (const bool late : {false, true}) {
    CAPTURE(late);
    conversation talk;
    const reply call = calls({"a"});
    talk.user("?");
    for (std::size_t i = 0; i < many; ++i) {
      talk.add(call);
      if (!late) right += talk.tool_result(call.tool_calls[0], std::to_string(i)) ? 1U : 0U;
    }
    for (std::size_t i = many; late && i-- > 0;)
      right += talk.tool_result(call.tool_calls[0], std::to_string(i)) ? 1U : 0U;
    CHECK(right == many);
    CHECK(talk.open_calls().empty());
    REQUIRE(talk.messages().size() == 1 + 2 * many);
    for (std::size_t i = 0; i < many; ++i) {
      const message& result = talk.messages()[2 + 2 * i];
      right -= result.text == std::to_string(i) && result.tool_call_id == (&result - 1)->tool_calls[0].id ? 1U : 0U;
    }
    CHECK(right == 0);
  }
}

TEST_CASE("a copy goes its own way, and what was moved from may be used again") {
  conversation talk("System.");
  const reply turn = calls({"a", "b"});
  talk.user("?").add(turn).user("Well?");
  REQUIRE(talk.tool_result(turn.tool_calls[0], "one"));
  conversation copy = talk;
  REQUIRE(copy.tool_result(turn.tool_calls[1], "two"));
  CHECK(sent(copy) == "S U A[a,b] T(a) T(b) U");
  CHECK(sent(talk) == "S U A[a,b] T(a) T(b!) U");
  REQUIRE(talk.tool_result(turn.tool_calls[1], "two"));
  talk = copy;
  CHECK(sent(talk) == "S U A[a,b] T(a) T(b) U");
  conversation taken = std::move(talk);
  CHECK(sent(taken) == "S U A[a,b] T(a) T(b) U");
  talk = conversation();
  talk.user("?").add(turn);
  REQUIRE(talk.tool_result(turn.tool_calls[1], "two"));
  CHECK(sent(talk) == "U A[a,b] T(b) T(a!)");
}

TEST_CASE("late results are there whatever is asked for first") {
  const auto late = [] {
    conversation talk;
    const reply first = calls({"a"});
    const reply second = calls({"b", "c"});
    talk.user("?").add(first).user("And?").add(second).user("Well?");
    REQUIRE(talk.tool_result(second.tool_calls[1], "three"));
    REQUIRE(talk.tool_result(first.tool_calls[0], std::string(400, 'r')));
    REQUIRE(talk.tool_result(second.tool_calls[0], "two"));
    return talk;
  };
  CHECK(outline(late().messages()) == "U A[a] T(a) U A[b,c] T(c) T(b) U");
  CHECK(sent(late()) == "U A[a] T(a) U A[b,c] T(c) T(b) U");
  conversation sorted = late();
  static_cast<void>(sorted.messages());
  CHECK(late().tokens() == sorted.tokens());
  conversation cut = late();
  CHECK(cut.trim(cut.tokens() - 100) == 3);
  CHECK(sent(cut) == "U A[b,c] T(c) T(b) U");
}

TEST_CASE("an id that was cut off may be used again") {
  conversation talk;
  talk.user(std::string(4'000, 'q')).add(calls({"a"})).user("?");
  CHECK(talk.trim(100) == 2);
  talk.add(calls({"a"}));
  CHECK(sent(talk) == "U A[a] T(a!)");
}

TEST_CASE("whatever happens, the next request holds") {
  std::mt19937 random(7);
  const auto below = [&random](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  for (int run = 0; run < 200; ++run) {
    conversation talk = below(2) == 0 ? conversation() : conversation("System.");
    std::vector<tool_call> made;
    for (int step = 0; step < 40; ++step) {
      switch (below(5)) {
        case 0: talk.user(std::string(below(200), 'q')); break;
        case 1: talk.add(says(std::string(below(200), 'a'))); break;
        case 2: {
          std::vector<std::string> ids;
          for (std::size_t i = 0, count = 1 + below(3); i < count; ++i) ids.push_back(std::string(1, "abc"[below(3)]));
          const reply turn = calls(ids);
          talk.add(turn);
          made.insert(made.end(), turn.tool_calls.begin(), turn.tool_calls.end());
          break;
        }
        case 3:
          if (!made.empty()) static_cast<void>(talk.tool_result(made[below(made.size())], "r"));
          break;
        case 4:
          if (below(4) == 0) talk.trim(static_cast<std::int64_t>(below(300)));
          break;
      }
      REQUIRE(holds(talk.request_for("m")));
    }
  }
}
