#include <sluice/testing/mock_fault.hpp>

#include "testing/mock_fixture.hpp"

#include <sluice/testing/mock_provider.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::testing;

namespace {

constexpr const char* plain = R"({"model":"m","messages":[{"role":"user","content":"Hello"}]})";
constexpr const char* stream =
    R"({"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]})";

loopback_reply post(loopback_client& client, const char* body, std::string_view headers = {}) {
  return client.ask("POST", "/v1/chat/completions", body, headers);
}

json error_of(const loopback_reply& reply) { return json::parse(reply.body).at("error"); }

}  // namespace

TEST_CASE("error statuses have the bodies and headers of OpenAI") {
  mock_provider provider;
  loopback_client client(provider.port());

  provider.fail_next(mock_fault::rate_limited());
  auto reply = post(client, plain);
  CHECK(reply.status == 429);
  CHECK(reply.header("retry-after") == "1");
  CHECK(error_of(reply)["type"] == "requests");
  CHECK(error_of(reply)["code"] == "rate_limit_exceeded");

  provider.fail_next(mock_fault::rate_limited(1500ms));
  CHECK(post(client, plain).header("retry-after") == "1.5");
  provider.fail_next(mock_fault::rate_limited(std::nullopt));
  reply = post(client, stream);
  CHECK(reply.status == 429);
  CHECK(reply.header("retry-after").empty());
  CHECK(reply.header("content-type") == "application/json");
  provider.fail_next(mock_fault::rate_limited_ms(30ms));
  reply = post(client, plain);
  CHECK(reply.header("retry-after-ms") == "30");
  CHECK(reply.header("retry-after").empty());
  provider.fail_next(mock_fault::quota_exhausted());
  reply = post(client, plain);
  CHECK(reply.status == 429);
  CHECK(error_of(reply)["code"] == "insufficient_quota");

  provider.fail_next(mock_fault::status(500, "Out of luck"));
  reply = post(client, plain);
  CHECK(reply.status == 500);
  CHECK(error_of(reply)["type"] == "server_error");
  CHECK(error_of(reply)["message"] == "Out of luck");
  provider.fail_next(mock_fault::status(503).with_header("x-should-retry", "false"));
  reply = post(client, plain);
  CHECK(reply.status == 503);
  CHECK(reply.header("x-should-retry") == "false");
  provider.fail_next(mock_fault::status(529));
  reply = post(client, plain);
  CHECK(reply.status == 529);
  CHECK(error_of(reply)["type"] == "overloaded_error");

  CHECK(post(client, plain).status == 200);
  const auto stats = provider.stats();
  CHECK(stats.faults == 8);
  CHECK(stats.refused == 0);
  CHECK(stats.served == 1);
  CHECK(stats.answered(429) == 5);
  CHECK(stats.connections_opened == 1);
}

TEST_CASE("a stall takes its slot and never answers") {
  mock_provider provider;
  provider.fail_next(mock_fault::stall());
  loopback_client client(provider.port());
  client.send("POST", "/v1/chat/completions", stream);
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.running == 1 && stats.input_tokens == 1; }));
  auto stats = provider.stats();
  CHECK(stats.streams == 1);
  CHECK(stats.answers.empty());
  CHECK(stats.faults == 1);
  CHECK(client.pending().empty());
  client.close();
  REQUIRE(provider.wait_until([](const mock_stats& now) { return now.cancelled == 1; }));
  stats = provider.stats();
  CHECK(stats.running == 0);
  CHECK(stats.wasted_input_tokens == 1);
  CHECK(stats.wasted_output_tokens == 0);
}

TEST_CASE("a stall after no token at all has sent its head") {
  mock_provider provider;
  provider.fail_next(mock_fault::stall_after(0));
  loopback_client client(provider.port());
  client.send("POST", "/v1/chat/completions", stream);
  CHECK(client.wait_for(R"("role":"assistant")"));
  CHECK(client.pending().starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(provider.stats().answered(200) == 1);
  CHECK(provider.stats().output_tokens == 0);
}

TEST_CASE("a hang-up before the head") {
  mock_provider provider;
  provider.fail_next(mock_fault::hang_up());
  loopback_client client(provider.port());
  client.send("POST", "/v1/chat/completions", stream);
  CHECK(client.wait_closed());
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.connections == 0; }));
  const auto stats = provider.stats();
  CHECK(stats.cancelled == 0);
  CHECK(stats.faults == 1);
  CHECK(stats.answers.empty());
  CHECK(stats.most_open == 0);
}

