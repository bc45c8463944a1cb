#include "testing/chat_reading.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace sluice::testing;

namespace {

mock_request of(std::string body) {
  mock_request request;
  request.body = std::move(body);
  return request;
}

mock_request read(std::string body) {
  auto request = of(std::move(body));
  const auto wrong = read_chat(request);
  CHECK_MESSAGE(!wrong, (wrong ? wrong->message : ""));
  return request;
}

wire_error refused(std::string body) {
  auto request = of(std::move(body));
  const auto wrong = read_chat(request);
  REQUIRE(wrong);
  CHECK(wrong->status == 400);
  CHECK(wrong->type == "invalid_request_error");
  return *wrong;
}

std::string with_messages(const std::string& messages) { return R"({"model":"m","messages":[)" + messages + "]}"; }

constexpr const char* two_calls = R"({"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[)"
                                  R"({"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},)"
                                  R"({"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]})";

}  // namespace

TEST_CASE("a request is measured by the characters of messages, calls and tools") {
  const auto request =
      read(R"({"model":"m","messages":[{"role":"system","content":"123"},)"
           R"({"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function",)"
           R"("function":{"name":"ab","arguments":"{}"}}]},{"role":"tool","tool_call_id":"x","content":"äö"}]})");
  CHECK(request.input_tokens == 3);
  CHECK(request.messages == 3);
  CHECK(request.last_role == "tool");
  CHECK(request.last_text == "äö");
  CHECK(request.system == "123");
  CHECK(request.max_output_tokens == -1);
  CHECK(request.wanted_output_tokens == -1);
  CHECK_FALSE(request.stream);

  const auto with_tools = read(R"({"model":"m","messages":[{"role":"user"}],"tools":[{"a":1}],"max_tokens":null})");
  // [{"a":1}] is nine characters.
  CHECK(with_tools.input_tokens == 3);
  CHECK(with_tools.tools == 1);
  CHECK(with_tools.max_output_tokens == -1);
}

TEST_CASE("images, sounds and files count a constant each") {
  const auto request = read(with_messages(
      R"({"role":"user","content":[{"type":"text","text":"1234"},{"type":"image_url","image_url":{"url":"data:x"}},)"
      R"({"type":"file","file":{"file_data":"y"}},{"type":"input_audio","input_audio":{"data":"z"}}]})"));
  CHECK(request.attachments == 3);
  CHECK(request.input_tokens == 1 + 3 * mock_request::tokens_per_attachment);
  CHECK(request.last_text == "1234");
}

TEST_CASE("exact sizes in the user field") {
  const auto sizes = [](const std::string& user) {
    const auto request =
        read(R"({"model":"m","messages":[{"role":"user","content":"12345678"}],"user":")" + user + "\"}");
    return std::pair(request.input_tokens, request.wanted_output_tokens);
  };
  using pair = std::pair<std::int64_t, std::int64_t>;
  CHECK(sizes("in=5 out=6") == pair(5, 6));
  CHECK(sizes("trace 7 out=6") == pair(2, 6));
  CHECK(sizes("in=5") == pair(5, -1));
  CHECK(sizes("begin=5 out=x") == pair(2, -1));
  CHECK(sizes("jane") == pair(2, -1));
  CHECK(sizes("in=-4") == pair(2, -1));
}

TEST_CASE("settings") {
  auto request = read(R"({"model":"m","messages":[{"role":"developer","content":"a"},{"role":"system","content":"b"}],)"
                      R"("stream":true,"stream_options":{"include_usage":true},"stop":"x","max_tokens":4})");
  CHECK(request.system == "a\nb");
  CHECK(request.stream);
  CHECK(request.include_usage);
  CHECK(request.stop == std::vector<std::string>{"x"});
  CHECK(request.max_output_tokens == 4);
  request = read(R"({"model":"m","messages":[{"role":"user"}],"stop":["x","y"],"max_tokens":4,)"
                 R"("max_completion_tokens":5})");
  CHECK(request.stop == std::vector<std::string>{"x", "y"});
  CHECK(request.max_output_tokens == 5);
  CHECK(refused(R"({"model":"m","messages":[{"role":"user"}],"stream_options":{"include_usage":true}})").param ==
        "stream_options");
}

