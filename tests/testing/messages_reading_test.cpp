#include "testing/messages_reading.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace sluice::testing;

namespace {

mock_request of(std::string body) {
  mock_request request;
  request.headers.emplace_back("anthropic-version", "2023-06-01");
  request.body = std::move(body);
  return request;
}

mock_request read(std::string body) {
  auto request = of(std::move(body));
  const auto wrong = read_messages(request);
  CHECK_MESSAGE(!wrong, (wrong ? wrong->message : ""));
  return request;
}

std::string refused(std::string body) {
  auto request = of(std::move(body));
  const auto wrong = read_messages(request);
  REQUIRE(wrong);
  CHECK(wrong->status == 400);
  CHECK(wrong->type == "invalid_request_error");
  return wrong->message;
}

std::string with_messages(const std::string& messages, const std::string& more = {}) {
  return R"({"model":"m","max_tokens":100,"messages":[)" + messages + "]" + more + "}";
}

bool tells(const std::string& message, const char* what) { return message.find(what) != std::string::npos; }

constexpr const char* hi = R"({"role":"user","content":"hi"})";
constexpr const char* two_calls =
    R"({"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"so"},)"
    R"({"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"g","input":{"x":1}}]})";

std::string result(const char* id) { return std::string(R"({"type":"tool_result","tool_use_id":")") + id + R"("})"; }

}  // namespace

TEST_CASE("the settings, and the sizes") {
  auto request = read(with_messages(R"({"role":"user","content":"12345678"})",
                                    R"(,"system":"abcd","stream":true,"stop_sequences":["x"],)"
                                    R"("metadata":{"user_id":"out=9"},"tools":[])"));
  CHECK(request.model == "m");
  CHECK(request.max_output_tokens == 100);
  CHECK(request.stream);
  CHECK(request.system == "abcd");
  CHECK(request.stop == std::vector<std::string>{"x"});
  CHECK(request.last_role == "user");
  CHECK(request.last_text == "12345678");
  CHECK(request.input_tokens == 3);
  CHECK(request.wanted_output_tokens == 9);
  request = read(with_messages(R"({"role":"user","content":[{"type":"text","text":"1234"},)"
                               R"({"type":"image","source":{}},{"type":"document","source":{}}]})",
                               R"(,"system":[{"type":"text","text":"a"},{"type":"text","text":"b"}])"));
  CHECK(request.system == "a\nb");
  CHECK(request.attachments == 2);
  // 4 and 3 characters, with the line feed between the texts of the system.
  CHECK(request.input_tokens == 2 + 2 * mock_request::tokens_per_attachment);
}

TEST_CASE("results of tools") {
  const auto request = read(with_messages(
      std::string(two_calls) +
      R"(,{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"no","is_error":true},)"
      R"({"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"yes"},{"type":"image"}]},)"
      R"({"type":"text","text":"and now?"}]})"));
  CHECK(request.last_role == "tool");
  REQUIRE(request.tool_results.size() == 2);
  CHECK(request.tool_results[0].call_id == "b");
  CHECK(request.tool_results[0].text == "no");
  CHECK(request.tool_results[0].is_error);
  CHECK(request.tool_results[1].text == "yes");
  CHECK_FALSE(request.tool_results[1].is_error);
  CHECK(request.last_text == "noyesand now?");
  CHECK(request.attachments == 1);
}

TEST_CASE("neighbours of one role are one turn") {
  const auto request = read(with_messages(std::string(hi) + "," + two_calls + R"(,{"role":"user","content":[)" +
                                          result("a") + R"(]},{"role":"user","content":[)" + result("b") + "]}"));
  CHECK(request.messages == 5);
  CHECK(request.tool_results.size() == 2);
}

TEST_CASE("each call has its result at once, and each result its call") {
  const std::string begin = two_calls;
  CHECK(tells(refused(with_messages(begin)), "without `tool_result` blocks immediately after: a, b."));
  CHECK(tells(refused(with_messages(begin + R"(,{"role":"user","content":[)" + result("a") + "]}")),
              "without `tool_result` blocks immediately after: b."));
  CHECK(
      tells(refused(with_messages(begin + R"(,{"role":"user","content":"wait"},{"role":"assistant","content":"ok"})")),
            "immediately after: a, b."));
  CHECK(tells(refused(with_messages(begin + R"(,{"role":"user","content":[)" + result("c") + "]}")),
              "unexpected `tool_use_id` found in `tool_result` blocks: c."));
  CHECK(tells(refused(with_messages(begin + R"(,{"role":"user","content":[)" + result("a") + "," + result("a") + "]}")),
              "must have a single result"));
  CHECK(tells(refused(with_messages(begin + R"(,{"role":"user","content":[{"type":"text","text":"x"},)" + result("a") +
                                    "," + result("b") + "]}")),
              "must come before the text"));
  CHECK(
      tells(refused(with_messages(R"({"role":"user","content":[)" + result("a") + "]}")), "unexpected `tool_use_id`"));
}

