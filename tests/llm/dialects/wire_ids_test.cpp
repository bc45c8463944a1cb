#include "llm/dialects/wire_ids.hpp"

#include "llm/dialects/call_ids.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice::llm;

namespace {

message calls(const std::vector<std::string>& ids) {
  message said(role::assistant, "");
  for (const std::string& id : ids) said.tool_calls.emplace_back(id, "f", "{}");
  return said;
}

message result(const std::string& id) {
  message said(role::tool, "done");
  said.tool_call_id = id;
  return said;
}

// All ids as they are sent, a message each.
std::string sent(const std::vector<message>& conversation, id_alphabet allowed = id_alphabet::any) {
  const wire_ids ids(conversation, allowed);
  std::string out;
  for (std::size_t i = 0; i < conversation.size(); ++i) {
    for (std::size_t nth = 0; nth < conversation[i].tool_calls.size(); ++nth) out += ids.of_call(i, nth) + ' ';
    if (conversation[i].who == role::tool) out += '>' + ids.of_result(i);
    out += '|';
  }
  return out;
}

}  // namespace

TEST_CASE("ids that are unique go as they are") {
  CHECK(sent({message(role::user, "x"), calls({"a", "b"}), result("b"), result("a"), calls({"c"}), result("c")}) ==
        "|a b |>b|>a|c |>c|");
}

TEST_CASE("tools 11: an id used twice in one turn is two ids, and each call has its own result") {
  CHECK(sent({calls({"a", "a", "a"}), result("a"), result("a"), result("a")}) == "a a_2 a_3 |>a|>a_2|>a_3|");
  CHECK(sent({calls({"a", "b", "a"}), result("b"), result("a"), result("a")}) == "a b a_2 |>b|>a|>a_2|");
}

TEST_CASE("tools 11: an id used again in a later turn is another id from there on") {
  CHECK(sent({calls({"a"}), result("a"), calls({"a"}), result("a"), calls({"a"}), result("a")}) ==
        "a |>a|a_2 |>a_2|a_3 |>a_3|");
  // The first call was never answered; the result is the latest turn's.
  CHECK(sent({calls({"a"}), message(role::user, "again"), calls({"a"}), result("a")}) == "a ||a_2 |>a_2|");
}

TEST_CASE("made-up ids keep clear of those that are there") {
  CHECK(sent({calls({"a", "a", "a_2"}), result("a"), result("a"), result("a_2")}) == "a a_3 a_2 |>a|>a_3|>a_2|");
}

TEST_CASE("a result too many goes to the last call of that id, and one without a call keeps its id") {
  CHECK(sent({calls({"a"}), result("a"), result("a"), result("zzz")}) == "a |>a|>a|>zzz|");
}

TEST_CASE("ids that a dialect does not allow are spelled anew, on both sides") {
  CHECK(sent({calls({"functions.f:0", "functions_f_0"}), result("functions.f:0"), result("functions_f_0")},
             id_alphabet::word) == "functions_f_0 functions_f_0_2 |>functions_f_0|>functions_f_0_2|");
  CHECK(sent({result("a b")}, id_alphabet::word) == ">a_b|");
  CHECK(sent({result("a b")}, id_alphabet::any) == ">a b|");
}

TEST_CASE("many calls of one id are linear work") {
  call_ids ids;
  constexpr std::size_t many = 50'000;
  for (std::size_t i = 0; i < many; ++i) ids.take("a_" + std::to_string(i));
  CHECK(ids.unique("a", 2) == "a");
  CHECK(ids.unique("a", 2) == "a_50000");
  for (std::size_t i = 1; i < many; ++i) {
    if (ids.unique("a", 2) != "a_" + std::to_string(many + i)) FAIL("at " << i);
  }
  CHECK(ids.unique("", 1) == "call_1");
}
