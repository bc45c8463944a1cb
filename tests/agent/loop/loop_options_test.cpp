#include <sluice/agent/loop_options.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>

namespace agent = sluice::agent;
using sluice::errc;

TEST_CASE("what is not said holds") {
  CHECK(validate(agent::loop_options("m")));
  sluice::llm::request with_limit("m");
  CHECK(validate(agent::loop_options(with_limit.limit_output(1))));
}

TEST_CASE("an option that does not hold is named with its value") {
  const std::pair<std::string, std::function<void(agent::loop_options&)>> rows[] = {
      {"loop_options::request.model is empty; name the model", [](auto& how) { how.request.model.clear(); }},
      {"loop_options::request.max_output_tokens = 0; it is at least 1", [](auto& how) { how.request.limit_output(0); }},
      {"loop_options::max_turns = 0; it is at least 1", [](auto& how) { how.max_turns = 0; }},
      {"loop_options::least_output = 0; it is at least 1", [](auto& how) { how.least_output = 0; }},
      {"loop_options::default_output = -5; it is at least 1", [](auto& how) { how.default_output = -5; }},
      {"loop_options::max_repeats = 0; it is at least 1", [](auto& how) { how.max_repeats = 0; }},
      {"loop_options::history.most_tokens = 0; it is at least 1", [](auto& how) { how.history.most_tokens = 0; }},
      {"loop_options::history.retries_when_too_long = -1; it is at least 0",
       [](auto& how) { how.history.retries_when_too_long = -1; }},
  };
  for (const auto& [message, spoil] : rows) {
    agent::loop_options how("m");
    spoil(how);
    const auto checked = validate(how);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().is(errc::invalid_argument));
    CHECK(checked.error().message() == message);
  }
}
