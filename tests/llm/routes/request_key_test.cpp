#include "llm/routes/request_key.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

using sluice::llm::content_part;
using sluice::llm::dialect;
using sluice::llm::message;
using sluice::llm::opaque_block;
using sluice::llm::request;
using sluice::llm::role;
using sluice::llm::tool;
using sluice::llm::tool_call;
using sluice::llm::tool_choice;
using sluice::llm::detail::request_key;

namespace {

request full() {
  request made("m");
  made.system("be brief").user("why?");
  made.add(message(role::user, "look").with(content_part::image_url("http://x/y.png")));
  message said(role::assistant, "");
  said.tool_calls.emplace_back("t1", "look", "{}");
  said.opaque.emplace_back(dialect::anthropic_messages, "{}");
  made.add(said).tool_result("t1", "nothing");
  made.with_tool(tool("look", "looks"))
      .choose(tool_choice::required)
      .force_tool("look")
      .limit_output(5)
      .with_temperature(0.5);
  made.with_seed(1).stop_at("x").one_call_at_a_time().think("low").on_behalf_of("u").json_output("s", "{}").extra(
      "top_p", "1");
  return made;
}

}  // namespace

TEST_CASE("equal requests have equal keys") {
  CHECK(request_key(full()) == request_key(full()));
  CHECK(request_key(request("m")) == request_key(request("m")));
}

TEST_CASE("a difference in any field is a difference of keys") {
  using change = std::function<void(request&)>;
  const std::vector<change> changes{
      [](request&) {},
      [](request& r) { r.model = "n"; },
      [](request& r) { r.messages.pop_back(); },
      [](request& r) { r.messages[0].who = role::user; },
      [](request& r) { r.messages[0].text = "be brie"; },
      [](request& r) { r.messages[2].parts[0].content += "?"; },
      [](request& r) { r.messages[2].parts[0].media_type = "image/png"; },
      [](request& r) { r.messages[2].parts[0].name = "n"; },
      [](request& r) { r.messages[2].parts[0].what = content_part::kind::text; },
      [](request& r) { r.messages[2].parts[0].spoken = dialect::openai_responses; },
      [](request& r) { r.messages[3].tool_calls[0].id = "t2"; },
      [](request& r) { r.messages[3].tool_calls[0].name = "see"; },
      [](request& r) { r.messages[3].tool_calls[0].arguments = "{ }"; },
      [](request& r) { r.messages[3].tool_calls[0].valid = false; },
      [](request& r) { r.messages[3].tool_calls[0].problem = "p"; },
      [](request& r) { r.messages[3].opaque[0].json = "{ }"; },
      [](request& r) { r.messages[3].opaque[0].spoken = dialect::openai_chat; },
      [](request& r) { r.messages[4].tool_call_id = "t2"; },
      [](request& r) { r.messages[4].is_error = true; },
      [](request& r) { r.tools[0].name = "see"; },
      [](request& r) { r.tools[0].description = "sees"; },
      [](request& r) { r.tools[0].parameters = "{}"; },
      [](request& r) { r.tools[0].strict = true; },
      [](request& r) { r.choice = tool_choice::none; },
      [](request& r) { r.choice.reset(); },
      [](request& r) { r.forced_tool.clear(); },
      [](request& r) { r.max_output_tokens = 6; },
      [](request& r) { r.max_output_tokens.reset(); },
      [](request& r) { r.temperature = 0.25; },
      [](request& r) { r.temperature.reset(); },
      [](request& r) { r.seed = 2; },
      [](request& r) { r.seed.reset(); },
      [](request& r) { r.stop.emplace_back(""); },
      [](request& r) { r.parallel_tool_calls = true; },
      [](request& r) { r.parallel_tool_calls.reset(); },
      [](request& r) { r.reasoning_effort = "high"; },
      [](request& r) { r.end_user = "v"; },
      [](request& r) { r.format.name = "t"; },
      [](request& r) { r.format.schema = "{ }"; },
      [](request& r) { r.format.strict = false; },
      [](request& r) { r.format = {}; },
      [](request& r) { r.extra_fields[0].first = "top_k"; },
      [](request& r) { r.extra_fields[0].second = "2"; },
  };
  std::set<std::string> keys;
  for (const change& each : changes) {
    request changed = full();
    each(changed);
    keys.insert(request_key(changed));
  }
  CHECK(keys.size() == changes.size());
}

TEST_CASE("what stands in one field cannot be taken for what stands in two") {
  CHECK(request_key(request("m").user("ab")) != request_key(request("m").user("a").user("b")));
  CHECK(request_key(request("m").stop_at("ab").stop_at("")) != request_key(request("m").stop_at("a").stop_at("b")));
  CHECK(request_key(request("m").extra("a", "b")) != request_key(request("m").extra("", "ab")));
  const std::string zero(1, '\0');
  CHECK(request_key(request("m").user(zero)) != request_key(request("m").user(zero + zero)));
}
