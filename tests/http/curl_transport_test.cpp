#include "http/loop_fixture.hpp"

#include <sluice/http/curl_transport.hpp>

#include <doctest/doctest.h>
#include <asio/post.hpp>

#include <algorithm>
#include <vector>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

// gzip of "data: 1\n\n", flushed but not ended.
constexpr unsigned char begun_stream[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4a, 0x49, 0x2c,
                                          0x49, 0xb4, 0x52, 0x30, 0xe4, 0xe2, 0x02, 0x00, 0x00, 0x00, 0xff, 0xff};

// gzip of 100,000 times "z".
constexpr unsigned char many_z[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xc2, 0xa0,
    0xde, 0x4b, 0x6f, 0x0d, 0x0f, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x57, 0x03, 0x24, 0x97, 0xe1, 0xff, 0xa0, 0x86, 0x01, 0x00};

template <std::size_t N>
std::string bytes_of(const unsigned char (&bytes)[N]) {
  return std::string(bytes, bytes + N);
}

}  // namespace

TEST_CASE_FIXTURE(loop_fixture, "a request goes out as it was written, and the answer comes back whole") {
  std::string seen;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    seen = co_await c.read_request();
    co_await c.write(answer_with("hello", "X-One: 1\r\nContent-Type: text/plain\r\n"));
  });
  request what("POST", server.url("/v1/chat?a=b"));
  what.add_header("Authorization", "Bearer key")
      .add_header("x-empty", "")
      .add_header("Content-Type", "application/json");
  what.set_body("{\"a\":1}");
  auto head = run(client->send(what));
  REQUIRE(head.has_value());
  CHECK((*head)->status() == 200);
  CHECK((*head)->header_value("x-one") == "1");
  CHECK((*head)->header_value("content-type") == "text/plain");
  CHECK(run(read_all(**head)).value() == "hello");
  CHECK(run((*head)->read()).value().empty());
  CHECK(run((*head)->read()).value().empty());

  CHECK(seen.starts_with("POST /v1/chat?a=b HTTP/1.1\r\n"));
  CHECK(seen.ends_with("\r\n\r\n{\"a\":1}"));
  CHECK(seen.find("\r\nAuthorization: Bearer key\r\n") != seen.npos);
  CHECK(seen.find("\r\nx-empty:\r\n") != seen.npos);
  CHECK(seen.find("\r\nContent-Type: application/json\r\n") != seen.npos);
  CHECK(seen.find("\r\nContent-Length: 7\r\n") != seen.npos);
  CHECK(seen.find("urlencoded") == seen.npos);
}

TEST_CASE_FIXTURE(loop_fixture, "methods are sent as named, one after the other through the same handle") {
  std::vector<std::string> lines;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      const std::string seen = co_await c.read_request();
      if (seen.empty()) co_return;
      const bool has_length = seen.find("\r\nContent-Length: ") != seen.npos;
      lines.push_back(seen.substr(0, seen.find(" HTTP/")) + (has_length ? " with a body" : ""));
      std::string reply = answer_with("x");
      if (seen.starts_with("HEAD")) reply = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n";
      co_await c.write(std::move(reply));
    }
  });
  for (const char* method : {"GET", "POST", "HEAD", "DELETE", "PUT", "GET", "HEAD", "PATCH", "OPTIONS", "POST"}) {
    const whole got = run(fetch(*client, request(method, server.url())));
    CHECK(got.status == 200);
    CHECK(got.body == (std::string_view(method) == "HEAD" ? "" : "x"));
  }
  request with_body("DELETE", server.url());
  with_body.set_body("y");
  CHECK(run(fetch(*client, with_body)).status == 200);
  CHECK(lines == std::vector<std::string>{"GET /", "POST / with a body", "HEAD /", "DELETE /", "PUT / with a body",
                                          "GET /", "HEAD /", "PATCH / with a body", "OPTIONS /", "POST / with a body",
                                          "DELETE / with a body"});
}

TEST_CASE_FIXTURE(loop_fixture, "curl 8: no body waits for 100 Continue, whatever its size") {
  std::string seen;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    seen = co_await c.read_request();
    co_await c.write(answer_with("ok"));
  });
  for (const std::size_t size : {1'025u, 524'287u, 524'288u, 1'048'575u, 1'048'576u, 1'048'577u, 3'000'000u}) {
    CAPTURE(size);
    request what("POST", server.url());
    what.set_body(std::string(size, 'b'));
    CHECK(run(fetch(*client, what)).body == "ok");
    CHECK(seen.size() > size);
    CHECK(seen.substr(0, 500).find("Expect") == seen.npos);
  }
}

