#include "http/loop_fixture.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

// Sends `bytes` and closes.
raw_server::script sends(std::string bytes) {
  return [bytes](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write(bytes);
  };
}

}  // namespace

TEST_CASE_FIXTURE(loop_fixture, "a refused connection says whose it was, and nothing of the URL's secrets") {
  std::string url;
  {
    raw_server gone(loop, sends(""));
    url = "http://user:secret@127.0.0.1:" + std::to_string(gone.port()) + "/secret?key=secret";
  }
  const whole got = run(fetch(*client, request("GET", url)));
  CHECK(got.failure.is(errc::connect_failed));
  CHECK(got.failure.message().starts_with("127.0.0.1:"));
  CHECK(got.failure.message().find("secret") == std::string::npos);
}

TEST_CASE_FIXTURE(loop_fixture, "a hang-up in mid-body hands out what came, and then the error") {
  raw_server server(loop, sends("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this"));
  auto head = run(client->send(request("GET", server.url())));
  REQUIRE(head.has_value());
  CHECK(run((*head)->read()).value() == "only this");
  const auto end = run((*head)->read());
  REQUIRE_FALSE(end.has_value());
  CHECK(end.error().is(errc::connection_lost));
  CHECK(end.error().message().find("after 9 bytes of the body") != std::string::npos);
}

TEST_CASE_FIXTURE(loop_fixture, "a chunked body without its last chunk is a lost connection") {
  raw_server server(loop, sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("abc")));
  CHECK(run(fetch(*client, request("GET", server.url()))).failure.is(errc::connection_lost));
}

TEST_CASE_FIXTURE(loop_fixture, "a hang-up in the head is a lost connection") {
  raw_server server(loop, sends("HTTP/1.1 200 OK\r\nContent-Le"));
  CHECK(run(fetch(*client, request("GET", server.url()))).failure.is(errc::connection_lost));
}

TEST_CASE_FIXTURE(loop_fixture, "a body without length and chunks ends with the connection") {
  raw_server server(loop, sends("HTTP/1.1 200 OK\r\n\r\nall of it"));
  CHECK(run(fetch(*client, request("GET", server.url()))).body == "all of it");
}

TEST_CASE_FIXTURE(loop_fixture, "what is not HTTP is a protocol error") {
  for (const char* bytes :
       {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "\r\n\r\n\r\n\r\n"}) {
    CAPTURE(bytes);
    raw_server server(loop, sends(bytes));
    const whole got = run(fetch(*client, request("GET", server.url())));
    CHECK(got.failure.is(errc::protocol_error));
    CHECK(got.status == 0);
  }
}

TEST_CASE_FIXTURE(loop_fixture, "a broken chunk size is a protocol error or a lost connection, never an answer") {
  raw_server server(loop, sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"));
  const whole got = run(fetch(*client, request("GET", server.url())));
  CHECK(got.status == 200);
  CHECK((got.failure.is(errc::protocol_error) || got.failure.is(errc::connection_lost)));
  CHECK(got.body.empty());
}

TEST_CASE_FIXTURE(loop_fixture, "a body that is not the gzip it claims to be is a protocol error") {
  raw_server server(loop, sends(answer_with("not gzip at all", "Content-Encoding: gzip\r\n")));
  CHECK(run(fetch(*client, request("GET", server.url()))).failure.is(errc::protocol_error));
}

TEST_CASE_FIXTURE(loop_fixture, "a head without end is cut off at its limit") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\n");
    while (co_await c.write("X-Filler: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  const whole got = run(fetch(*client, request("GET", server.url())));
  CHECK(got.failure.is(errc::too_large));
  CHECK(got.failure.message().find("head is longer than curl_options::max_header_bytes (262,144)") !=
        std::string::npos);
  run_until([&] { return server.open() == 0; });
}

TEST_CASE_FIXTURE(loop_fixture, "a body without end is cut off at its limit") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\n\r\n");
    while (co_await c.write(std::string(10'000, 'x'))) {
    }
  });
  request what("GET", server.url());
  what.max_body = 1'000'000;
  const whole got = run(fetch(*client, what));
  CHECK(got.failure.is(errc::too_large));
  CHECK(got.failure.message().find("max_body (1,000,000 bytes)") != std::string::npos);
  run_until([&] { return server.open() == 0; });
}

TEST_CASE_FIXTURE(loop_fixture,
                  "curl 5: a server that closes while the request is still being sent is an error, not a signal") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    c.socket().set_option(asio::socket_base::linger(true, 0));
    co_return;
  });
  request what("POST", server.url());
  what.set_body(std::string(8'000'000, 'b'));
  for (int i = 0; i < 5; ++i) CHECK(run(fetch(*client, what)).failure.is(errc::connection_lost));
}

TEST_CASE_FIXTURE(loop_fixture, "a name that does not exist is told apart from a host that does not answer") {
  const whole got = run(fetch(*client, request("GET", "http://no-such-host.invalid:1/")));
  CHECK(got.failure.is(errc::host_not_found));
  CHECK(got.failure.message().starts_with("no-such-host.invalid:1: "));
}

TEST_CASE_FIXTURE(
    loop_fixture,
    "an answer that comes before the request's body was read counts, and its connection is not used again") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    asio::error_code wrong;
    std::string head;
    co_await asio::async_read_until(c.socket(), asio::dynamic_buffer(head, 100'000), "\r\n\r\n",
                                    asio::redirect_error(asio::use_awaitable, wrong));
    co_await c.write(answer_with("slow down", "Retry-After: 7\r\n", "429 Too Many Requests"));
    co_await c.closed();
  });
  request what("POST", server.url());
  what.set_body(std::string(8'000'000, 'b'));
  for (int i = 1; i <= 3; ++i) {
    auto head = run(client->send(what));
    REQUIRE(head.has_value());
    CHECK((*head)->status() == 429);
    CHECK((*head)->header_value("retry-after") == "7");
    CHECK(run(read_all(**head)).value() == "slow down");
    run_until([&] { return server.open() == 0; });
    CHECK(server.accepted() == i);
  }
}

TEST_CASE_FIXTURE(loop_fixture, "a head of a megabyte or two is an error that says what is too large") {
  for (const std::size_t size : {120'000u, 1'000'000u, 2'000'000u}) {
    CAPTURE(size);
    raw_server one_line(loop, sends("HTTP/1.1 200 OK\r\nX-Long: " + std::string(size, 'x') + "\r\n\r\n"));
    const whole line = run(fetch(*client, request("GET", one_line.url())));
    CHECK(line.failure.is(errc::too_large));
    CHECK(line.failure.message().find("102,400 bytes a line") != std::string::npos);
  }
  curl_options narrow;
  narrow.max_header_bytes = 1'000;
  auto strict = make_curl_transport(loop.get_executor(), time, narrow);
  raw_server server(loop, sends(answer_with("ok", "X-Long: " + std::string(1'000, 'x') + "\r\n")));
  const whole got = run(fetch(*strict, request("GET", server.url())));
  CHECK(got.failure.is(errc::too_large));
  CHECK(got.failure.message().ends_with("the answer's head is longer than curl_options::max_header_bytes (1,000)"));
  CHECK(run(fetch(*client, request("GET", server.url()))).body == "ok");
}

TEST_CASE_FIXTURE(loop_fixture, "a server that does not speak TLS is told apart") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    co_await c.closed();
  });
  const std::string url = "https://127.0.0.1:" + std::to_string(server.port()) + "/";
  CHECK(run(fetch(*client, request("GET", url))).failure.is(errc::tls_failed));
}
