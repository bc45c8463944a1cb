#include "testing/openai_wire.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace sluice::testing;
using nlohmann::json;

namespace {

mock_request of(std::string body) {
  mock_request request;
  request.body = std::move(body);
  return request;
}

}  // namespace

TEST_CASE("durations, as headers have them") {
  CHECK(decimal_seconds(0s) == "0");
  CHECK(decimal_seconds(1s) == "1");
  CHECK(decimal_seconds(250ms) == "0.25");
  CHECK(decimal_seconds(12'005ms) == "12.005");
  CHECK(decimal_seconds(-5s) == "0");
  CHECK(go_duration(0s) == "0s");
  CHECK(go_duration(20ms) == "20ms");
  CHECK(go_duration(1s) == "1s");
  CHECK(go_duration(17'500ms) == "17.5s");
  CHECK(go_duration(6min) == "6m0s");
  CHECK(go_duration(1h + 2min + 3s) == "1h2m3s");
  CHECK(go_duration(1h) == "1h0m0s");
}

TEST_CASE("a request is measured by the characters of messages, calls and tools") {
  auto request =
      of(R"({"model":"m","messages":[{"role":"system","content":"123"},)"
         R"({"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function",)"
         R"("function":{"name":"ab","arguments":"{}"}}]},{"role":"tool","tool_call_id":"x","content":"äö"}]})");
  CHECK_FALSE(read_chat(request));
  CHECK(request.input_tokens == 3);
  CHECK(request.messages == 3);
  CHECK(request.last_role == "tool");
  CHECK(request.last_text == "äö");
  CHECK(request.max_output_tokens == -1);
  CHECK(request.wanted_output_tokens == -1);
  CHECK_FALSE(request.stream);

  auto with_tools = of(R"({"model":"m","messages":[{"role":"user"}],"tools":[{"a":1}],"max_tokens":null})");
  CHECK_FALSE(read_chat(with_tools));
  // [{"a":1}] is nine characters.
  CHECK(with_tools.input_tokens == 3);
  CHECK(with_tools.tools == 1);
  CHECK(with_tools.max_output_tokens == -1);
}

TEST_CASE("exact sizes in the user field") {
  const auto sizes = [](const std::string& user) {
    auto request = of(R"({"model":"m","messages":[{"role":"user","content":"12345678"}],"user":")" + user + "\"}");
    REQUIRE_FALSE(read_chat(request));
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

TEST_CASE("what is wrong is said") {
  const auto message = [](const char* body) {
    auto request = of(body);
    const auto why = read_chat(request);
    REQUIRE(why);
    CHECK(why->status == 400);
    CHECK(why->type == "invalid_request_error");
    return why->message;
  };
  CHECK(message("nonsense") == "We could not parse the JSON body of your request.");
  CHECK(message("{}") == "you must provide a model parameter");
  CHECK(message(R"({"model":"m"})") == "'messages' must be an array of at least one message.");
  CHECK(message(R"({"model":"m","messages":[{"role":"user"}],"max_completion_tokens":1.5})") ==
        "max_completion_tokens must be an integer of at least 1.");
  CHECK(message(R"({"model":"m","messages":["x"]})") == "Each message must have a 'role'.");
  CHECK(message(R"({"model":"m","messages":[{"role":"a","tool_calls":[{}]}]})").find("wrong type") !=
        std::string::npos);
}

TEST_CASE("errors: usual ones, and bodies that are JSON whatever the text") {
  CHECK(usual_error(503).type == "server_error");
  CHECK(usual_error(500).type == "server_error");
  CHECK(usual_error(418).type == "invalid_request_error");
  CHECK(usual_error(429, {}, true).code == "insufficient_quota");
  CHECK(usual_error(429, "mine").message == "mine");
  const auto body = json::parse(error_body(wire_error(500, "a \"quoted\" \xff byte", "t")));
  CHECK(body["error"]["message"] == "a \"quoted\" \xef\xbf\xbd byte");
  CHECK(body["error"]["code"].is_null());
}

TEST_CASE("neighbouring tokens of one kind share an event") {
  mock_request request;
  auto plan = plan_answer(mock_reply::text("a b c").with_tool_call("f", "0123456789abcdefgh"), request);
  REQUIRE(plan.pieces.size() == 7);
  const chat_events events("i", "m\"", false, "\n");
  const auto all = events.tokens(plan, 0, 7);
  CHECK(all.find(R"("model":"m\"")") != std::string::npos);
  std::size_t count = 0;
  for (auto at = all.find("data: "); at != std::string::npos; at = all.find("data: ", at + 1)) ++count;
  CHECK(count == 3);
  CHECK(all.find(R"({"content":"a b c"})") != std::string::npos);
  CHECK(all.find(R"({"arguments":"0123456789abcdefgh"})") != std::string::npos);
  CHECK(events.tokens(plan, 1, 2).find(R"({"content":" b"})") != std::string::npos);
  CHECK(events.tokens(plan, 3, 3).empty());
}

TEST_CASE("a limit cuts a tool call too") {
  mock_request request;
  request.number = 4;
  request.max_output_tokens = 2;
  const auto plan = plan_answer(mock_reply::tool_call("f", "0123456789abcdefgh"), request);
  CHECK(plan.finish_reason == "length");
  const auto body = json::parse(plain_body("i", "m", plan, 2, std::nullopt));
  CHECK(body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == "01234567");
  CHECK(body["choices"][0]["message"]["tool_calls"][0]["id"] == "call_4_0");
  CHECK(body["choices"][0]["finish_reason"] == "length");
}
