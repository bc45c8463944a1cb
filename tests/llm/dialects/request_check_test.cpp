#include "llm/dialects/request_check.hpp"

#include "llm/dialects/wire_format.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace sluice::llm;

namespace {

constexpr dialect all[] = {dialect::openai_chat, dialect::openai_responses, dialect::anthropic_messages};

// Why no dialect would send it; empty when all would, and a word when they do not agree.
std::string refused(const request& asked) {
  std::string first;
  for (const dialect spoken : all) {
    const auto body = wire_format_of(spoken).encode(asked, {});
    if (!body) CHECK(body.error().is(sluice::errc::invalid_argument));
    const std::string why = body ? std::string() : body.error().message();
    if (spoken == all[0]) first = why;
    if (why != first) return "they do not agree: " + why;
  }
  return first;
}

request question() { return request("m").user("x"); }

message with_part(content_part part) { return message(role::user, "x").with(std::move(part)); }

}  // namespace

TEST_CASE("what holds is sent in every dialect") {
  CHECK(refused(question().with_tool(tool("f", "")).force_tool("f")).empty());
}

TEST_CASE("how tools are chosen is sent also when they are offered in a field of the caller's own") {
  const auto choice = [](dialect spoken, const request& asked) {
    const auto body = wire_format_of(spoken).encode(asked, {});
    REQUIRE(body.has_value());
    return json_value::parse(*body)["tool_choice"].dump();
  };
  const request offering = question().extra("tools", R"([{"type":"web_search"}])");
  CHECK(choice(dialect::openai_chat, request(offering).choose(tool_choice::required)) == R"("required")");
  CHECK(choice(dialect::openai_responses, request(offering).choose(tool_choice::required)) == R"("required")");
  CHECK(choice(dialect::anthropic_messages, request(offering).choose(tool_choice::required)) == R"({"type":"any"})");
  CHECK(choice(dialect::openai_chat, request(offering).force_tool("g")) ==
        R"({"type":"function","function":{"name":"g"}})");
  CHECK(choice(dialect::openai_responses, request(offering).force_tool("g")) == R"({"type":"function","name":"g"})");
  CHECK(choice(dialect::anthropic_messages, request(offering).force_tool("g")) == R"({"type":"tool","name":"g"})");
}