TEST_CASE("what is wrong is said") {
  mock_request bare;
  bare.body = with_messages(hi);
  CHECK(read_messages(bare)->message == "anthropic-version: header is required");

  CHECK(refused(R"({"max_tokens":1,"messages":[]})") == "model: Field required");
  CHECK(refused(R"({"model":"m","messages":[]})") == "max_tokens: Field required");
  CHECK(tells(refused(R"({"model":"m","max_tokens":0,"messages":[]})"), "max_tokens: "));
  CHECK(tells(refused(R"({"model":"m","max_tokens":null,"messages":[]})"), "max_tokens: "));
  CHECK(refused(R"({"model":"m","max_tokens":1})") == "messages: at least one message is required");
  CHECK(refused(with_messages(R"({"role":"assistant","content":"x"})")) ==
        "messages: first message must use the \"user\" role");
  CHECK(tells(refused(with_messages(R"({"role":"system","content":"x"})")), "Unexpected role \"system\""));
  CHECK(refused(with_messages(R"({"role":"user"})")) == "messages.0.content: Field required");
  CHECK(tells(refused(with_messages(R"({"role":"user","content":""})")), "must have non-empty content"));
  CHECK(tells(refused(with_messages(R"({"role":"user","content":[]})")), "must have non-empty content"));
  CHECK(read(with_messages(std::string(hi) + R"(,{"role":"assistant","content":""})")).messages == 2);
  CHECK(tells(refused(with_messages(R"({"role":"user","content":[{"type":"text","text":""}]})")), "non-empty"));
  CHECK(tells(refused(with_messages(R"({"role":"user","content":" \n"})")), "non-whitespace"));
  const auto user = [](const std::string& block) {
    return with_messages(R"({"role":"user","content":[)" + block + "]}");
  };
  const auto assistant = [](const std::string& block) {
    return with_messages(std::string(hi) + R"(,{"role":"assistant","content":[)" + block + "]}");
  };
  CHECK(refused(user("{}")) == "messages.0.content.0.type: Field required");
  CHECK(refused(user(R"({"type":"image"})")) == "messages.0.content.0.image.source: Field required");
  CHECK(refused(user(R"({"type":"tool_use","id":"a","name":"f","input":{}})")) ==
        "messages.0.content.0: `tool_use` blocks cannot be in `user` messages");
  CHECK(refused(assistant(R"({"type":"tool_use","id":"a","name":"f"})")) ==
        "messages.1.content.0.tool_use.input: Field required");
  CHECK(refused(assistant(R"({"type":"tool_use","id":"a","name":"f","input":"{}"})")) ==
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary");
  CHECK(refused(assistant(R"({"type":"thinking","thinking":"x"})")) ==
        "messages.1.content.0.thinking.signature: Field required");
  CHECK(read(assistant(R"({"type":"thinking","thinking":"x","signature":"s"},{"type":"redacted_thinking","data":"d"})"))
            .messages == 2);
  CHECK(tells(refused(with_messages(hi, R"(,"tools":[{"type":"function","function":{"name":"f"}}])")),
              "tools.0: Input tag 'function'"));
  CHECK(refused(with_messages(hi, R"(,"tools":[{"input_schema":{}}])")) == "tools.0.custom.name: Field required");
  CHECK(tells(refused(with_messages(hi, R"(,"tools":[{"name":"a b","input_schema":{}}])")), "should match pattern"));
  CHECK(refused(with_messages(hi, R"(,"tools":[{"type":"web_search_1"},{"name":"f"}])")) ==
        "tools.1.custom.input_schema: Field required");
  CHECK(refused(with_messages(hi, R"(,"tools":[{"name":"f","input_schema":{}}])")) ==
        "tools.0.custom.input_schema.type: Input should be 'object'");
}
