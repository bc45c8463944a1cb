#include "http/loop_fixture.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

asio::awaitable<void> answer_all(raw_connection& c) {
  for (;;) {
    const std::string seen = co_await c.read_request();
    if (seen.empty()) co_return;
    if (!co_await c.write(answer_with("ok"))) co_return;
  }
}

}  // namespace

TEST_CASE_FIXTURE(loop_fixture, "a connection is used again") {
  raw_server server(loop, answer_all);
  for (int i = 0; i < 50; ++i) CHECK(run(fetch(*client, request("GET", server.url()))).body == "ok");
  CHECK(server.accepted() == 1);
}

TEST_CASE_FIXTURE(loop_fixture, "an idle connection does not keep the loop running") {
  {
    raw_server server(loop, answer_all);
    CHECK(run(fetch(*client, request("GET", server.url()))).body == "ok");
    client.reset();
  }
  loop.restart();
  loop.run();
  CHECK(loop.stopped());
}

TEST_CASE_FIXTURE(loop_fixture, "curl 4: a connection that the server closed while it was idle is replaced unnoticed") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write(answer_with("ok"));
  });
  for (int i = 0; i < 5; ++i) {
    CHECK(run(fetch(*client, request("GET", server.url()))).body == "ok");
    run_until([&] { return server.open() == 0; });
  }
  CHECK(server.accepted() == 5);
}

TEST_CASE_FIXTURE(loop_fixture,
                  "curl 4: a kept-alive connection closed just as it is used is retried once, unnoticed") {
  int requests = 0;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    ++requests;
    co_await c.write(answer_with("ok"));
    // The next request is read, and then nothing is answered: only the first connection does this.
    const std::string seen = co_await c.read_request();
    if (!seen.empty()) ++requests;
  });
  request what("POST", server.url());
  what.set_body("body");
  CHECK(run(fetch(*client, what)).body == "ok");
  CHECK(run(fetch(*client, what)).body == "ok");
  CHECK(requests == 3);
  CHECK(server.accepted() == 2);
}

TEST_CASE_FIXTURE(loop_fixture,
                  "curl 4: connections that die as they are used again, one after the other, are each replaced") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write(answer_with("ok"));
    co_await c.read_request();
  });
  request what("POST", server.url());
  what.set_body("body");
  for (int i = 0; i < 40; ++i) CHECK(run(fetch(*client, what)).body == "ok");
  CHECK(server.accepted() == 40);
}

TEST_CASE_FIXTURE(loop_fixture, "a fresh connection that answers nothing is an error, not a retry") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> { co_await c.read_request(); });
  const whole got = run(fetch(*client, request("GET", server.url())));
  CHECK(got.failure.is(errc::connection_lost));
  CHECK(server.accepted() == 1);
}

TEST_CASE_FIXTURE(loop_fixture, "curl 1: descriptor numbers that come and go between exchanges confuse nobody") {
  raw_server keeps(loop, answer_all);
  raw_server closes(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
  });
  for (int round = 0; round < 30; ++round) {
    std::vector<std::shared_ptr<started<whole>>> all;
    for (int i = 0; i < 8; ++i) {
      const raw_server& server = (i + round) % 3 == 0 ? closes : keeps;
      all.push_back(start(fetch(*client, request("GET", server.url()))));
    }
    // Some are given up at once, so that their numbers are free for others in the same round.
    all[static_cast<std::size_t>(round % 8)]->cancel.emit(asio::cancellation_type::terminal);
    for (std::size_t i = 0; i < all.size(); ++i) {
      run_until([&] { return all[i]->ended; });
      if (i != static_cast<std::size_t>(round % 8)) CHECK(all[i]->value.value().body == "ok");
    }
  }
}

TEST_CASE_FIXTURE(loop_fixture, "no more idle connections are kept than allowed") {
  raw_server server(loop, answer_all);
  curl_options few;
  few.max_idle_connections = 2;
  auto modest = make_curl_transport(loop.get_executor(), time, few);
  std::vector<std::shared_ptr<started<whole>>> all;
  for (int i = 0; i < 10; ++i) all.push_back(start(fetch(*modest, request("GET", server.url()))));
  for (const auto& one : all) {
    run_until([&] { return one->ended; });
    CHECK(one->value.value().body == "ok");
  }
  run_until([&] { return server.open() <= 2; });
  CHECK(server.accepted() == 10);
}
