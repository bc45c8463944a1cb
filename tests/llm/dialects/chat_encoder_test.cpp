#include "llm/dialects/chat_encoder.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace sluice::llm;

namespace {

std::string encoded(const request& asked, encoding how = {}) {
  const auto body = encode_chat(asked, how);
  REQUIRE(body.has_value());
  return *body;
}

std::string refused(const request& asked) {
  const auto body = encode_chat(asked, {});
  REQUIRE_FALSE(body.has_value());
  CHECK(body.error().is(sluice::errc::invalid_argument));
  return body.error().message();
}

}  // namespace

TEST_CASE("a plain conversation") {
  request asked("m");
  asked.system("Be brief.").user("Say \"hi\"\n").limit_output(10).with_temperature(0.5).with_seed(7).stop_at("END");
  CHECK(encoded(asked) ==
        R"({"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Say \"hi\"\n"}],)"
        R"("max_completion_tokens":10,"temperature":0.5,"seed":7,"stop":["END"]})");
}

TEST_CASE("the dialect's settings") {
  request asked("m");
  asked.user("x").limit_output(10);
  CHECK(encoded(asked, {.output_limit = output_limit_field::max_tokens, .streamed = true, .ask_usage = true}) ==
        R"({"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":10,"stream":true,)"
        R"("stream_options":{"include_usage":true}})");
  CHECK(encoded(asked, {.output_limit = output_limit_field::max_tokens, .streamed = true}).find("stream_options") ==
        std::string::npos);
}

TEST_CASE("tools, calls and results") {
  reply answer;
  answer.tool_calls.emplace_back("t1", "f", R"({"a":1})");
  answer.tool_calls.emplace_back("t2", "g", R"({"a":)");
  answer.tool_calls.back().valid = false;
  request asked("m");
  asked.user("x").assistant(answer).tool_result("t1", "one").tool_result("t2", "broken");
  asked.with_tool(tool("f", "does f", R"({"type":"object","properties":{"a":{"type":"number"}}})"))
      .choose(tool_choice::required);
  CHECK(
      encoded(asked) ==
      R"({"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[)"
      R"({"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},)"
      R"({"id":"t2","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
      R"({"role":"tool","content":"one","tool_call_id":"t1"},{"role":"tool","content":"broken","tool_call_id":"t2"}],)"
      R"("tools":[{"type":"function","function":{"name":"f","description":"does f","parameters":)"
      R"({"type":"object","properties":{"a":{"type":"number"}}}}}],"tool_choice":"required"})");
  asked.force_tool("f");
  CHECK(encoded(asked).find(R"("tool_choice":{"type":"function","function":{"name":"f"}})") != std::string::npos);
  request without("m");
  without.user("x").choose(tool_choice::automatic);
  CHECK(encoded(without).find("tool_choice") == std::string::npos);
}

TEST_CASE("settings that this dialect has a field for") {
  tool strict("f", "");
  strict.strict = true;
  request asked("m");
  asked.user("x").think("low").on_behalf_of("u1").with_tool(strict).one_call_at_a_time();
  CHECK(encoded(asked) ==
        R"({"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f",)"
        R"("description":"",)"
        R"("parameters":{"type":"object","properties":{}},"strict":true}}],"parallel_tool_calls":false,)"
        R"("reasoning_effort":"low","user":"u1"})");
  request schema("m");
  schema.user("x").one_call_at_a_time().json_output("answer", R"({"type":"object"})");
  CHECK(encoded(schema) ==
        R"({"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema",)"
        R"("json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}}})");
}

