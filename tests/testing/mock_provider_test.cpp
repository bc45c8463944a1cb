#include <sluice/testing/mock_provider.hpp>

#include "testing/mock_fixture.hpp"

#include <sluice/core/error.hpp>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::testing;

namespace {

// One slot, one place in the queue, and nothing moves on its own accord.
provider_model narrow() {
  auto model = provider_model::instant();
  model.slots = 1;
  model.queue = 1;
  return model;
}

}  // namespace

TEST_CASE("requests are kept, without their secrets") {
  mock_provider_options options;
  options.keep_requests = 2;
  mock_provider provider(options);
  loopback_client client(provider.port());
  post(client, chat("one"));
  auto body = streamed("two");
  body["tools"] = {{{"type", "function"}, {"function", {{"name", "f"}}}}};
  body["max_tokens"] = 9;
  post(client, body, "authorization: Bearer secret-key\r\nx-tag: 5\r\n");
  post(client, chat("three"));
  const auto seen = provider.requests();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].number == 2);
  CHECK(seen[0].method == "POST");
  CHECK(seen[0].target == chat_path);
  CHECK(seen[0].last_text == "two");
  CHECK(seen[0].stream);
  CHECK(seen[0].include_usage);
  CHECK(seen[0].tools == 1);
  CHECK(seen[0].messages == 1);
  CHECK(seen[0].max_output_tokens == 9);
  CHECK(seen[0].header_value("Authorization") == "***");
  CHECK(seen[0].header_value("X-TAG") == "5");
  CHECK(seen[1].last_text == "three");
  CHECK(seen[1].header_value("authorization").empty());
  CHECK(provider.stats().authorized == 1);
}

TEST_CASE("other paths, methods, keys and bodies") {
  mock_provider_options options;
  options.api_key = "k";
  options.max_body = 2000;
  options.models = {"a", "b"};
  mock_provider provider(options);
  loopback_client client(provider.port());
  const std::string key = "authorization: Bearer k\r\n";
  const auto code = [](const loopback_reply& reply) { return json::parse(reply.body)["error"]["code"]; };

  auto reply = client.ask("GET", "/v1/models", {}, key);
  CHECK(reply.status == 200);
  const auto list = json::parse(reply.body);
  CHECK(list["object"] == "list");
  CHECK(list["data"][1]["id"] == "b");
  CHECK(list["data"][1]["object"] == "model");

  reply = client.ask("GET", "/v1/nothing", {}, key);
  CHECK(reply.status == 404);
  CHECK(code(reply) == "unknown_url");
  reply = client.ask("GET", chat_path, {}, key);
  CHECK(reply.status == 405);
  reply = client.ask("POST", "/v1/models", "{}", key);
  CHECK(reply.status == 405);
  reply = post(client, chat());
  CHECK(reply.status == 401);
  CHECK(code(reply) == "invalid_api_key");
  reply = post(client, chat(), "authorization: Bearer wrong\r\n");
  CHECK(reply.status == 401);
  CHECK(post(client, chat(), "api-key: k\r\n").status == 200);
  reply = client.ask("POST", chat_path, "{\"model\":", key);
  CHECK(reply.status == 400);
  CHECK(json::parse(reply.body)["error"]["type"] == "invalid_request_error");
  CHECK(json::parse(reply.body)["error"]["param"].is_null());
  for (const auto* body :
       {"[]", "{}", R"({"model":"m"})", R"({"model":"m","messages":[]})",
        R"({"model":"m","messages":[{"content":"x"}]})", R"({"model":5,"messages":[{"role":"user"}]})",
        R"({"model":"m","messages":[{"role":"user"}],"max_tokens":0})",
        R"({"model":"m","messages":[{"role":"user"}],"stream":"yes"})"}) {
    CAPTURE(body);
    CHECK(client.ask("POST", chat_path, body, key).status == 400);
  }
  reply = post(client, chat(std::string(3000, 'x')), key);
  CHECK(reply.status == 413);
  CHECK(post(client, chat(), key).status == 200);
  const auto stats = provider.stats();
  CHECK(stats.connections_opened == 1);
  CHECK(stats.served == 2);
  CHECK(stats.answered(400) == 9);
  CHECK(stats.answered(401) == 2);
  CHECK(stats.received == 18);
}

TEST_CASE("connection: close is honoured") {
  mock_provider provider;
  loopback_client client(provider.port());
  const auto reply = post(client, streamed(), "connection: close\r\n");
  CHECK(reply.whole);
  CHECK(reply.header("connection") == "close");
  CHECK(client.wait_closed());
  CHECK(provider.wait_until([](const mock_stats& stats) { return stats.connections == 0; }));
  CHECK(provider.stats().served == 1);
  CHECK(provider.stats().cancelled == 0);
}

