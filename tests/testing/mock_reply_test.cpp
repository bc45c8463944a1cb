#include <sluice/testing/mock_reply.hpp>

#include <sluice/testing/mock_provider.hpp>

#include "testing/mock_fixture.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice::testing;

namespace {

std::string content_of(const std::vector<std::string>& all) {
  std::string text;
  for (const auto& each : all) {
    if (each == "[DONE]") continue;
    const auto chunk = json::parse(each);
    if (chunk["choices"].empty()) continue;
    text += chunk["choices"][0]["delta"].value("content", "");
  }
  return text;
}

}  // namespace

TEST_CASE("a plain answer, as OpenAI writes it") {
  mock_provider provider;
  provider.reply_with(mock_reply::text("Hi there, you."));
  loopback_client client(provider.port());
  const auto reply = post(client, chat("12345678"));
  CHECK(reply.status == 200);
  CHECK(reply.whole);
  CHECK(reply.header("content-type") == "application/json");
  const auto body = json::parse(reply.body);
  CHECK(body["object"] == "chat.completion");
  CHECK(body["model"] == "m");
  CHECK(body["id"] == "chatcmpl-1");
  REQUIRE(body["choices"].size() == 1);
  CHECK(body["choices"][0]["index"] == 0);
  CHECK(body["choices"][0]["message"]["role"] == "assistant");
  CHECK(body["choices"][0]["message"]["content"] == "Hi there, you.");
  CHECK(body["choices"][0]["message"]["refusal"].is_null());
  CHECK(body["choices"][0]["finish_reason"] == "stop");
  CHECK(body["usage"]["prompt_tokens"] == 2);
  CHECK(body["usage"]["completion_tokens"] == 3);
  CHECK(body["usage"]["total_tokens"] == 5);
  CHECK(body["usage"]["prompt_tokens_details"]["cached_tokens"] == 0);
  CHECK(body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 0);

  const auto stats = provider.stats();
  CHECK(stats.received == 1);
  CHECK(stats.served == 1);
  CHECK(stats.answered(200) == 1);
  CHECK(stats.open == 0);
  CHECK(stats.most_open == 1);
  CHECK(stats.most_streams == 0);
  CHECK(stats.most_running == 1);
  CHECK(stats.running == 0);
  CHECK(stats.input_tokens == 2);
  CHECK(stats.output_tokens == 3);
  CHECK(stats.wasted_output_tokens == 0);
  CHECK(provider.url() == "http://127.0.0.1:" + std::to_string(provider.port()) + "/v1");
}

TEST_CASE("a stream, byte for byte") {
  mock_provider provider;
  provider.reply_with(mock_reply::text("Hi you"));
  loopback_client client(provider.port());
  const auto reply = post(client, streamed("1234"));
  CHECK(reply.status == 200);
  CHECK(reply.whole);
  CHECK(reply.header("content-type") == "text/event-stream; charset=utf-8");
  CHECK(reply.header("transfer-encoding") == "chunked");
  const std::string front =
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[)";
  const std::string choice = front + R"({"index":0,"delta":)";
  const std::string open = R"(,"finish_reason":null}],"usage":null})";
  CHECK(reply.body == choice + R"({"role":"assistant","content":""})" + open + "\n\n" +       //
                          choice + R"({"content":"Hi"})" + open + "\n\n" +                    //
                          choice + R"({"content":" you"})" + open + "\n\n" +                  //
                          choice + R"({},"finish_reason":"stop"}],"usage":null})" + "\n\n" +  //
                          front +
                          R"(],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,)"  //
                          R"("prompt_tokens_details":{"cached_tokens":0},)"                          //
                          R"("completion_tokens_details":{"reasoning_tokens":0}}})" +
                          "\n\ndata: [DONE]\n\n");
  CHECK(provider.stats().most_streams == 1);
  CHECK(provider.stats().streams == 0);
}

TEST_CASE("without include_usage there is no usage in a stream") {
  mock_provider provider;
  loopback_client client(provider.port());
  const auto reply = post(client, chat("Hello", true));
  CHECK(reply.body.find("usage") == std::string::npos);
  CHECK(events(reply.body).back() == "[DONE]");
}

TEST_CASE("sizes: words by default, as the headers or the user field say, and within the limit") {
  mock_provider provider;
  loopback_client client(provider.port());
  const auto usage = [&](json body, std::string_view headers = {}) {
    const auto answer = json::parse(post(client, body, headers).body);
    return std::vector<int>{answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]};
  };
  CHECK(usage(chat("12345")) == std::vector{2, 64});
  CHECK(usage(chat(), "x-mock-input-tokens: 1234\r\nX-Mock-Output-Tokens: 7\r\n") == std::vector{1234, 7});
  auto body = chat();
  body["user"] = "in=900 out=12";
  CHECK(usage(body) == std::vector{900, 12});
  CHECK(usage(body, "x-mock-input-tokens: 5\r\n") == std::vector{5, 12});
  body["max_tokens"] = 10;
  CHECK(usage(body) == std::vector{900, 10});
  body["max_completion_tokens"] = 8;
  CHECK(usage(body) == std::vector{900, 8});
  provider.reply_with(mock_reply::words(5));
  CHECK(usage(body) == std::vector{900, 5});
  body.erase("user");
  body["messages"].push_back({{"role", "user"}, {"content", {{{"type", "text"}, {"text", "äöü!"}}}}});
  body["messages"][0]["content"] = "1234";
  CHECK(usage(body) == std::vector{2, 8});

  provider.reply_with(mock_reply::text("one two three"));
  auto cut = chat();
  cut["max_tokens"] = 2;
  const auto answer = json::parse(post(client, cut).body);
  CHECK(answer["choices"][0]["message"]["content"] == "one two");
  CHECK(answer["choices"][0]["finish_reason"] == "length");
  CHECK(provider.stats().connections_opened == 1);
}