TEST_CASE("a hang-up in mid-answer") {
  mock_provider provider;
  provider.fail_next(mock_fault::hang_up_after(3), 2);
  {
    loopback_client client(provider.port());
    const auto reply = post(client, stream);
    CHECK(reply.status == 200);
    CHECK_FALSE(reply.whole);
    CHECK(count(reply.body, R"("content":)") == 4);
    CHECK(count(reply.body, "finish_reason\":null") == 4);
    CHECK(reply.body.find("[DONE]") == std::string::npos);
    CHECK(client.wait_closed());
  }
  {
    loopback_client client(provider.port());
    const auto reply = post(client, plain);
    CHECK(reply.status == 200);
    CHECK_FALSE(reply.whole);
    CHECK(reply.body.starts_with("{"));
    CHECK(reply.body.size() < std::stoul(reply.header("content-length")));
  }
  const auto stats = provider.stats();
  CHECK(stats.served == 0);
  CHECK(stats.cancelled == 0);
  CHECK(stats.open == 0);
  CHECK(stats.running == 0);
  CHECK(stats.output_tokens == 6);
}

TEST_CASE("an event that is no JSON in the midst of good ones") {
  mock_provider provider;
  provider.reply_with(mock_reply::words(4).with_fault(mock_fault::bad_json(2)));
  provider.reply_with(mock_reply::words(4).with_fault(mock_fault::bad_json()));
  loopback_client client(provider.port());
  auto reply = post(client, stream);
  CHECK(reply.whole);
  std::size_t bad = 0;
  std::size_t events = 0;
  for (std::size_t at = 0; at < reply.body.size(); at = reply.body.find("\n\n", at) + 2) {
    const auto data = reply.body.substr(at + 6, reply.body.find("\n\n", at) - at - 6);
    ++events;
    if (data == "[DONE]" || json::accept(data)) continue;
    ++bad;
    CHECK(events == 4);
  }
  CHECK(bad == 1);
  CHECK(events == 9);
  reply = post(client, plain);
  CHECK(reply.status == 200);
  CHECK(reply.whole);
  CHECK_FALSE(json::accept(reply.body));
}

TEST_CASE("200 with a page of HTML") {
  mock_provider provider;
  provider.fail_next(mock_fault::html(), 2);
  loopback_client client(provider.port());
  for (const auto* body : {plain, stream}) {
    const auto reply = post(client, body);
    CHECK(reply.status == 200);
    CHECK(reply.whole);
    CHECK(reply.header("content-type") == "text/html; charset=utf-8");
    CHECK(reply.body.starts_with("<!DOCTYPE html>"));
  }
}

TEST_CASE("an error event in mid-stream ends the stream without [DONE]") {
  mock_provider provider;
  provider.fail_next(mock_fault::error_event(2), 2);
  loopback_client client(provider.port());
  auto reply = post(client, stream);
  CHECK(reply.status == 200);
  CHECK(reply.whole);
  CHECK(count(reply.body, "data: ") == 4);
  const auto last = reply.body.substr(reply.body.rfind("data: ") + 6);
  CHECK(json::parse(last)["error"]["type"] == "server_error");
  CHECK(reply.body.find("[DONE]") == std::string::npos);
  reply = post(client, plain);
  CHECK(reply.status == 500);
  CHECK(error_of(reply)["type"] == "server_error");
  CHECK(provider.stats().answered(200) == 1);
  CHECK(provider.stats().answered(500) == 1);
}

TEST_CASE("streams of imitators: no [DONE], no usage, CRLF, byte order mark") {
  mock_provider provider;
  loopback_client client(provider.port());
  provider.fail_next(mock_fault::no_done());
  auto reply = post(client, stream);
  CHECK(reply.whole);
  CHECK(reply.body.find("[DONE]") == std::string::npos);
  CHECK(reply.body.find(R"("total_tokens")") != std::string::npos);

  provider.fail_next(mock_fault::no_usage(), 2);
  reply = post(client, stream);
  CHECK(reply.body.find("usage") == std::string::npos);
  CHECK(reply.body.ends_with("data: [DONE]\n\n"));
  CHECK_FALSE(json::parse(post(client, plain).body).contains("usage"));

  provider.fail_next(mock_fault::crlf());
  reply = post(client, stream);
  CHECK(reply.body.ends_with("data: [DONE]\r\n\r\n"));
  CHECK(count(reply.body, "\n") == count(reply.body, "\r\n"));
  CHECK(count(reply.body, "\r\n") == 2 * count(reply.body, "data: "));

  provider.fail_next(mock_fault::byte_order_mark());
  reply = post(client, stream);
  CHECK(
      reply.body.starts_with("\xef\xbb\xbf"
                             "data: {"));
}