TEST_CASE("slots, then the queue, then 429; the headers tell") {
  mock_provider provider(narrow());
  provider.freeze();
  loopback_client first(provider.port());
  loopback_client second(provider.port());
  loopback_client third(provider.port());
  send(first, chat(), "x-mock-input-tokens: 500\r\n");
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.running == 1; }));
  auto limited = streamed();
  limited["max_tokens"] = 300;
  send(second, limited, "x-mock-input-tokens: 200\r\n");
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.waiting == 1; }));
  const auto refused = post(third, chat());
  CHECK(refused.status == 429);
  CHECK(refused.header("retry-after") == "1");
  CHECK(refused.header("x-ratelimit-limit-requests") == "1000000000");
  CHECK(refused.header("x-ratelimit-remaining-requests") == "0");
  CHECK(refused.header("x-ratelimit-reset-requests") == "1s");
  CHECK(refused.header("x-ratelimit-limit-tokens") == "2000000");
  CHECK(refused.header("x-ratelimit-remaining-tokens") == "1999000");
  CHECK(refused.header("x-ratelimit-reset-tokens") == "1s");
  CHECK(refused.header("x-request-id") == "req-3");
  const auto error = json::parse(refused.body)["error"];
  CHECK(error["type"] == "requests");
  CHECK(error["code"] == "rate_limit_exceeded");
  auto stats = provider.stats();
  CHECK(stats.refused == 1);
  CHECK(stats.open == 2);
  CHECK(stats.streams == 1);
  CHECK(stats.served == 0);

  provider.thaw();
  CHECK(first.read().whole);
  CHECK(second.read().whole);
  const auto again = post(third, chat());
  CHECK(again.status == 200);
  CHECK(again.header("x-ratelimit-remaining-requests") == "1000000000");
  CHECK(again.header("x-ratelimit-reset-requests") == "0s");
  CHECK(again.header("x-ratelimit-remaining-tokens") == "2000000");
  stats = provider.stats();
  CHECK(stats.served == 3);
  CHECK(stats.most_running == 1);
  CHECK(stats.most_waiting == 1);
  CHECK(stats.faults == 0);
  CHECK(stats.answered(429) == 1);
}

TEST_CASE("a refusal does not use up a scripted reply") {
  auto model = narrow();
  model.queue = 0;
  model.retry_after = 250ms;
  mock_provider provider(model);
  provider.reply_with(mock_reply::failure(mock_fault::stall()));
  provider.reply_with(mock_reply::text("kept"));
  loopback_client first(provider.port());
  loopback_client second(provider.port());
  send(first, chat());
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.running == 1; }));
  const auto refused = post(second, chat());
  CHECK(refused.status == 429);
  CHECK(refused.header("retry-after") == "0.25");
  first.close();
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.running == 0; }));
  CHECK(json::parse(post(second, chat()).body)["choices"][0]["message"]["content"] == "kept");
}

TEST_CASE("a client that leaves is noticed, whatever its request is doing") {
  mock_provider provider(narrow());
  loopback_client running(provider.port());
  loopback_client waiting(provider.port());
  provider.reply_with(mock_reply::words(5).with_fault(mock_fault::stall_after(3)));

  SUBCASE("while its stream is silent") {
    send(running, streamed());
    REQUIRE(running.wait_for("down"));
    running.close();
    REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.cancelled == 1; }));
    const auto stats = provider.stats();
    CHECK(stats.running == 0);
    CHECK(stats.open == 0);
    CHECK(stats.streams == 0);
    CHECK(stats.served == 0);
    CHECK(stats.output_tokens == 3);
    CHECK(stats.wasted_output_tokens == 3);
    CHECK(stats.wasted_input_tokens == stats.input_tokens);
    CHECK(stats.answered(200) == 1);
  }
  SUBCASE("while it waits for a slot: nothing was spent on it, and its place is free") {
    send(running, streamed());
    REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.running == 1; }));
    send(waiting, streamed());
    REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.waiting == 1; }));
    waiting.close();
    REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.waiting == 0; }));
    const auto stats = provider.stats();
    CHECK(stats.cancelled == 1);
    CHECK(stats.wasted_output_tokens == 0);
    CHECK(stats.wasted_input_tokens == 0);
    CHECK(stats.running == 1);
  }
  SUBCASE("its slot goes to the one that waits") {
    send(running, streamed());
    REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.running == 1; }));
    send(waiting, streamed());
    REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.waiting == 1; }));
    running.close();
    const auto reply = waiting.read();
    CHECK(reply.whole);
    CHECK(events(reply.body).back() == "[DONE]");
  }
}

TEST_CASE("what is left in the middle of its prompt is counted as far as it came") {
  auto model = narrow();
  model.prompt_rate = 1000;
  model.time_scale = 1e6;
  mock_provider provider(model);
  provider.freeze();
  loopback_client client(provider.port());
  send(client, chat(), "x-mock-input-tokens: 4000\r\n");
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.running == 1; }));
  client.close();
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.cancelled == 1; }));
  CHECK(provider.stats().wasted_input_tokens == 0);
  CHECK(provider.stats().running == 0);
}

