#include <sluice/agent/loop_event.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using kind = sluice::agent::loop_event::kind;

TEST_CASE("each kind of event has a name of its own") {
  std::set<std::string> names;
  for (const kind each : {kind::turn_started, kind::text, kind::reasoning, kind::tool_started, kind::tool_finished,
                          kind::usage, kind::warning}) {
    names.emplace(to_string(each));
  }
  CHECK(names.size() == 7);
  CHECK_FALSE(names.contains("unknown"));
  CHECK(to_string(kind::tool_finished) == "tool_finished");
}
