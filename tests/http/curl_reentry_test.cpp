// What callers do from inside the transport's own steps: they are resumed there, and may start, give up and destroy.
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

asio::awaitable<void> drip(raw_connection& c) {
  static_cast<void>(co_await c.read_request());
  co_await c.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (;;) {
    const bool here = co_await c.write(chunk("part"));
    if (!here) co_return;
  }
}

}  // namespace

TEST_CASE_FIXTURE(loop_fixture, "curl 2: libcurl asks to be called at once from within calls, which does not recurse") {
  raw_server server(loop, answer_all);
  // Each exchange is started by the coroutine that the former's end resumed, from inside libcurl's step.
  const auto chain = [&](int length) -> asio::awaitable<int> {
    int good = 0;
    for (int i = 0; i < length; ++i) {
      auto head = co_await client->send(request("GET", server.url()));
      if (!head) co_return good;
      const auto body = co_await read_all(**head);
      if (body && *body == "ok") ++good;
    }
    co_return good;
  };
  std::vector<std::shared_ptr<started<int>>> all;
  for (int i = 0; i < 8; ++i) all.push_back(start(chain(200)));
  for (const auto& one : all) {
    run_until([&] { return one->ended; });
    CHECK(one->value.value() == 200);
  }
  CHECK(server.accepted() <= 8);
}

TEST_CASE_FIXTURE(loop_fixture,
                  "curl 3: a reader that gives up as soon as bytes come takes the exchange out, and no other") {
  raw_server server(loop, drip);
  raw_server steady(loop, answer_all);
  const auto give_up = [&]() -> asio::awaitable<std::string> {
    auto head = co_await client->send(request("GET", server.url()));
    auto part = co_await (*head)->read();
    std::string first = part->substr(0, 4);
    head->reset();
    // From the same step, the next one is begun.
    auto next = co_await client->send(request("GET", steady.url()));
    auto body = co_await read_all(**next);
    co_return first + *body;
  };
  std::vector<std::shared_ptr<started<std::string>>> all;
  for (int i = 0; i < 50; ++i) all.push_back(start(give_up()));
  for (const auto& one : all) {
    run_until([&] { return one->ended; });
    CHECK(one->value.value() == "partok");
  }
  run_until([&] { return server.open() == 0; });
  CHECK(time.armed() == 0);
}

TEST_CASE_FIXTURE(loop_fixture, "curl 10: the transport may be destroyed by the coroutine that it has just resumed") {
  raw_server server(loop, drip);
  const auto end_all = [&]() -> asio::awaitable<error> {
    auto head = co_await client->send(request("GET", server.url()));
    static_cast<void>(co_await (*head)->read());
    client.reset();
    auto after = co_await (*head)->read();
    co_return after.error();
  };
  auto others = start(fetch(*client, request("GET", server.url())));
  auto ender = start(end_all());
  run_until([&] { return ender->ended && others->ended; });
  CHECK(ender->value.value().is(errc::cancelled));
  CHECK(others->value.value().failure.is(errc::cancelled));
  run_until([&] { return server.open() == 0; });
}