TEST_CASE("time: tokens come one after the other, as fast as the model says") {
  provider_model model;
  model.time_scale = 20;
  mock_provider provider(model);
  loopback_client client(provider.port());
  const auto begin = std::chrono::steady_clock::now();
  const auto reply = post(client, streamed(), "x-mock-input-tokens: 4000\r\nx-mock-output-tokens: 400\r\n");
  const auto took = std::chrono::steady_clock::now() - begin;
  // 40 ms + 1 s + 1 s of model time: never faster than that.
  CHECK(took >= 102ms);
  const auto all = events(reply.body);
  CHECK(json::parse(all[all.size() - 2])["usage"]["completion_tokens"] == 400);
  // 0.125 ms of real time a token, so 40 share an event: one for the first, 10 for the rest, and role, reason, usage,
  // end.
  CHECK(all.size() == 15);
  CHECK(provider.stats().output_tokens == 400);
}

TEST_CASE("another model in mid-run takes effect at once") {
  auto model = narrow();
  model.output_rate = 1e-3;
  mock_provider provider(model);
  loopback_client client(provider.port());
  send(client, streamed());
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.running == 1; }));
  provider.set_model(provider_model::instant());
  CHECK(client.read().whole);
  CHECK(provider.stats().served == 1);
}

TEST_CASE("stop in mid-run closes everything, and the destructor does too") {
  auto provider = std::make_unique<mock_provider>(narrow());
  provider->fail_next(mock_fault::stall_after(1), 1);
  const auto port = provider->port();
  loopback_client streaming(port);
  loopback_client waiting(port);
  loopback_client idle(port);
  CHECK(idle.ask("GET", "/v1/models").status == 200);
  send(streaming, streamed());
  REQUIRE(streaming.wait_for("water"));
  send(waiting, chat());
  REQUIRE(provider->wait_until([](const mock_stats& stats) { return stats.waiting == 1; }));
  SUBCASE("stop") {
    provider->stop();
    const auto stats = provider->stats();
    CHECK(stats.open == 0);
    CHECK(stats.connections == 0);
    CHECK(stats.received == 3);
    CHECK(stats.most_connections == 3);
    CHECK(provider->requests().size() == 2);
    CHECK(provider->port() == port);
    provider->stop();
    provider->freeze();
    provider->reply_with(mock_reply());
  }
  SUBCASE("destructor") { provider.reset(); }
  CHECK_FALSE(streaming.read().whole);
  CHECK(waiting.wait_closed());
  CHECK(idle.wait_closed());
  CHECK_THROWS_AS(loopback_client{port}, std::system_error);
}

TEST_CASE("a port that is taken is one clear error") {
  mock_provider provider;
  mock_provider_options options;
  options.port = provider.port();
  CHECK_THROWS_AS(mock_provider{options}, sluice::error_exception);
}

TEST_CASE("members may be called from several threads and from callbacks") {
  mock_provider provider;
  provider.on_request([&](const mock_request&) {
    const auto stats = provider.stats();
    return mock_reply::words(stats.received > 0 ? 2 : 3);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      loopback_client client(provider.port());
      for (int i = 0; i < 25; ++i) {
        CHECK(post(client, streamed()).whole);
        CHECK(provider.stats().served > i);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto stats = provider.stats();
  CHECK(stats.served == 100);
  CHECK(stats.connections_opened == 4);
  CHECK(stats.output_tokens == 200);
}

TEST_CASE("two thousand streams at once, over connections that stay") {
  rlimit files{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  const rlim_t needed = 4200;
  if (files.rlim_cur < needed) {
    files.rlim_cur = std::min(needed, files.rlim_max);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
  }
  REQUIRE(files.rlim_cur >= needed);
  constexpr std::size_t count = 2000;
  mock_provider provider;
  std::vector<std::unique_ptr<loopback_client>> clients;
  for (std::size_t i = 0; i < count; ++i) clients.push_back(std::make_unique<loopback_client>(provider.port()));
  for (int round = 1; round <= 2; ++round) {
    provider.freeze();
    for (auto& client : clients) send(*client, streamed(), "x-mock-output-tokens: 8\r\n");
    REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.streams == count; }));
    provider.thaw();
    std::size_t whole = 0;
    for (auto& client : clients) {
      const auto reply = client->read();
      if (reply.whole && reply.body.ends_with("data: [DONE]\n\n")) ++whole;
    }
    CHECK(whole == count);
    const auto stats = provider.stats();
    CHECK(stats.served == round * static_cast<std::int64_t>(count));
    CHECK(stats.most_streams == count);
    CHECK(stats.connections_opened == count);
    CHECK(stats.streams == 0);
  }
  clients.clear();
  CHECK(provider.wait_until([](const mock_stats& stats) { return stats.connections == 0; }));
}
