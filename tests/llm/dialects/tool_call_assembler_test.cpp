#include "llm/dialects/tool_call_assembler.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using sluice::llm::finish_reason;
using sluice::llm::tool_call;
using sluice::llm::tool_call_assembler;
using sluice::llm::tool_call_fragment;

namespace {

using part = tool_call_fragment;

// Each list is one delta.
std::vector<tool_call> assemble(const std::vector<std::vector<part>>& deltas,
                                finish_reason why = finish_reason::tool_calls) {
  tool_call_assembler calls;
  for (const auto& delta : deltas) {
    calls.begin_delta();
    for (const part& one : delta) calls.add(one);
  }
  return calls.finish(why);
}

std::string shown(const std::vector<tool_call>& calls) {
  std::string out;
  for (const tool_call& call : calls) {
    out += call.id + ':' + call.name + ':' + call.arguments + (call.valid ? "" : "!") + ' ';
  }
  return out;
}

std::string problem(std::string_view arguments, finish_reason why = finish_reason::tool_calls) {
  const auto calls = assemble({{{.index = 0, .id = "a", .name = "f", .arguments = arguments}}}, why);
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].valid == calls[0].problem.empty());
  return calls[0].problem;
}

}  // namespace

TEST_CASE("tools 1: fragments of one call are joined") {
  CHECK(shown(assemble({{{.index = 0, .id = "a", .name = "f", .arguments = ""}},
                        {{.index = 0, .arguments = "{\"ci"}},
                        {{.index = 0, .arguments = "ty\":\"P"}},
                        {{.index = 0, .arguments = "aris\"}"}}})) == "a:f:{\"city\":\"Paris\"} ");
}

TEST_CASE("tools 2: calls are kept apart by index, and given in its order") {
  CHECK(shown(assemble({{{.index = 0, .id = "a", .name = "f", .arguments = "{\"x\""}},
                        {{.index = 1, .id = "b", .name = "g", .arguments = "{\"y\""}},
                        {{.index = 0, .arguments = ":1}"}},
                        {{.index = 1, .arguments = ":2}"}}})) == "a:f:{\"x\":1} b:g:{\"y\":2} ");
  CHECK(shown(assemble({{{.index = 0, .id = "a", .name = "f"}}, {{.index = 2, .id = "c", .name = "h"}}})) ==
        "a:f:{} c:h:{} ");
  CHECK(shown(assemble({{{.index = 1, .id = "b", .name = "g"}}, {{.index = 0, .id = "a", .name = "f"}}})) ==
        "a:f:{} b:g:{} ");
}

TEST_CASE("rules 5: an index that is used again with another id and a name is another call") {
  CHECK(shown(assemble({{{.index = 0, .id = "a", .name = "f", .arguments = "{}"}},
                        {{.index = 0, .id = "b", .name = "f", .arguments = "{\"n\""}},
                        {{.index = 0, .arguments = ":1}"}}})) == "a:f:{} b:f:{\"n\":1} ");
}

TEST_CASE("tools 3: without an index a new id begins a call, and what has no id goes to the last") {
  CHECK(shown(assemble({{{.id = "a", .name = "f", .arguments = "{\"x\""}},
                        {{.arguments = ":1}"}},
                        {{.id = "b", .name = "g"}},
                        {{.arguments = "{}"}}})) == "a:f:{\"x\":1} b:g:{} ");
  CHECK(shown(assemble({{{.id = "a", .name = "f", .arguments = "{"}}, {{.id = "a", .arguments = "}"}}})) == "a:f:{} ");
}

TEST_CASE("tools 4: id and name that are repeated are not joined, and empty ones erase nothing") {
  CHECK(shown(assemble({{{.index = 0, .id = "a", .name = "f", .arguments = "{"}},
                        {{.index = 0, .id = "a", .name = "f", .arguments = "}"}},
                        {{.index = 0, .id = "", .name = ""}}})) == "a:f:{} ");
  CHECK(shown(assemble({{{.name = "f", .arguments = "{"}}, {{.name = "f", .arguments = "}"}}})) == "call_1:f:{} ");
}

