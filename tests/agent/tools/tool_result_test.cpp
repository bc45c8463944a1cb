#include <sluice/agent/tool_result.hpp>

#include <doctest/doctest.h>

namespace agent = sluice::agent;

TEST_CASE("a tool result is an error unless its handler answered") {
  agent::tool_result result(sluice::llm::tool_call("call_1", "weather", "{}"));
  CHECK(result.is_error());
  CHECK(to_string(result.outcome) == "cancelled");
  result.outcome = agent::tool_outcome::answered;
  CHECK_FALSE(result.is_error());
  for (const auto other : {agent::tool_outcome::failed, agent::tool_outcome::invalid, agent::tool_outcome::refused,
                           agent::tool_outcome::timed_out, agent::tool_outcome::cancelled}) {
    result.outcome = other;
    CHECK(result.is_error());
    CHECK(to_string(other) != "unknown");
  }
}