TEST_CASE("results belong to the model's last words") {
  const auto request = read(with_messages(
      std::string(two_calls) + R"(,{"role":"tool","tool_call_id":"b","content":"two"},)"
                               R"({"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"one"}]})"));
  REQUIRE(request.tool_results.size() == 2);
  CHECK(request.tool_results[0].call_id == "b");
  CHECK(request.tool_results[0].text == "two");
  CHECK(request.tool_results[1].call_id == "a");
  CHECK(request.tool_results[1].text == "one");
  CHECK_FALSE(request.tool_results[1].is_error);
  const auto later = read(with_messages(std::string(two_calls) +
                                        R"(,{"role":"tool","tool_call_id":"a","content":"1"},)"
                                        R"({"role":"tool","tool_call_id":"b","content":"2"},)"
                                        R"({"role":"assistant","content":"3"},{"role":"user","content":"4"})"));
  CHECK(later.tool_results.empty());
  CHECK(later.last_role == "user");
}

TEST_CASE("each call has its result, and each result its call") {
  const std::string begin = two_calls;
  auto wrong = refused(with_messages(begin + R"(,{"role":"tool","tool_call_id":"a","content":"1"})"));
  CHECK(wrong.message.ends_with("did not have response messages: b"));
  CHECK(wrong.param == "messages.[3].role");
  wrong = refused(with_messages(begin + R"(,{"role":"user","content":"1"})"));
  CHECK(wrong.message.ends_with("did not have response messages: a, b"));
  wrong = refused(with_messages(begin + R"(,{"role":"tool","tool_call_id":"c","content":"1"})"));
  CHECK(wrong.message.find("must be a response to a preceeding message") != std::string::npos);
  wrong = refused(with_messages(R"({"role":"tool","tool_call_id":"a","content":"1"})"));
  CHECK(wrong.message.find("must be a response to a preceeding message") != std::string::npos);
  wrong = refused(with_messages(begin + R"(,{"role":"tool","content":"1"})"));
  CHECK(wrong.message.find("tool_call_id") != std::string::npos);
}

TEST_CASE("what is wrong is said") {
  const auto message = [](std::string body) { return refused(std::move(body)).message; };
  CHECK(message("nonsense") == "We could not parse the JSON body of your request.");
  CHECK(message("[]") == "The request body is not a JSON object.");
  CHECK(message("{}") == "you must provide a model parameter");
  CHECK(message(R"({"model":"m"})") == "'messages' must be an array of at least one message.");
  CHECK(message(R"({"model":"m","messages":[{"role":"user"}],"max_completion_tokens":1.5})") ==
        "max_completion_tokens must be an integer of at least 1.");
  CHECK(message(R"({"model":"m","messages":["x"]})") == "Each message must have a 'role'.");
  CHECK(message(with_messages(R"({"role":"robot"})")) == "Invalid value: 'robot'.");
  for (const auto* body : {R"({"model":"m","messages":{"role":"user"}})",
                           R"({"model":"m","messages":[{"role":"assistant","tool_calls":[{}]}]})",
                           R"({"model":"m","messages":[{"role":"user","content":7}]})",
                           R"({"model":"m","messages":[{"role":"user"}],"tools":{}})"}) {
    CAPTURE(body);
    CHECK(message(body).find("wrong type") != std::string::npos);
  }
  auto wrong = refused(R"({"model":"m","messages":[{"role":"user"}],"tools":[{"type":"function","name":"f"}]})");
  CHECK(wrong.param == "tools[0].function");
  wrong =
      refused(R"({"model":"m","messages":[{"role":"user"}],"tools":[{"type":"function","function":{"name":"a b"}}]})");
  CHECK(wrong.param == "tools[0].function.name");
}