TEST_CASE_FIXTURE(loop_fixture, "curl 9: no redirect is followed, so that no other host is shown the key") {
  raw_server other(loop, [](raw_connection& c) -> asio::awaitable<void> { co_await c.read_request(); });
  std::string status;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      if ((co_await c.read_request()).empty()) co_return;
      co_await c.write(answer_with("", "Location: " + other.url("/stolen") + "\r\n", status));
    }
  });
  for (const char* each :
       {"301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"}) {
    status = each;
    request what("POST", server.url());
    what.add_header("Authorization", "Bearer key").set_body("{}");
    auto head = run(client->send(what));
    REQUIRE(head.has_value());
    CHECK(std::to_string((*head)->status()) == status.substr(0, 3));
    CHECK((*head)->header_value("location") == other.url("/stolen"));
    CHECK(run(read_all(**head)).value().empty());
  }
  CHECK(other.accepted() == 0);
}

TEST_CASE_FIXTURE(loop_fixture, "the user agent is the option's, unless the request names its own") {
  std::string seen;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      seen = co_await c.read_request();
      if (seen.empty()) co_return;
      co_await c.write(answer_with("ok"));
    }
  });
  const auto agent_of = [&](transport& over, request what) {
    CHECK(run(fetch(over, std::move(what))).body == "ok");
    const std::size_t at = seen.find("\r\nUser-Agent: ");
    return at == seen.npos ? std::string("none") : seen.substr(at + 14, seen.find('\r', at + 2) - at - 14);
  };
  CHECK(agent_of(*client, request("GET", server.url())) == default_user_agent());
  curl_options options;
  options.user_agent = "program/2 (of mine)";
  auto named = make_curl_transport(loop.get_executor(), time, options);
  CHECK(agent_of(*named, request("GET", server.url())) == "program/2 (of mine)");
  request own("GET", server.url());
  own.add_header("User-Agent", "own/1");
  CHECK(agent_of(*named, own) == "own/1");
  options.user_agent.clear();
  auto silent = make_curl_transport(loop.get_executor(), time, options);
  CHECK(agent_of(*silent, request("GET", server.url())) == "none");
}

TEST_CASE_FIXTURE(loop_fixture, "statuses are answers, and a redirect is not followed") {
  int requests = 0;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      const std::string seen = co_await c.read_request();
      if (seen.empty()) co_return;
      ++requests;
      std::string reply = answer_with("busy", "Retry-After: 3\r\n", "503 Service Unavailable");
      if (seen.starts_with("GET /moved")) {
        reply = answer_with("", "Location: http://127.0.0.1:1/\r\n", "302 Found");
      }
      co_await c.write(std::move(reply));
    }
  });
  CHECK(run(fetch(*client, request("GET", server.url("/moved")))).status == 302);
  const whole busy = run(fetch(*client, request("GET", server.url("/busy"))));
  CHECK(busy.status == 503);
  CHECK(busy.body == "busy");
  CHECK(requests == 2);
}

TEST_CASE_FIXTURE(loop_fixture, "interim answers are passed over") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer_with("end"));
  });
  auto head = run(client->send(request("GET", server.url())));
  REQUIRE(head.has_value());
  CHECK((*head)->status() == 200);
  CHECK((*head)->header_value("link").empty());
  CHECK(run(read_all(**head)).value() == "end");
}

TEST_CASE_FIXTURE(loop_fixture, "a chunked body that comes byte by byte is whole") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    c.socket().set_option(asio::ip::tcp::no_delay(true));
    const std::string bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("hello, ") +
                              chunk("world") + "0\r\nX-Trailer: 1\r\n\r\n";
    for (const char byte : bytes) {
      std::string one(1, byte);
      co_await c.write(std::move(one));
    }
    co_await c.closed();
  });
  CHECK(run(fetch(*client, request("GET", server.url()))).body == "hello, world");
}

TEST_CASE_FIXTURE(loop_fixture, "each part of a stream can be read before the next one is sent") {
  bool next = false;
  asio::steady_timer bell(loop, asio::steady_timer::time_point::max());
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 5; ++i) {
      co_await c.write(chunk("part " + std::to_string(i)));
      asio::error_code rung;
      while (!next) co_await bell.async_wait(asio::redirect_error(asio::use_awaitable, rung));
      next = false;
    }
    co_await c.write(chunk(""));
  });
  auto head = run(client->send(request("GET", server.url())));
  REQUIRE(head.has_value());
  for (int i = 0; i < 5; ++i) {
    CHECK(run((*head)->read()).value() == "part " + std::to_string(i));
    next = true;
    bell.cancel();
  }
  CHECK(run((*head)->read()).value().empty());
}