TEST_CASE("what holds in no dialect is named") {
  const auto names = [](const request& asked, const char* what) {
    return refused(asked).find(what) != std::string::npos;
  };
  CHECK(refused(request("m")) == "the request does not hold: messages is empty");
  CHECK(names(request("").user("x"), "model is empty"));
  CHECK(names(question().limit_output(0), "max_output_tokens = 0; must be positive"));
  CHECK(names(question().with_temperature(std::numeric_limits<double>::infinity()), "temperature"));
  CHECK(names(question().tool_result("", "x"), "messages[1].tool_call_id is empty"));
  CHECK(names(question().with_tool(tool("", "")), "tools[0].name is empty"));
  CHECK(names(question().with_tool(tool("f", "")).with_tool(tool("f", "")),
              "tools[1]: a tool named 'f' is there already"));
  CHECK(names(question().with_tool(tool("f", "", "[]")), "tools['f'].parameters is not a JSON object"));
  CHECK(
      names(question().with_tool(tool("f", "", "{\"a\":" + std::string(1'000, '['))), "nested deeper than 512 levels"));
  CHECK(names(question().force_tool("g"), "forced_tool: no tool named 'g' is offered"));
  CHECK(refused(question().force_tool("g").extra("tools", "[]")).empty());
  CHECK(refused(question().choose(tool_choice::required)) ==
        "the request does not hold: choice: a tool call is required, and no tool is offered");
  CHECK(refused(question().choose(tool_choice::required).extra("tools", "[]")).empty());
  CHECK(refused(question().choose(tool_choice::automatic)).empty());
  CHECK(refused(question().choose(tool_choice::none).one_call_at_a_time()).empty());
  for (const char* limit : {"max_tokens", "max_completion_tokens", "max_output_tokens"}) {
    CHECK(names(question().extra(limit, "5000"), limit));
    CHECK(names(question().extra(limit, "5000"), "would go past what is reserved; use limit_output"));
  }
  CHECK(names(question().extra("top_p", "0.9}"), "extra: the value of top_p is not JSON"));
  CHECK(names(question().extra("x", std::string(10'000, '[') + std::string(10'000, ']')), "extra: the value of x"));

  message calling(role::user, "x");
  calling.tool_calls.emplace_back("a", "f", "{}");
  CHECK(names(request("m").add(calling), "messages[0].tool_calls: only the assistant makes calls"));
  message answering(role::assistant, "x");
  answering.tool_calls.emplace_back("", "f", "{}");
  CHECK(names(question().add(answering), "messages[1].tool_calls[0].id is empty"));
  answering.tool_calls[0] = tool_call("a", "", "{}");
  CHECK(names(question().add(answering), "messages[1].tool_calls[0].name is empty"));
  message thinking(role::tool, "x");
  thinking.tool_call_id = "a";
  thinking.opaque.emplace_back(dialect::openai_chat, "{}");
  CHECK(names(question().add(thinking), "messages[1].opaque: only the assistant's answers have blocks"));
  CHECK(names(request("m").add(with_part(content_part::image_url(""))), "messages[0].parts[0] is empty"));
  CHECK(
      names(request("m").add(with_part(content_part::file("a", "", "A"))), "messages[0].parts[0].media_type is empty"));
}

TEST_CASE("blocks and parts of another dialect are refused by name, and broken ones too") {
  for (const dialect spoken : all) {
    for (const dialect other : all) {
      CAPTURE(to_string(spoken));
      CAPTURE(to_string(other));
      const auto why = [spoken](const request& asked) {
        const auto body = wire_format_of(spoken).encode(asked, {});
        return body ? std::string() : body.error().message();
      };
      message thinking(role::assistant, "x");
      thinking.opaque.emplace_back(other, "{\"type\":\"x\"}");
      const request with_block = question().add(thinking);
      const request native = request("m").add(with_part(content_part::native(other, "{\"type\":\"x\"}")));
      if (spoken == other) {
        CHECK(why(with_block).empty());
        CHECK(why(native).empty());
      } else {
        CHECK(why(with_block).find("messages[1].opaque holds a block of " + std::string(to_string(other))) !=
              std::string::npos);
        CHECK(why(native).find("messages[0].parts[0] is a part of " + std::string(to_string(other))) !=
              std::string::npos);
      }
      thinking.opaque[0] = opaque_block(spoken, "[1]");
      CHECK(why(question().add(thinking)).find("messages[1].opaque is not a JSON object") != std::string::npos);
    }
  }
}

TEST_CASE("paths and headers") {
  const auto headers_of = [](dialect spoken) {
    sluice::http::request to("POST", "http://x");
    client_options options("http://x");
    options.anthropic_version = "2023-06-01";
    wire_format_of(spoken).add_headers(to, options);
    std::string out;
    for (const auto& line : to.headers()) out += std::string(line.name()) + ": " + std::string(line.value());
    return out;
  };
  CHECK(wire_format_of(dialect::openai_chat).path() == "/chat/completions");
  CHECK(wire_format_of(dialect::openai_responses).path() == "/responses");
  CHECK(wire_format_of(dialect::anthropic_messages).path() == "/messages");
  CHECK(headers_of(dialect::openai_chat).empty());
  CHECK(headers_of(dialect::openai_responses).empty());
  CHECK(headers_of(dialect::anthropic_messages) == "anthropic-version: 2023-06-01");
}

TEST_CASE("a result that went wrong says so where there is no field for it") {
  message result(role::tool, "it broke");
  CHECK(told_result(result) == "it broke");
  result.is_error = true;
  CHECK(told_result(result) == "Error: it broke");
  result.text = "Error: it broke";
  CHECK(told_result(result) == "Error: it broke");
}
