#include "llm/dialects/responses_encoder.hpp"

#include "llm/dialects/request_check.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice::llm;

namespace {

std::string encoded(const request& asked, const encoding& how = {}) {
  const auto body = encode_responses(asked, how);
  REQUIRE_MESSAGE(body.has_value(), body.error().message());
  return *body;
}

std::string refused(const request& asked) {
  const auto body = encode_responses(asked, {});
  REQUIRE_FALSE(body.has_value());
  CHECK(body.error().is(sluice::errc::invalid_argument));
  return body.error().message();
}

std::string field(const request& asked, const char* name) { return json_value::parse(encoded(asked))[name].dump(); }

request question() { return request("m").user("x"); }

}  // namespace

TEST_CASE("a plain conversation") {
  request asked("m");
  asked.system("Be brief.").system("And kind.").user("Hi").assistant("Hello.").system("Now in French.").user("Why?");
  asked.limit_output(10).with_temperature(0.5).think("low").on_behalf_of("u1");
  CHECK(encoded(asked, {.streamed = true, .ask_usage = true}) ==
        R"({"model":"m","instructions":"Be brief.\n\nAnd kind.","input":[)"
        R"({"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]},)"
        R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello."}]},)"
        R"({"type":"message","role":"system","content":[{"type":"input_text","text":"Now in French."}]},)"
        R"({"type":"message","role":"user","content":[{"type":"input_text","text":"Why?"}]}],)"
        R"("max_output_tokens":10,"temperature":0.5,"reasoning":{"effort":"low"},"user":"u1","stream":true})");
}

TEST_CASE("calls, results and reasoning are items") {
  reply answer;
  answer.text = "Let me look.";
  answer.opaque.emplace_back(dialect::openai_responses,
                             R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"})");
  answer.tool_calls.emplace_back("c1", "f", R"({"a":1})");
  answer.tool_calls.emplace_back("c1", "g", "{");
  answer.tool_calls.back().valid = false;
  request asked("m");
  asked.user("x").assistant(answer).tool_result("c1", "one").tool_result("c1", "it broke", true);
  CHECK(field(asked, "input") ==
        R"([{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]},)"
        R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"},)"
        R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look."}]},)"
        R"({"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},)"
        R"({"type":"function_call","call_id":"c1_2","name":"g","arguments":"{}"},)"
        R"({"type":"function_call_output","call_id":"c1","output":"one"},)"
        R"({"type":"function_call_output","call_id":"c1_2","output":"Error: it broke"}])");
}

TEST_CASE("pictures, files and parts of the dialect's own") {
  request asked("m");
  asked.add(message(role::user, "")
                .with(content_part::words("Look:"))
                .with(content_part::image_url("https://x.test/a.png"))
                .with(content_part::image("image/png", "AAAA"))
                .with(content_part::file("a.pdf", "application/pdf", "CCCC"))
                .with(content_part::native(dialect::openai_responses, R"({"type":"input_file","file_id":"f1"})")));
  message result(role::tool, "see");
  result.tool_call_id = "c1";
  result.parts.push_back(content_part::image("image/png", "AAAA"));
  asked.add(result);
  CHECK(field(asked, "input") ==
        R"([{"type":"message","role":"user","content":[{"type":"input_text","text":"Look:"},)"
        R"({"type":"input_image","image_url":"https://x.test/a.png"},{"type":"input_image",)"
        R"("image_url":"data:image/png;base64,AAAA"},)"
        R"({"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,CCCC"},)"
        R"({"type":"input_file","file_id":"f1"}]},{"type":"function_call_output","call_id":"c1","output":)"
        R"([{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}])");
}

TEST_CASE("tools are flat, and say whether they are strict") {
  tool strict("g", "does g");
  strict.strict = true;
  request asked =
      question().with_tool(tool("f", "does f", R"({"type":"object"})")).with_tool(strict).one_call_at_a_time();
  CHECK(field(asked, "tools") ==
        R"([{"type":"function","name":"f","description":"does f","parameters":{"type":"object"},"strict":false},)"
        R"({"type":"function","name":"g","description":"does g","parameters":{"type":"object","properties":{}},)"
        R"("strict":true}])");
  CHECK(field(asked, "parallel_tool_calls") == "false");
  CHECK(field(request(asked).choose(tool_choice::required), "tool_choice") == "\"required\"");
  CHECK(field(request(asked).choose(tool_choice::none), "tool_choice") == "\"none\"");
  CHECK(field(request(asked).force_tool("f"), "tool_choice") == R"({"type":"function","name":"f"})");
}

TEST_CASE("formats") {
  CHECK(field(question().json_output(), "text") == R"({"format":{"type":"json_object"}})");
  CHECK(field(question().json_output("answer", R"({"type":"object"})", false), "text") ==
        R"({"format":{"type":"json_schema","name":"answer","strict":false,"schema":{"type":"object"}}})");
}

TEST_CASE("what cannot be expressed is named, with advice") {
  CHECK(refused(question().with_seed(7)) ==
        "the request does not hold: seed cannot be expressed in openai-responses; leave it out");
  CHECK(refused(question().stop_at("x")).find("stop cannot be expressed") != std::string::npos);
  request pictured("m");
  pictured.system("").add(message(role::system, "").with(content_part::image("image/png", "A"))).user("x");
  CHECK(refused(pictured).find("messages[1].parts[0]: a picture or file of the system cannot be expressed") !=
        std::string::npos);
  CHECK(refused(request("m").system("a").user("x").extra("instructions", "\"b\""))
            .find("instructions cannot be replaced") != std::string::npos);
  CHECK(field(question().extra("instructions", "\"b\""), "instructions") == "\"b\"");
  for (const char* ours : {"model", "input", "stream", "stream_options"}) {
    CHECK(refused(question().extra(ours, "1")).find(ours) != std::string::npos);
  }
  CHECK(field(question().extra("store", "false").extra("previous_response_id", "\"r\""), "previous_response_id") ==
        "\"r\"");
}
