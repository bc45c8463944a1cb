#include "testing/responses_reading.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace sluice::testing;

namespace {

mock_request read(std::string body) {
  mock_request request;
  request.body = std::move(body);
  const auto wrong = read_responses(request);
  CHECK_MESSAGE(!wrong, (wrong ? wrong->message : ""));
  return request;
}

wire_error refused(std::string body) {
  mock_request request;
  request.body = std::move(body);
  const auto wrong = read_responses(request);
  REQUIRE(wrong);
  CHECK(wrong->status == 400);
  CHECK(wrong->type == "invalid_request_error");
  return *wrong;
}

std::string with_input(const std::string& items, const std::string& more = {}) {
  return R"({"model":"m","input":[)" + items + "]" + more + "}";
}

constexpr const char* call = R"({"type":"function_call","call_id":"c1","name":"f","arguments":"{}"})";
constexpr const char* output = R"({"type":"function_call_output","call_id":"c1","output":"fine"})";

}  // namespace

TEST_CASE("a text alone, and the settings") {
  const auto request = read(R"({"model":"m","input":"12345678","instructions":"abcd","max_output_tokens":16,)"
                            R"("stream":true,"include":["reasoning.encrypted_content"],"user":"out=9"})");
  CHECK(request.model == "m");
  CHECK(request.messages == 1);
  CHECK(request.last_role == "user");
  CHECK(request.last_text == "12345678");
  CHECK(request.system == "abcd");
  CHECK(request.input_tokens == 3);
  CHECK(request.max_output_tokens == 16);
  CHECK(request.wanted_output_tokens == 9);
  CHECK(request.stream);
  CHECK(request.encrypted_reasoning);
  CHECK_FALSE(request.include_usage);
}

TEST_CASE("items: messages with and without type, parts, attachments") {
  const auto request = read(with_input(
      R"({"role":"developer","content":"be brief"},)"
      R"({"type":"message","role":"user","content":[{"type":"input_text","text":"12"},{"type":"input_text","text":"34"},)"
      R"({"type":"input_image","image_url":"data:"},{"type":"input_file","file_id":"f"}]},)"
      R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"},{"type":"refusal",)"
      R"("refusal":"y"}]},{"type":"reasoning","id":"r","summary":[]},{"type":"item_reference","id":"i"})"));
  CHECK(request.messages == 5);
  CHECK(request.system == "be brief");
  CHECK(request.attachments == 2);
  CHECK(request.last_role == "assistant");
  CHECK(request.last_text == "xy");
  // 8 + 4 + 2 characters.
  CHECK(request.input_tokens == 4 + 2 * mock_request::tokens_per_attachment);
}

TEST_CASE("calls and their results") {
  const auto request = read(
      with_input(std::string(call) + "," + output, R"(,"tools":[{"type":"function","name":"f","parameters":{}}])"));
  CHECK(request.last_role == "tool");
  CHECK(request.last_text == "fine");
  CHECK(request.tools == 1);
  REQUIRE(request.tool_results.size() == 1);
  CHECK(request.tool_results[0].call_id == "c1");
  CHECK(request.tool_results[0].text == "fine");
  CHECK(read(with_input(std::string(call) + "," + output + R"(,{"role":"assistant","content":"so"})"))
            .tool_results.empty());
  CHECK(read(with_input(std::string(call) +
                        R"(,{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"a"},)"
                        R"({"type":"input_image"}]})"))
            .attachments == 1);

  CHECK(refused(with_input(call)).message == "No tool output found for function call c1.");
  CHECK(refused(with_input(output)).message == "No tool call found for function call output with call_id c1.");
  CHECK(read(with_input(output, R"(,"previous_response_id":"resp_1")")).tool_results.size() == 1);
}

TEST_CASE("what is wrong is said") {
  const auto param = [](std::string body) { return refused(std::move(body)).param; };
  CHECK(param("{}") == "model");
  CHECK(param(R"({"model":"m"})") == "input");
  CHECK(param(R"({"model":"m","input":[]})") == "input");
  CHECK(param(with_input("{}")) == "input[0].type");
  CHECK(param(with_input(R"({"role":"user","content":"a"},{"role":"robot","content":"a"})")) == "input[1].role");
  CHECK(param(with_input(R"({"role":"user"})")) == "input[0].content");
  CHECK(param(with_input(R"({"role":"user","content":[{"type":"text","text":"a"}]})")) == "input[0].content");
  CHECK(param(with_input(R"({"role":"assistant","content":[{"type":"input_text","text":"a"}]})")) ==
        "input[0].content");
  CHECK(param(with_input(R"({"type":"function_call","call_id":"c","name":"f"})")) == "input[0].arguments");
  CHECK(param(with_input(R"({"type":"function_call_output","call_id":"c"})")) == "input[0].output");
  CHECK(param(with_input(R"({"type":"reasoning","id":"r"})")) == "input[0].summary");
  CHECK(param(R"({"model":"m","input":"a","max_output_tokens":15})") == "max_output_tokens");
  CHECK(param(R"({"model":"m","input":"a","tools":[{"name":"f"}]})") == "tools[0].type");
  CHECK(param(R"({"model":"m","input":"a","tools":[{"type":"function","function":{"name":"f"}}]})") == "tools[0].name");
  CHECK(param(R"({"model":"m","input":"a","tools":[{"type":"web_search"},{"type":"function","name":"f g"}]})") ==
        "tools[1].name");
  CHECK(refused(R"({"model":"m","input":7})").message.find("wrong type") != std::string::npos);
  CHECK(param(R"({"model":"m","input":["x"]})") == "input[0].type");
  CHECK(refused("nonsense").message == "We could not parse the JSON body of your request.");
}
