#include "llm/dialects/messages_encoder.hpp"

#include "llm/dialects/request_check.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice::llm;

namespace {

std::string encoded(const request& asked, const encoding& how = {}) {
  const auto body = encode_messages(asked, how);
  REQUIRE_MESSAGE(body.has_value(), body.error().message());
  return *body;
}

std::string refused(const request& asked) {
  const auto body = encode_messages(asked, {});
  REQUIRE_FALSE(body.has_value());
  CHECK(body.error().is(sluice::errc::invalid_argument));
  return body.error().message();
}

// What stands in `messages`.
std::string conversation(const request& asked) { return json_value::parse(encoded(asked))["messages"].dump(); }
std::string field(const request& asked, const char* name) { return json_value::parse(encoded(asked))[name].dump(); }

request question() { return request("m").user("x"); }

}  // namespace

TEST_CASE("a plain conversation") {
  request asked("m");
  asked.system("Be brief.").user("Hi").assistant("Hello.").user("Why?");
  asked.limit_output(10).with_temperature(0.5).stop_at("END").on_behalf_of("u1");
  CHECK(encoded(asked, {.streamed = true, .ask_usage = true}) ==
        R"({"model":"m","max_tokens":10,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text",)"
        R"("text":"Hi"}]},)"
        R"({"role":"assistant","content":[{"type":"text","text":"Hello."}]},{"role":"user","content":[{"type":"text",)"
        R"("text":"Why?"}]}],)"
        R"("temperature":0.5,"stop_sequences":["END"],"metadata":{"user_id":"u1"},"stream":true})");
}

TEST_CASE("a limit on output is always sent") {
  CHECK(field(question(), "max_tokens") == "4096");
  CHECK(encoded(question(), {.default_max_tokens = 77}).find("\"max_tokens\":77") != std::string::npos);
  CHECK(field(question().limit_output(5), "max_tokens") == "5");
}

TEST_CASE("system messages at the start are the system's blocks") {
  request asked("m");
  asked.system("a").system("b").user("x");
  CHECK(field(asked, "system") == R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])");
  request native("m");
  native.add(message(role::system, "")
                 .with(content_part::native(dialect::anthropic_messages,
                                            R"({"type":"text","text":"long","cache_control":{"type":"ephemeral"}})")));
  native.user("x");
  CHECK(field(native, "system") == R"([{"type":"text","text":"long","cache_control":{"type":"ephemeral"}}])");
  CHECK(refused(request("m").user("x").system("later"))
            .find("messages[1]: a system message behind the start cannot be expressed") != std::string::npos);
  CHECK(refused(request("m").system("a").user("x").extra("system", "\"b\"")).find("system cannot be replaced") !=
        std::string::npos);
  CHECK(field(question().extra("system", "\"b\""), "system") == "\"b\"");
}

TEST_CASE("tools 10: the results of a turn are one message, before any text") {
  reply answer;
  answer.text = "Let me look.";
  answer.tool_calls.emplace_back("t1", "f", R"({"a":1})");
  answer.tool_calls.emplace_back("t2", "g", "");
  request asked("m");
  asked.user("x").assistant(answer).tool_result("t1", "one").user("And hurry.").tool_result("t2", "it broke", true);
  CHECK(conversation(asked) ==
        R"([{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"text",)"
        R"("text":"Let me look."},)"
        R"({"type":"tool_use","id":"t1","name":"f","input":{"a":1}},{"type":"tool_use","id":"t2","name":"g","input":{)"
        R"(}}]},)"
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},)"
        R"({"type":"tool_result","tool_use_id":"t2","content":"it broke","is_error":true},{"type":"text",)"
        R"("text":"And hurry."}]}])");
}

TEST_CASE("neighbours of one role are one message, and an answer that says nothing is none") {
  request asked("m");
  asked.user("a").user("b").assistant("").user("c").assistant("d").assistant("e");
  CHECK(conversation(asked) ==
        R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text",)"
        R"("text":"c"}]},)"
        R"({"role":"assistant","content":[{"type":"text","text":"d"},{"type":"text","text":"e"}]}])");
}

TEST_CASE("thoughts are handed back first, as they came") {
  reply answer;
  answer.text = "So.";
  answer.opaque.emplace_back(dialect::anthropic_messages,
                             R"({"type":"thinking","thinking":"Hm\u20ac","signature":"E=="})");
  answer.opaque.emplace_back(dialect::anthropic_messages, R"({"type":"redacted_thinking","data":"x"})");
  answer.tool_calls.emplace_back("t1", "f", "{}");
  request asked("m");
  asked.user("x").assistant(answer);
  CHECK(json_value::parse(conversation(asked))[1]["content"].dump() ==
        "[{\"type\":\"thinking\",\"thinking\":\"Hm\xE2\x82\xAC\",\"signature\":\"E==\"},{\"type\":\"redacted_"
        "thinking\",\"data\":\"x\"},"
        "{\"type\":\"text\",\"text\":\"So.\"},{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{}}]");
}

