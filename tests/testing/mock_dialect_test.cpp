#include <sluice/testing/mock_dialect.hpp>

#include <sluice/testing/mock_provider.hpp>

#include "testing/mock_fixture.hpp"

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::testing;

namespace {

constexpr const char* key_line = "x-api-key: k\r\n";

}  // namespace

TEST_CASE("one script answers in every dialect") {
  mock_provider provider;
  provider.on_request([](const mock_request&) {
    return mock_reply::text("Hi you").with_tool_call("f", R"({"a":1})", "c1").with_cached_tokens(2);
  });
  loopback_client client(provider.port());
  const auto first = json::parse(post(client, chat("12345678901234567890")).body);
  CHECK(first["choices"][0]["message"]["content"] == "Hi you");
  CHECK(first["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == R"({"a":1})");
  CHECK(first["choices"][0]["finish_reason"] == "tool_calls");
  CHECK(first["usage"]["prompt_tokens_details"]["cached_tokens"] == 2);

  const auto second = json::parse(post_responses(client, responses("12345678901234567890")).body);
  CHECK(second["id"] == "resp_2");
  CHECK(second["output"][0]["content"][0]["text"] == "Hi you");
  CHECK(second["output"][1]["call_id"] == "c1");
  CHECK(second["usage"]["input_tokens"] == 5);
  CHECK(second["usage"]["input_tokens_details"]["cached_tokens"] == 2);

  const auto third = json::parse(post_messages(client, messages("12345678901234567890")).body);
  CHECK(third["content"][0]["text"] == "Hi you");
  CHECK(third["content"][1]["input"]["a"] == 1);
  CHECK(third["stop_reason"] == "tool_use");
  CHECK(third["usage"]["input_tokens"] == 3);
  CHECK(third["usage"]["cache_read_input_tokens"] == 2);

  const auto seen = provider.requests();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].dialect == mock_dialect::openai_chat);
  CHECK(seen[1].dialect == mock_dialect::openai_responses);
  CHECK(seen[2].dialect == mock_dialect::anthropic_messages);
  CHECK(provider.stats().connections_opened == 1);
}

TEST_CASE("more cached than there is, is all there is") {
  mock_provider provider;
  provider.reply_with(mock_reply::text("a").with_cached_tokens(900, 900));
  loopback_client client(provider.port());
  const auto usage = json::parse(post_messages(client, messages("12345678")).body)["usage"];
  CHECK(usage["input_tokens"] == 0);
  CHECK(usage["cache_read_input_tokens"] == 2);
  CHECK(usage["cache_creation_input_tokens"] == 0);
}

TEST_CASE("streams of every dialect come token by token, and end with their mark") {
  mock_provider provider;
  provider.on_request([](const mock_request&) { return mock_reply::words(3); });
  loopback_client client(provider.port());
  auto reply = post_responses(client, responses("x", true));
  CHECK(reply.header("content-type") == "text/event-stream; charset=utf-8");
  auto types = types_of(named_events(reply.body));
  CHECK(std::count(types.begin(), types.end(), "response.output_text.delta") == 3);
  CHECK(types.back() == "response.completed");
  reply = post_messages(client, messages("x", true));
  types = types_of(named_events(reply.body));
  CHECK(std::count(types.begin(), types.end(), "content_block_delta") == 3);
  CHECK(types.back() == "message_stop");
  CHECK(provider.stats().served == 2);
}

TEST_CASE("Anthropic's errors over HTTP, with its headers") {
  mock_provider_options options;
  options.api_key = "k";
  options.max_body = 2000;
  mock_provider provider(options);
  loopback_client client(provider.port());
  const auto error = [](const loopback_reply& reply) {
    const auto body = json::parse(reply.body);
    CHECK(body["type"] == "error");
    CHECK(body["request_id"] == reply.header("request-id"));
    return body["error"]["type"].get<std::string>();
  };
  auto reply = post_messages(client, messages());
  CHECK(reply.status == 401);
  CHECK(error(reply) == "authentication_error");
  CHECK(reply.header("x-request-id").empty());
  reply = client.ask("POST", messages_path, messages().dump(), key_line);
  CHECK(reply.status == 400);
  CHECK(json::parse(reply.body)["error"]["message"] == "anthropic-version: header is required");
  CHECK(error(reply) == "invalid_request_error");
  reply = client.ask("GET", messages_path, {}, key_line);
  CHECK(reply.status == 405);
  CHECK(error(reply) == "invalid_request_error");
  reply = post_messages(client, messages(std::string(3000, 'x')), key_line);
  CHECK(reply.status == 413);
  CHECK(error(reply) == "request_too_large");
  reply = client.ask("POST", "/v1/nothing", "{}", std::string(version_line) + key_line);
  CHECK(reply.status == 404);
  CHECK(error(reply) == "not_found_error");
  reply = client.ask("GET", "/v1/models", {}, std::string(version_line) + key_line);
  CHECK(json::parse(reply.body)["data"][0]["id"] == "mock-model");
  CHECK(json::parse(reply.body)["has_more"] == false);
  reply = post_messages(client, messages(), key_line);
  CHECK(reply.status == 200);
  CHECK(reply.header("anthropic-ratelimit-requests-remaining") == reply.header("anthropic-ratelimit-requests-limit"));
  CHECK(provider.requests().back().header_value("x-api-key") == "***");
  CHECK(provider.stats().authorized == 6);
}