TEST_CASE("habits add up; of two that end an answer the later one counts") {
  using kind = mock_fault::kind;
  const auto both = mock_fault::crlf().with(mock_fault::reasoning_field()).with(mock_fault::split_writes(0));
  CHECK(both.what() == kind::crlf);
  CHECK(both.has(kind::reasoning_field));
  CHECK(both.has(kind::split_writes));
  CHECK_FALSE(both.has(kind::slow_drip));
  CHECK(both.field() == "reasoning");
  CHECK(both.bytes() == 1);
  const auto ended = mock_fault::hang_up_after(3).with(mock_fault::crlf()).with(mock_fault::error_event(2, 503, "m"));
  CHECK(ended.what() == kind::error_event);
  CHECK(ended.has(kind::crlf));
  CHECK_FALSE(ended.has(kind::hang_up));
  CHECK(ended.after_tokens() == 2);
  CHECK(ended.code() == 503);
  const auto kept = mock_fault::stall_after(3).with(mock_fault::slow_drip(2ms, 5));
  CHECK(kept.what() == kind::stall);
  CHECK(kept.after_tokens() == 3);
  CHECK(kept.every() == 2ms);
  CHECK(kept.bytes() == 5);
  CHECK(mock_fault().with(mock_fault::no_done()).what() == kind::no_done);
  CHECK_FALSE(mock_fault().has(kind::none));
}

TEST_CASE("a server that does not know stream_options says so, once asked") {
  mock_provider provider;
  loopback_client client(provider.port());
  provider.fail_when([](const mock_request&) { return true; }, mock_fault::refuse_stream_options());
  auto reply = post(client, stream);
  CHECK(reply.status == 400);
  CHECK(error_of(reply)["param"] == "stream_options");
  CHECK(error_of(reply)["type"] == "invalid_request_error");
  CHECK(post(client, plain).status == 200);
  reply = post(client, chat("Hi", true));
  CHECK(reply.status == 200);
  CHECK(reply.body.ends_with("data: [DONE]\n\n"));
  CHECK(reply.body.find("usage") == std::string::npos);
}

TEST_CASE("an imitator with many habits at once") {
  mock_provider provider;
  provider.reply_with(mock_reply::tool_call("f", R"({"a":1})")
                          .with_reasoning("Hm.")
                          .with_fault(mock_fault::whole_tool_call()
                                          .with(mock_fault::usage_in_last_chunk())
                                          .with(mock_fault::reasoning_field("thinking"))
                                          .with(mock_fault::no_done())));
  loopback_client client(provider.port());
  const auto all = events(post(client, chat("Hi", true)).body);
  REQUIRE(all.size() == 4);
  CHECK(json::parse(all[1])["choices"][0]["delta"]["thinking"] == "Hm.");
  CHECK(json::parse(all[2])["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]["a"] == 1);
  const auto last = json::parse(all[3]);
  CHECK(last["choices"][0]["finish_reason"] == "tool_calls");
  // One word, the call, and its seven bytes of arguments.
  CHECK(last["usage"]["completion_tokens"] == 3);
}

TEST_CASE("faults by count, by what the request is, and at a rate that the seed decides") {
  const auto statuses = [](std::uint64_t seed, double share) {
    mock_provider provider;
    provider.fail_rate(share, mock_fault::status(500), seed);
    loopback_client client(provider.port());
    std::vector<int> all;
    for (int i = 0; i < 200; ++i) all.push_back(post(client, plain).status);
    CHECK(provider.stats().faults == std::count(all.begin(), all.end(), 500));
    return all;
  };
  const auto some = statuses(7, 0.25);
  CHECK(some == statuses(7, 0.25));
  CHECK(some != statuses(8, 0.25));
  const auto failed = std::count(some.begin(), some.end(), 500);
  CHECK(failed > 30);
  CHECK(failed < 70);
  CHECK(std::count(some.begin(), some.end(), 200) == 200 - failed);
  const auto none = statuses(7, 0);
  CHECK(std::count(none.begin(), none.end(), 500) == 0);
  const auto all = statuses(7, 1);
  CHECK(std::count(all.begin(), all.end(), 500) == 200);

  mock_provider provider;
  loopback_client client(provider.port());
  provider.fail_when([](const mock_request& request) { return request.stream; }, mock_fault::status(503));
  provider.fail_next(mock_fault::status(500), 2);
  provider.fail_next(mock_fault::status(529));
  provider.fail_next(mock_fault::status(400), 0);
  CHECK(post(client, plain).status == 500);
  CHECK(post(client, plain).status == 500);
  CHECK(post(client, stream).status == 529);
  CHECK(post(client, stream).status == 503);
  CHECK(post(client, plain).status == 200);
  provider.clear_faults();
  CHECK(post(client, stream).status == 200);
}