TEST_CASE("pictures, files and parts of the dialect's own") {
  request asked("m");
  asked.add(message(role::user, "Look:")
                .with(content_part::image_url("https://x.test/a.png"))
                .with(content_part::image("image/png", "AAAA"))
                .with(content_part::image_url("data:image/gif;base64,BBBB"))
                .with(content_part::file("a.pdf", "application/pdf", "CCCC"))
                .with(content_part::words("and say"))
                .with(content_part::native(dialect::anthropic_messages, R"({"type":"search_result"})")));
  CHECK(
      json_value::parse(conversation(asked))[0]["content"].dump() ==
      R"([{"type":"text","text":"Look:"},{"type":"image","source":{"type":"url","url":"https://x.test/a.png"}},)"
      R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},)"
      R"({"type":"image","source":{"type":"base64","media_type":"image/gif","data":"BBBB"}},)"
      R"({"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"CCCC"},"title":"a.pdf"},)"
      R"({"type":"text","text":"and say"},{"type":"search_result"}])");
  message result(role::tool, "see");
  result.tool_call_id = "t1";
  result.parts.push_back(content_part::image("image/png", "AAAA"));
  request with_result("m");
  with_result.add(result);
  CHECK(
      conversation(with_result) ==
      R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"see"},)"
      R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}])");
}

TEST_CASE("tools and how they are chosen") {
  request asked = question().with_tool(tool("f", "does f", R"({"type":"object"})")).with_tool(tool("g", ""));
  CHECK(field(asked, "tools") == R"([{"name":"f","description":"does f","input_schema":{"type":"object"}},)"
                                 R"({"name":"g","input_schema":{"type":"object","properties":{}}}])");
  CHECK(field(asked, "tool_choice") == "null");
  CHECK(field(request(asked).choose(tool_choice::automatic), "tool_choice") == R"({"type":"auto"})");
  CHECK(field(request(asked).choose(tool_choice::required), "tool_choice") == R"({"type":"any"})");
  CHECK(field(request(asked).choose(tool_choice::none).one_call_at_a_time(), "tool_choice") == R"({"type":"none"})");
  CHECK(field(request(asked).one_call_at_a_time(), "tool_choice") ==
        R"({"type":"auto","disable_parallel_tool_use":true})");
  CHECK(field(request(asked).force_tool("g").one_call_at_a_time(), "tool_choice") ==
        R"({"type":"tool","name":"g","disable_parallel_tool_use":true})");
  CHECK(field(question().choose(tool_choice::none), "tool_choice") == "null");
}

TEST_CASE("tools 9: a call that no server would take back goes under a name that it does") {
  reply answer;
  answer.tool_calls.emplace_back("t.1", "get weather", "{\"a\":");
  answer.tool_calls.back().valid = false;
  answer.tool_calls.emplace_back("t2", std::string(200, 'f'), "[]");
  answer.tool_calls.back().valid = false;
  answer.tool_calls.emplace_back("t3", "", "");
  answer.tool_calls.back().valid = false;
  request asked("m");
  asked.user("x").assistant(answer).tool_result("t.1", "no such tool", true);
  CHECK(json_value::parse(conversation(asked))[1]["content"].dump() ==
        R"([{"type":"tool_use","id":"t_1","name":"get_weather","input":{}},{"type":"tool_use","id":"t2","name":")" +
            std::string(64, 'f') + R"(","input":{}},{"type":"tool_use","id":"t3","name":"unnamed","input":{}}])");
  CHECK(json_value::parse(conversation(asked))[2]["content"][0]["tool_use_id"] == "t_1");
}

TEST_CASE("what cannot be expressed is named, with advice") {
  CHECK(refused(question().with_seed(7)) ==
        "the request does not hold: seed cannot be expressed in anthropic-messages; leave it out");
  CHECK(refused(question().think("high")).find("reasoning_effort cannot be expressed") != std::string::npos);
  CHECK(refused(question().json_output()).find("format cannot be expressed") != std::string::npos);
  CHECK(refused(question().json_output("a", "{}")).find("format cannot be expressed") != std::string::npos);
  tool strict("f", "");
  strict.strict = true;
  CHECK(refused(question().with_tool(strict)).find("tools['f'].strict cannot be expressed") != std::string::npos);
  CHECK(refused(request("m").user("")).find("messages[0] is empty") != std::string::npos);
  request pictured("m");
  pictured.user("x").add(message(role::assistant, "").with(content_part::image("image/png", "A")));
  CHECK(refused(pictured).find("messages[1].parts[0]: a picture or file of the assistant cannot be expressed") !=
        std::string::npos);
  reply answer;
  answer.tool_calls.emplace_back("t1", "f", "[1]");
  CHECK(refused(question().assistant(answer)).find("messages[1].tool_calls[0].arguments is not a JSON object") !=
        std::string::npos);
  for (const char* ours : {"model", "messages", "stream"}) {
    CHECK(refused(question().extra(ours, "1")).find(ours) != std::string::npos);
  }
  CHECK(field(question().extra("thinking", R"({"type":"enabled","budget_tokens":2048})").limit_output(5'000),
              "max_tokens") == "5000");
}