TEST_CASE("rules 5: id and name may come late") {
  CHECK(shown(assemble({{{.index = 0, .arguments = "{"}},
                        {{.index = 0, .name = "f"}},
                        {{.index = 0, .id = "a", .arguments = "}"}}})) == "a:f:{} ");
  CHECK(shown(assemble({{{.name = "f", .arguments = "{"}}, {{.id = "a", .arguments = "}"}}})) == "a:f:{} ");
}

TEST_CASE("tools 5: several whole calls in one delta") {
  CHECK(shown(assemble({{{.name = "f", .arguments = "{\"n\":1}", .whole = true},
                         {.name = "f", .arguments = "{\"n\":2}", .whole = true}}})) ==
        "call_1:f:{\"n\":1} call_2:f:{\"n\":2} ");
  CHECK(shown(assemble({{{.name = "f", .arguments = "{}"}, {.name = "f", .arguments = "{}"}}})) ==
        "call_1:f:{} call_2:f:{} ");
}

TEST_CASE("tools 11: ids are unique") {
  CHECK(shown(assemble({{{.index = 0, .id = "a", .name = "f"},
                         {.index = 1, .id = "a", .name = "g"},
                         {.index = 2, .id = "a", .name = "h"}}})) == "a:f:{} a_2:g:{} a_3:h:{} ");
  CHECK(shown(assemble({{{.id = "a", .name = "f"}, {.id = "a", .name = "g"}}})) == "a:f:{} a_2:g:{} ");
  // A made-up id keeps clear of those that are there.
  CHECK(shown(assemble({{{.index = 0, .name = "f"}, {.index = 1, .id = "call_1", .name = "g"}}})) ==
        "call_2:f:{} call_1:g:{} ");
}

TEST_CASE("tools 6: arguments are judged at the end") {
  CHECK(problem("") == "");
  CHECK(problem("  ") == "");
  CHECK(problem("{\"a\":1}") == "");
  CHECK(problem("{}{}") == "the arguments are not valid JSON");
  CHECK(problem("{\"a\":1,}") == "the arguments are not valid JSON");
  CHECK(problem("[1]") == "the arguments are not a JSON object");
  CHECK(problem("null") == "the arguments are not a JSON object");
  CHECK(problem("{\"a\":\"b", finish_reason::length) == "the arguments were cut off by the answer's token limit");
  CHECK(problem("", finish_reason::length).find("cut off") != std::string::npos);
  CHECK(problem(std::string(100'000, '[')) == "the arguments are nested deeper than 512 levels");
  const std::string deep = "{\"a\":" + std::string(511, '[') + std::string(511, ']') + "}";
  CHECK(problem(deep) == "");
  CHECK(problem("{\"a\":" + deep + "}") == "the arguments are nested deeper than 512 levels");
}

TEST_CASE("tools 9: a name that no tool can have makes the call invalid") {
  const auto valid = [](std::string_view name) {
    return assemble({{{.index = 0, .id = "a", .name = name, .arguments = "{}"}}}).at(0).valid;
  };
  CHECK(valid("get_weather-2.x"));
  CHECK_FALSE(valid(""));
  CHECK_FALSE(valid("get weather"));
  CHECK_FALSE(valid(std::string(200, 'f')));
  CHECK_FALSE(valid("f\n"));
}

TEST_CASE("very many calls, and very many fragments, are linear work") {
  tool_call_assembler calls;
  constexpr std::int64_t many = 50'000;
  for (std::int64_t i = 0; i < many; ++i) {
    calls.begin_delta();
    calls.add({.index = i, .id = "same", .name = "f", .arguments = "{"});
  }
  for (std::int64_t i = 0; i < many; ++i) {
    calls.begin_delta();
    calls.add({.index = i, .arguments = "}"});
  }
  const auto whole = calls.finish(finish_reason::tool_calls);
  REQUIRE(whole.size() == many);
  CHECK(whole.front().id == "same");
  CHECK(whole.back().id == "same_50000");
  CHECK(whole.back().arguments == "{}");

  tool_call_assembler unnumbered;
  for (std::int64_t i = 0; i < many; ++i) {
    unnumbered.begin_delta();
    const std::string id = "id" + std::to_string(i);
    unnumbered.add({.id = id, .name = "f"});
  }
  CHECK(unnumbered.finish(finish_reason::tool_calls).size() == many);
}