TEST_CASE("the made-up words are always the same ones") {
  mock_provider provider;
  loopback_client client(provider.port());
  const auto first = json::parse(post(client, chat()).body);
  const auto second = json::parse(post(client, chat()).body);
  CHECK(first["choices"] == second["choices"]);
  CHECK(content_of(events(post(client, streamed()).body)) == first["choices"][0]["message"]["content"]);
}

TEST_CASE("tool calls and reasoning, plain") {
  mock_provider provider;
  provider.reply_with(mock_reply::tool_call("lookup", R"({"q":"water"})", "t1")
                          .with_tool_call("stop", "{}")
                          .with_reasoning("Let me see"));
  loopback_client client(provider.port());
  const auto body = json::parse(post(client, chat()).body);
  const auto& message = body["choices"][0]["message"];
  CHECK(body["choices"][0]["finish_reason"] == "tool_calls");
  CHECK(message["content"].is_null());
  CHECK(message["reasoning_content"] == "Let me see");
  REQUIRE(message["tool_calls"].size() == 2);
  CHECK(message["tool_calls"][0]["id"] == "t1");
  CHECK(message["tool_calls"][0]["type"] == "function");
  CHECK(message["tool_calls"][0]["function"]["name"] == "lookup");
  CHECK(message["tool_calls"][0]["function"]["arguments"] == R"({"q":"water"})");
  CHECK(message["tool_calls"][1]["id"] == "call_1_1");
  CHECK(message["tool_calls"][1]["function"]["arguments"] == "{}");
  // 3 words; 1 + 2 fragments; 1 + 1.
  CHECK(body["usage"]["completion_tokens"] == 8);
  CHECK(body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 3);
}

TEST_CASE("tool calls, streamed in fragments") {
  mock_provider provider;
  provider.reply_with(mock_reply::text("Hm.")
                          .with_tool_call("lookup", R"({"q":"größer als"})", "t1")
                          .with_tool_call("stop", "{}", "t2"));
  loopback_client client(provider.port());
  const auto all = events(post(client, streamed()).body);
  std::vector<std::string> arguments(2);
  std::vector<int> fragments(2);
  std::vector<std::string> names(2), ids(2);
  std::string reason;
  for (const auto& each : all) {
    if (each == "[DONE]") continue;
    const auto chunk = json::parse(each);
    if (chunk["choices"].empty()) continue;
    if (chunk["choices"][0]["finish_reason"].is_string()) reason = chunk["choices"][0]["finish_reason"];
    if (!chunk["choices"][0]["delta"].contains("tool_calls")) continue;
    const auto& call = chunk["choices"][0]["delta"]["tool_calls"][0];
    const std::size_t index = call["index"];
    if (call.contains("id")) {
      ids[index] += call["id"];
      names[index] += call["function"]["name"];
      CHECK(call["function"]["arguments"] == "");
    } else {
      arguments[index] += call["function"]["arguments"];
      ++fragments[index];
    }
  }
  CHECK(reason == "tool_calls");
  CHECK(ids == std::vector<std::string>{"t1", "t2"});
  CHECK(names == std::vector<std::string>{"lookup", "stop"});
  CHECK(arguments[0] == R"({"q":"größer als"})");
  CHECK(fragments[0] == 3);
  CHECK(arguments[1] == "{}");
}

TEST_CASE("reasoning is streamed before the text") {
  mock_provider provider;
  provider.reply_with(mock_reply::text("Yes.").with_reasoning("It flows"));
  loopback_client client(provider.port());
  const auto all = events(post(client, streamed()).body);
  REQUIRE(all.size() == 7);
  CHECK(json::parse(all[1])["choices"][0]["delta"]["reasoning_content"] == "It");
  CHECK(json::parse(all[2])["choices"][0]["delta"]["reasoning_content"] == " flows");
  CHECK(json::parse(all[3])["choices"][0]["delta"]["content"] == "Yes.");
  CHECK(json::parse(all[5])["usage"]["completion_tokens_details"]["reasoning_tokens"] == 2);
}

TEST_CASE("which reply: the handler, then what matches, then the next in order") {
  mock_provider provider;
  provider.reply_with(mock_reply::text("first"));
  provider.reply_with(mock_reply::text("second").with_header("x-extra", "1").with_finish_reason("content_filter"));
  provider.reply_when([](const mock_request& request) { return request.last_text == "weather?"; },
                      mock_reply::text("rain"));
  loopback_client client(provider.port());
  const auto says = [&](std::string text) {
    return json::parse(post(client, chat(std::move(text))).body)["choices"][0]["message"]["content"];
  };
  CHECK(says("a") == "first");
  CHECK(says("weather?") == "rain");
  const auto second = post(client, chat("b"));
  CHECK(json::parse(second.body)["choices"][0]["message"]["content"] == "second");
  CHECK(json::parse(second.body)["choices"][0]["finish_reason"] == "content_filter");
  CHECK(second.header("x-extra") == "1");
  provider.on_request([](const mock_request& request) {
    return mock_reply::text(request.last_role + " of " + request.model + " said " + request.last_text);
  });
  CHECK(says("weather?") == "user of m said weather?");
  provider.on_request({});
  CHECK(says("weather?") == "rain");
  provider.clear_replies();
  CHECK(says("weather?") != "rain");
}