TEST_CASE("a full provider says so in each form") {
  auto model = provider_model::instant();
  model.slots = 1;
  model.queue = 0;
  mock_provider provider(model);
  provider.reply_with(mock_reply::failure(mock_fault::stall()));
  loopback_client first(provider.port());
  send(first, chat());
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.running == 1; }));
  loopback_client second(provider.port());
  auto reply = post_messages(second, messages());
  CHECK(reply.status == 429);
  CHECK(reply.header("retry-after") == "1");
  CHECK(reply.header("anthropic-ratelimit-requests-remaining") == "0");
  CHECK(json::parse(reply.body)["error"]["type"] == "rate_limit_error");
  reply = post_responses(second, responses());
  CHECK(reply.status == 429);
  CHECK(json::parse(reply.body)["error"]["code"] == "rate_limit_exceeded");
}

TEST_CASE("error statuses in each form") {
  mock_provider provider;
  loopback_client client(provider.port());
  provider.fail_next(mock_fault::status(529));
  auto reply = post_messages(client, messages());
  CHECK(reply.status == 529);
  CHECK(json::parse(reply.body)["error"]["type"] == "overloaded_error");
  provider.fail_next(mock_fault::rate_limited_ms(30ms));
  reply = post_messages(client, messages());
  CHECK(reply.header("retry-after-ms") == "30");
  CHECK(json::parse(reply.body)["error"]["type"] == "rate_limit_error");
  provider.fail_next(mock_fault::quota_exhausted());
  CHECK(post_messages(client, messages()).status == 400);
  provider.fail_next(mock_fault::quota_exhausted());
  reply = post_responses(client, responses());
  CHECK(reply.status == 429);
  CHECK(json::parse(reply.body)["error"]["code"] == "insufficient_quota");
  CHECK(provider.stats().faults == 4);
}

TEST_CASE("streams that go wrong, in each form") {
  mock_provider provider;
  loopback_client client(provider.port());

  SUBCASE("an error in mid-stream") {
    provider.fail_next(mock_fault::error_event(2, 529, "Too much"), 4);
    auto all = named_events(post_messages(client, messages("x", true)).body);
    CHECK(all.back()["error"] == json{{"type", "overloaded_error"}, {"message", "Too much"}});
    all = named_events(post_responses(client, responses("x", true)).body);
    CHECK(all.back()["type"] == "error");
    CHECK(all.back()["message"] == "Too much");
    auto reply = post_messages(client, messages());
    CHECK(reply.status == 529);
    CHECK(json::parse(reply.body)["request_id"] == reply.header("request-id"));
    CHECK(post_responses(client, responses()).status == 529);
    CHECK(provider.stats().answered(529) == 2);
  }
  SUBCASE("no end mark") {
    provider.fail_next(mock_fault::no_done(), 2);
    auto reply = post_messages(client, messages("x", true));
    CHECK(reply.whole);
    CHECK(named_events(reply.body).back()["type"] == "message_delta");
    CHECK(named_events(post_responses(client, responses("x", true)).body).back()["type"] ==
          "response.output_item.done");
  }
  SUBCASE("no usage") {
    provider.fail_next(mock_fault::no_usage(), 2);
    CHECK(post_messages(client, messages("x", true)).body.find("usage") == std::string::npos);
    CHECK(json::parse(post_responses(client, responses()).body)["usage"].is_null());
  }
  SUBCASE("CRLF and byte order mark together") {
    provider.fail_next(mock_fault::crlf().with(mock_fault::byte_order_mark()), 2);
    for (const auto& body :
         {post_messages(client, messages("x", true)).body, post_responses(client, responses("x", true)).body}) {
      CHECK(
          body.starts_with("\xef\xbb\xbf"
                           "event: "));
      CHECK(named_events(body.substr(3), "\r\n").size() > 3);
    }
  }
  SUBCASE("one event that is no JSON") {
    provider.fail_next(mock_fault::bad_json(2), 2);
    for (const auto& body :
         {post_messages(client, messages("x", true)).body, post_responses(client, responses("x", true)).body}) {
      std::size_t bad = 0;
      for (auto at = body.find("data: "); at != std::string::npos; at = body.find("data: ", at + 6)) {
        if (!json::accept(body.substr(at + 6, body.find('\n', at) - at - 6))) ++bad;
      }
      CHECK(bad == 1);
    }
  }
  SUBCASE("a hang-up") {
    provider.fail_next(mock_fault::hang_up_after(2));
    const auto reply = post_messages(client, messages("x", true));
    CHECK_FALSE(reply.whole);
    CHECK(count(reply.body, "text_delta") == 2);
    CHECK(client.wait_closed());
  }
  SUBCASE("silence, until the client goes") {
    provider.fail_next(mock_fault::stall_after(1));
    client.send("POST", responses_path, responses("x", true).dump());
    REQUIRE(client.wait_for("response.output_text.delta"));
    client.close();
    CHECK(provider.wait_until([](const mock_stats& stats) { return stats.cancelled == 1 && stats.running == 0; }));
  }
}