TEST_CASE_FIXTURE(loop_fixture, "sse 14: a gzipped stream is decoded as it comes, not at its end") {
  std::string seen;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    seen = co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" +
                     chunk(bytes_of(begun_stream)));
    co_await c.closed();
  });
  auto head = run(client->send(request("GET", server.url())));
  REQUIRE(head.has_value());
  CHECK(run((*head)->read()).value() == "data: 1\n\n");
  CHECK(seen.find("\r\nAccept-Encoding: gzip\r\n") != seen.npos);
}

TEST_CASE_FIXTURE(loop_fixture, "a gzipped answer is whole, and its limit counts what it unpacks to") {
  const std::string text(100'000, 'z');
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      const std::string seen = co_await c.read_request();
      if (seen.empty()) co_return;
      co_await c.write(answer_with(bytes_of(many_z), "Content-Encoding: gzip\r\n"));
    }
  });
  request what("GET", server.url());
  CHECK(run(fetch(*client, what)).body == text);
  what.max_body = 99'999;
  CHECK(run(fetch(*client, what)).failure.is(errc::too_large));
  what.max_body = 100'000;
  CHECK(run(fetch(*client, what)).body == text);
}

TEST_CASE_FIXTURE(loop_fixture, "a reader that is late pauses the connection, and still gets every byte") {
  constexpr std::size_t size = 16u << 20;
  std::size_t written = 0;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n");
    while (written < size) {
      std::string part(65'536, static_cast<char>('a' + written / 65'536 % 26));
      if (!co_await c.write(std::move(part))) co_return;
      written += 65'536;
    }
  });
  curl_options small;
  small.read_buffer = 100'000;
  auto narrow = make_curl_transport(loop.get_executor(), time, small);
  auto head = run(narrow->send(request("GET", server.url())));
  REQUIRE(head.has_value());
  // Nothing moves any more once the buffers of both kernels and ours are full.
  while (loop.poll_one() > 0) {
  }
  const std::size_t stuck_at = written;
  CHECK(stuck_at < size);
  std::size_t got = 0;
  std::size_t largest = 0;
  for (;;) {
    const auto part = run((*head)->read());
    REQUIRE(part.has_value());
    if (part->empty()) break;
    for (const std::size_t probe : {std::size_t{0}, part->size() - 1}) {
      CHECK((*part)[probe] == static_cast<char>('a' + (got + probe) / 65'536 % 26));
    }
    got += part->size();
    largest = std::max(largest, part->size());
  }
  CHECK(got == size);
  CHECK(largest <= small.read_buffer);
}

TEST_CASE_FIXTURE(loop_fixture, "time 4: what must not be sent, or has no time left, is refused before anything is") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> { co_await c.read_request(); });
  request what("GET", server.url());
  what.add_header("x", "a\r\nHost: evil");
  CHECK(run(fetch(*client, what)).failure.is(errc::invalid_argument));
  CHECK(run(fetch(*client, request("GET", "ftp://127.0.0.1/"))).failure.is(errc::invalid_argument));
  request late("GET", server.url());
  for (const instant passed : {time.now(), time.now() - std::chrono::hours(1), instant{}, instant::min()}) {
    late.limits.deadline = passed;
    const whole refused = run(fetch(*client, late));
    CHECK(refused.failure.is(errc::deadline_exceeded));
    CHECK(refused.failure.message().find("before anything was sent") != std::string::npos);
  }
  CHECK(server.accepted() == 0);
}

TEST_CASE_FIXTURE(loop_fixture, "two hundred streams at once, each with its own bytes") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    const std::string seen = co_await c.read_request();
    const std::string name = seen.substr(4, seen.find(' ', 4) - 4);
    co_await c.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 20; ++i) {
      co_await c.write(chunk(name));
      co_await asio::post(loop, asio::use_awaitable);
    }
    co_await c.write(chunk(""));
    co_await c.closed();
  });
  std::vector<std::shared_ptr<started<whole>>> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(start(fetch(*client, request("GET", server.url("/" + std::to_string(1000 + i))))));
  }
  run_until([&] { return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->ended; }); });
  for (int i = 0; i < 200; ++i) {
    std::string expected_body;
    for (int k = 0; k < 20; ++k) expected_body += "/" + std::to_string(1000 + i);
    CHECK(all[static_cast<std::size_t>(i)]->value.value().body == expected_body);
  }
  CHECK(server.accepted() == 200);
}
