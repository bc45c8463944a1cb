#include "http/loop_fixture.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(loop_fixture,
                  "an answer tells when it was begun, connected and first heard of, by the transport's clock") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      if ((co_await c.read_request()).empty()) co_return;
      time.advance(3s);
      co_await c.write("HTTP/1.1 200 OK\r\n");
      time.advance(1s);
      if (!co_await c.write("Content-Length: 2\r\n\r\nok")) co_return;
    }
  });
  const instant start_of_all = time.now();
  auto first = run(client->send(request("GET", server.url())));
  REQUIRE(first.has_value());
  CHECK((*first)->times().begun == start_of_all);
  CHECK((*first)->times().connected == start_of_all);
  // The two parts of the head may arrive as one.
  CHECK((*first)->times().first_byte >= start_of_all + 3s);
  CHECK((*first)->times().first_byte <= start_of_all + 4s);
  const exchange_times before = (*first)->times();
  CHECK(run(read_all(**first)).value() == "ok");
  CHECK((*first)->times().first_byte == before.first_byte);

  time.advance(10s);
  const instant again = time.now();
  auto second = run(client->send(request("GET", server.url())));
  REQUIRE(second.has_value());
  CHECK((*second)->times().begun == again);
  CHECK((*second)->times().connected == again);
  CHECK((*second)->times().first_byte >= again + 3s);
  CHECK(server.accepted() == 1);
}

TEST_CASE_FIXTURE(loop_fixture, "the time to connect is that of the connection that carried the answer") {
  int requests = 0;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    ++requests;
    co_await c.write(answer_with("ok"));
    if (c.number() > 1) co_return;
    // The second request is taken and not answered: it has to come again, over another connection.
    co_await c.read_request();
    ++requests;
    time.advance(7s);
  });
  CHECK(run(fetch(*client, request("GET", server.url()))).body == "ok");
  const instant again = time.now();
  auto head = run(client->send(request("GET", server.url())));
  REQUIRE(head.has_value());
  CHECK(requests == 3);
  CHECK((*head)->times().begun == again);
  CHECK((*head)->times().connected == again + 7s);
  CHECK((*head)->times().first_byte == again + 7s);
}