TEST_CASE("pictures, files and parts of the dialect's own") {
  request asked("m");
  asked.system("Be brief.")
      .add(message(role::user, "Look:")
               .with(content_part::image_url("https://x.test/a.png"))
               .with(content_part::image("image/png", "AAAA"))
               .with(content_part::file("a.pdf", "application/pdf", "CCCC"))
               .with(content_part::words("and say"))
               .with(content_part::native(dialect::openai_chat, R"({"type":"input_audio"})")));
  CHECK(encoded(asked) ==
        R"({"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text",)"
        R"("text":"Look:"},)"
        R"({"type":"image_url","image_url":{"url":"https://x.test/a.png"}},{"type":"image_url","image_url":{)"
        R"("url":"data:image/png;base64,AAAA"}},)"
        R"({"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,CCCC"}},{"type":"text",)"
        R"("text":"and say"},)"
        R"({"type":"input_audio"}]}]})");
  for (const role who : {role::system, role::assistant, role::tool}) {
    message pictured(who, "x");
    pictured.tool_call_id = "t1";
    pictured.parts.push_back(content_part::image("image/png", "A"));
    CHECK(refused(request("m").add(pictured)).find("messages[0].parts[0]: a picture or file of the role") !=
          std::string::npos);
  }
}

TEST_CASE("tools 11: ids used twice are made unique, and a failed result says so") {
  reply answer;
  answer.tool_calls.emplace_back("t1", "f", "{}");
  answer.tool_calls.emplace_back("t1", "get weather", "{}");
  answer.tool_calls.back().valid = false;
  request asked("m");
  asked.user("x").assistant(answer).tool_result("t1", "one").tool_result("t1", "no such tool", true);
  CHECK(encoded(asked) ==
        R"({"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[)"
        R"({"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}},)"
        R"({"id":"t1_2","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},)"
        R"({"role":"tool","content":"one","tool_call_id":"t1"},{"role":"tool","content":"Error: no such tool",)"
        R"("tool_call_id":"t1_2"}]})");
}

TEST_CASE("the members of an opaque block go into the assistant's message") {
  message said(role::assistant, "So.");
  said.opaque.emplace_back(dialect::openai_chat,
                           R"({"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]})");
  request asked("m");
  asked.add(said);
  CHECK(encoded(asked) == R"({"model":"m","messages":[{"role":"assistant","content":"So.",)"
                          R"("reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}]})");
}

TEST_CASE("an answer that was a refusal is handed back as such") {
  reply answer;
  answer.refusal = "I will not.";
  request asked("m");
  asked.user("x").assistant(answer);
  CHECK(encoded(asked).find(R"({"role":"assistant","content":"I will not."})") != std::string::npos);
}

TEST_CASE("formats and extra fields go verbatim, in place of ours") {
  request asked("m");
  asked.user("x").with_temperature(1).json_output().extra("top_p", "0.9").extra("temperature", "0");
  CHECK(encoded(asked) == R"({"model":"m","messages":[{"role":"user","content":"x"}],"temperature":0,)"
                          R"("response_format":{"type":"json_object"},"top_p":0.9})");
}

TEST_CASE("text that is no UTF-8 is sent as what it can be") {
  request asked("m");
  asked.user(
      "a\xFF"
      "b");
  CHECK(encoded(asked).find("a\xEF\xBF\xBD"
                            "b") != std::string::npos);
}

TEST_CASE("what does not hold is named, and not sent") {
  request fine("m");
  fine.user("x");
  CHECK(refused(request("m")).find("messages is empty") != std::string::npos);
  CHECK(refused(request("").user("x")).find("model is empty") != std::string::npos);
  CHECK(refused(request(fine).limit_output(0)).find("max_output_tokens = 0") != std::string::npos);
  CHECK(refused(request(fine).with_temperature(std::numeric_limits<double>::quiet_NaN())).find("temperature") !=
        std::string::npos);
  CHECK(refused(request(fine).with_tool(tool("f", "", "{"))).find("tools['f'].parameters") != std::string::npos);
  CHECK(refused(request(fine).json_output("answer", "[]")).find("format.schema") != std::string::npos);
  CHECK(refused(request(fine).extra("top_p", "0.9}")).find("top_p") != std::string::npos);
  for (const char* ours : {"model", "messages", "stream", "stream_options"}) {
    CHECK(refused(request(fine).extra(ours, "1")).find(ours) != std::string::npos);
  }
}
