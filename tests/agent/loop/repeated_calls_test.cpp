#include "agent/loop/repeated_calls.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::agent::detail::repeated_calls;
using sluice::llm::tool_call;

TEST_CASE("calls are the same by name and arguments, whatever their ids") {
  repeated_calls seen;
  CHECK(seen.count(tool_call("t1", "f", "{}")) == 1);
  CHECK(seen.count(tool_call("t2", "f", "{}")) == 2);
  CHECK(seen.count(tool_call("t1", "g", "{}")) == 1);
  CHECK(seen.count(tool_call("t1", "f", "{ }")) == 1);
  CHECK(seen.count(tool_call("t3", "f", "{}")) == 3);
}

TEST_CASE("name and arguments do not run into each other") {
  repeated_calls seen;
  CHECK(seen.count(tool_call("t", "ab", "c")) == 1);
  CHECK(seen.count(tool_call("t", "a", "bc")) == 1);
  CHECK(seen.count(tool_call("t", "c", "ab")) == 1);
}

TEST_CASE("many calls are kept apart") {
  repeated_calls seen;
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < 2'000; ++i) {
      REQUIRE(seen.count(tool_call("t", "f", R"({"n":)" + std::to_string(i) + "}")) == static_cast<unsigned>(round));
    }
  }
}
