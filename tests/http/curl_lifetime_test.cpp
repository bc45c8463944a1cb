#include "http/loop_fixture.hpp"

#include <sluice/runtime/time_source.hpp>

#include <doctest/doctest.h>
#include <asio/strand.hpp>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

// Exchanges in different states: connecting, waiting for the head, in mid-body, paused.
asio::awaitable<void> stall(raw_connection& c) {
  const std::string seen = co_await c.read_request();
  if (seen.starts_with("GET /silent")) co_return co_await c.closed();
  co_await c.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\npart");
  if (seen.starts_with("GET /flood")) co_await c.write(std::string(500'000, 'x'));
  co_await c.closed();
}

constexpr const char* paths[] = {"/silent", "/half", "/flood"};

}  // namespace

TEST_CASE_FIXTURE(loop_fixture, "curl 10: a transport destroyed with exchanges running cancels them all") {
  raw_server server(loop, stall);
  std::vector<std::shared_ptr<started<whole>>> all;
  for (int i = 0; i < 30; ++i) all.push_back(start(fetch(*client, request("GET", server.url(paths[i % 3])))));
  run_until([&] { return server.open() == 30; });
  while (loop.poll_one() > 0) {
  }
  all.push_back(start(fetch(*client, request("GET", server.url("/silent")))));
  loop.poll_one();
  client.reset();
  CHECK(time.armed() == 0);
  for (const auto& one : all) {
    run_until([&] { return one->ended; });
    CHECK(one->value.value().failure.is(errc::cancelled));
  }
  run_until([&] { return server.open() == 0; });
}

TEST_CASE_FIXTURE(loop_fixture, "an answer may outlive its transport, and an awaitable too") {
  raw_server server(loop, stall);
  auto head = run(client->send(request("GET", server.url("/half"))));
  REQUIRE(head.has_value());
  auto late = client->send(request("GET", server.url("/half")));
  client.reset();
  CHECK((*head)->status() == 200);
  CHECK(run((*head)->read()).error().is(errc::cancelled));
  CHECK(run(std::move(late)).error().is(errc::cancelled));
}

TEST_CASE("curl 10: the loop may be destroyed first, with exchanges in every state") {
  testing::manual_time_source time;
  for (int steps = 0; steps < 60; steps += 3) {
    auto loop = std::make_unique<asio::io_context>(1);
    auto client = make_curl_transport(loop->get_executor(), time);
    std::unique_ptr<response> kept;
    auto server = std::make_unique<raw_server>(*loop, stall);
    for (int i = 0; i < 6; ++i) {
      asio::co_spawn(*loop, fetch(*client, request("GET", server->url(paths[i % 3]))), asio::detached);
    }
    auto keep = [&]() -> asio::awaitable<void> {
      auto head = co_await client->send(request("GET", server->url("/half")));
      if (head) kept = *std::move(head);
    };
    asio::co_spawn(*loop, keep(), asio::detached);
    for (int i = 0; i < steps; ++i) loop->poll_one();
    server.reset();
    loop.reset();
    CHECK(time.armed() == 0);
    kept.reset();
    client.reset();
  }
}

TEST_CASE("the transport may live in the loop that dies, owned by a coroutine of its own") {
  testing::manual_time_source time;
  {
    asio::io_context loop;
    raw_server server(loop, stall);
    auto own = [&]() -> asio::awaitable<void> {
      auto client = make_curl_transport(loop.get_executor(), time);
      auto head = co_await client->send(request("GET", server.url("/silent")));
      CHECK_FALSE(head.has_value());
    };
    asio::co_spawn(loop, own(), asio::detached);
    while (server.open() == 0) loop.run_one();
    CHECK(time.armed() == 1);
  }
  CHECK(time.armed() == 0);
}

TEST_CASE("a coroutine's own loop may die before the transport's") {
  testing::manual_time_source time;
  asio::io_context engine_loop(1);
  auto client = make_curl_transport(engine_loop.get_executor(), time);
  raw_server server(engine_loop, stall);
  {
    asio::io_context other(1);
    asio::co_spawn(other, fetch(*client, request("GET", server.url("/silent"))), asio::detached);
    other.poll();
    while (server.open() == 0) engine_loop.run_one();
    CHECK(time.armed() == 1);
  }
  CHECK(time.armed() == 0);
  while (server.open() != 0) engine_loop.run_one();
  client.reset();
}

TEST_CASE("a coroutine on another loop is resumed there, and its loop has work meanwhile") {
  testing::manual_time_source time;
  asio::io_context engine_loop(1);
  auto client = make_curl_transport(engine_loop.get_executor(), time);
  raw_server server(engine_loop, [](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write(answer_with("ok"));
  });
  asio::io_context other(1);
  std::string body;
  asio::co_spawn(other, fetch(*client, request("GET", server.url())), [&](std::exception_ptr, whole got) {
    CHECK(other.get_executor().running_in_this_thread());
    CHECK_FALSE(engine_loop.get_executor().running_in_this_thread());
    body = got.body;
  });
  while (body.empty()) {
    other.poll();
    CHECK_FALSE((other.stopped() && body.empty()));
    engine_loop.poll();
  }
  CHECK(body == "ok");
  client.reset();
}

TEST_CASE("on a strand everything works as on the loop itself") {
  testing::manual_time_source time;
  asio::io_context loop(1);
  auto strand = asio::make_strand(loop);
  auto client = make_curl_transport(strand, time);
  raw_server server(loop, [](raw_connection& c) -> asio::awaitable<void> {
    while (!(co_await c.read_request()).empty()) co_await c.write(answer_with("ok"));
  });
  int done = 0;
  for (int i = 0; i < 10; ++i) {
    asio::co_spawn(strand, fetch(*client, request("GET", server.url())), [&](std::exception_ptr, whole got) {
      CHECK(strand.running_in_this_thread());
      if (got.body == "ok") ++done;
    });
  }
  while (done < 10) loop.run_one();
  client.reset();
}

TEST_CASE("no descriptor stays behind") {
  testing::manual_time_source time;
  const int before = open_descriptors();
  {
    asio::io_context loop(1);
    auto client = make_curl_transport(loop.get_executor(), time);
    raw_server server(loop, stall);
    raw_server quick(loop, [](raw_connection& c) -> asio::awaitable<void> {
      while (!(co_await c.read_request()).empty()) co_await c.write(answer_with("ok"));
    });
    int ended = 0;
    const auto count = [&](std::exception_ptr, const whole&) { ++ended; };
    for (int i = 0; i < 20; ++i) {
      asio::co_spawn(loop, fetch(*client, request("GET", server.url(paths[i % 3]))), count);
      asio::co_spawn(loop, fetch(*client, request("GET", quick.url())), count);
    }
    while (ended < 20 || server.open() < 20) loop.run_one();
    CHECK(open_descriptors() > before + 40);
    client.reset();
    while (ended < 40 || server.open() + quick.open() > 0) loop.run_one();
  }
  CHECK(open_descriptors() == before);
}
