#include "http/nginx_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

/// What a script waits for until the test, or another script, opens it.
class gate {
 public:
  explicit gate(asio::io_context& loop) : bell_(loop, asio::steady_timer::time_point::max()) {}
  void let(int more = 1) {
    permits_ += more;
    bell_.cancel();
  }
  asio::awaitable<void> pass() {
    while (permits_ == 0) {
      asio::error_code rung;
      co_await bell_.async_wait(asio::redirect_error(asio::use_awaitable, rung));
    }
    --permits_;
  }

 private:
  int permits_ = 0;
  asio::steady_timer bell_;
};

std::string connection_of(const response& head) { return std::string(head.header_value("x-connection")); }

std::string event(int number) { return "data: " + std::to_string(number) + "\n\n"; }

constexpr const char* stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

TEST_CASE_FIXTURE(nginx_fixture, "over HTTP/2 fifty exchanges at once share one connection, and later ones too") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  int waiting = 0;
  gate all_here(loop);
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      const std::string seen = co_await c.read_request();
      if (seen.empty()) co_return;
      if (++waiting == 50) all_here.let(50);
      co_await all_here.pass();
      std::string reply = answer_with(seen.substr(0, seen.find('\r')));
      if (!co_await c.write(std::move(reply))) co_return;
    }
  });
  std::vector<std::shared_ptr<started<expected<std::unique_ptr<response>, error>>>> heads;
  for (int i = 0; i < 50; ++i)
    heads.push_back(start(client->send(request("GET", front->url("/" + std::to_string(i))))));
  std::set<std::string> connections;
  for (int i = 0; i < 50; ++i) {
    auto& one = *heads[static_cast<std::size_t>(i)];
    run_until([&] { return one.ended; });
    REQUIRE(one.value.value().has_value());
    response& head = **one.value.value();
    connections.insert(connection_of(head));
    // nginx speaks HTTP/1.1 to the server behind it, with a connection for each.
    CHECK(run(read_all(head)).value() == "GET /" + std::to_string(i) + " HTTP/1.1");
  }
  CHECK(server->accepted() == 50);
  all_here.let(1);
  auto later = run(client->send(request("GET", front->url("/later"))));
  connections.insert(connection_of(**later));
  CHECK(connections.size() == 1);
}

TEST_CASE_FIXTURE(nginx_fixture, "streams beyond the limit of one connection go to another one") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  int waiting = 0;
  gate all_here(loop);
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    static_cast<void>(co_await c.read_request());
    if (++waiting == 10) all_here.let(10);
    co_await all_here.pass();
    co_await c.write(answer_with("ok"));
  });
  curl_options few = trusting();
  few.max_streams_per_connection = 4;
  client = make(few);
  std::vector<std::shared_ptr<started<expected<std::unique_ptr<response>, error>>>> heads;
  for (int i = 0; i < 10; ++i) heads.push_back(start(client->send(request("GET", front->url()))));
  std::multiset<std::string> connections;
  for (const auto& one : heads) {
    run_until([&] { return one->ended; });
    REQUIRE(one->value.value().has_value());
    connections.insert(connection_of(**one->value.value()));
  }
  for (const std::string& one : connections) CHECK(connections.count(one) <= 4);
}

TEST_CASE_FIXTURE(nginx_fixture, "HTTP/1.1 has a connection for each exchange at once, and uses it again") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  int waiting = 0;
  gate all_here(loop);
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    static_cast<void>(co_await c.read_request());
    if (++waiting == 3) all_here.let(3);
    co_await all_here.pass();
    co_await c.write(answer_with("ok"));
  });
  curl_options plain = trusting();
  plain.version = http_version::http1_1;
  client = make(plain);
  std::set<std::string> connections;
  std::vector<std::shared_ptr<started<expected<std::unique_ptr<response>, error>>>> heads;
  for (int i = 0; i < 3; ++i) heads.push_back(start(client->send(request("GET", front->url()))));
  for (const auto& one : heads) {
    run_until([&] { return one->ended; });
    REQUIRE(one->value.value().has_value());
    connections.insert(connection_of(**one->value.value()));
    CHECK(run(read_all(**one->value.value())).value() == "ok");
  }
  CHECK(connections.size() == 3);
  all_here.let(5);
  for (int i = 0; i < 5; ++i) {
    auto head = run(client->send(request("GET", front->url())));
    connections.insert(connection_of(**head));
    CHECK(run(read_all(**head)).value() == "ok");
  }
  CHECK(connections.size() == 3);
}

TEST_CASE_FIXTURE(nginx_fixture, "who insists on HTTP/2 is not answered in another version") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin(answer_ok);
  curl_options insists = trusting();
  insists.version = http_version::http2;
  auto strict = make(insists);
  CHECK(run(fetch(*strict, request("GET", front->url()))).body == "ok");
  const whole old = run(fetch(*strict, request("GET", front->old_url())));
  CHECK(old.failure.is(errc::protocol_error));
  CHECK(old.failure.message().find("curl_options::version") != std::string::npos);
  const whole bare = run(fetch(*strict, request("GET", server->url())));
  CHECK(bare.failure.is(errc::invalid_argument));
  CHECK(bare.failure.message().find("curl_options::version") != std::string::npos);
  CHECK(run(fetch(*client, request("GET", front->old_url()))).body == "ok");
}

TEST_CASE_FIXTURE(nginx_fixture,
                  "cancelled in mid-stream over HTTP/2: the server's slot is freed, the connection goes on") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  gate further(loop);
  int closed = 0;
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    const std::string seen = co_await c.read_request();
    if (!seen.starts_with("GET /stream")) {
      co_await c.write(answer_with("ok"));
      co_return;
    }
    co_await c.write(stream_head + chunk(event(1)));
    if (seen.starts_with("GET /stream/stays")) {
      co_await further.pass();
      co_await c.write(chunk(event(2)) + chunk(""));
    }
    co_await c.closed();
    ++closed;
  });
  auto stays = run(client->send(request("GET", front->url("/stream/stays"))));
  REQUIRE(stays.has_value());
  CHECK(run((*stays)->read()).value() == event(1));
  const std::string connection = connection_of(**stays);
  for (int i = 1; i <= 20; ++i) {
    auto goes = run(client->send(request("GET", front->url("/stream"))));
    REQUIRE(goes.has_value());
    CHECK(connection_of(**goes) == connection);
    CHECK(run((*goes)->read()).value() == event(1));
    if (i % 2 == 0) {
      auto reading = start((*goes)->read());
      while (loop.poll_one() > 0) {
      }
      reading->cancel.emit(asio::cancellation_type::terminal);
      run_until([&] { return reading->ended; });
      CHECK(reading->value->error().is(errc::cancelled));
    }
    goes->reset();
    run_until([&] { return closed == i; });
  }
  auto next = run(client->send(request("GET", front->url("/"))));
  CHECK(connection_of(**next) == connection);
  CHECK(run(read_all(**next)).value() == "ok");
  further.let();
  CHECK(run((*stays)->read()).value() == event(2));
  CHECK(run((*stays)->read()).value().empty());
}

TEST_CASE_FIXTURE(nginx_fixture, "time 5: cancelled through a front before the head, the server sees it at once") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  int asked = 0;
  int closed = 0;
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    static_cast<void>(co_await c.read_request());
    ++asked;
    co_await c.closed();
    ++closed;
  });
  for (const std::string& url : {front->url(), front->old_url()}) {
    const int before = closed;
    auto running = start(fetch(*client, request("GET", url)));
    run_until([&] { return asked == before + 1; });
    running->cancel.emit(asio::cancellation_type::terminal);
    run_until([&] { return running->ended && closed == before + 1; });
    CHECK(running->value.value().failure.is(errc::cancelled));
    CHECK(time.armed() == 0);
  }
}

TEST_CASE_FIXTURE(nginx_fixture, "sse 14: events come through a front one by one, packed or not, in either version") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  gate further(loop);
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      if ((co_await c.read_request()).empty()) co_return;
      co_await c.write(stream_head);
      for (int i = 0; i < 20; ++i) {
        // The next one is sent when the former has been received.
        co_await further.pass();
        if (!co_await c.write(chunk(event(i)))) co_return;
      }
      co_await c.write(chunk(""));
    }
  });
  curl_options plain = trusting();
  plain.version = http_version::http1_1;
  auto old = make(plain);
  for (transport* const over : {client.get(), old.get()}) {
    for (const char* path : {"/", "/zip"}) {
      CAPTURE(path);
      further.let();
      auto head = run(over->send(request("GET", front->url(path))));
      REQUIRE(head.has_value());
      CHECK((*head)->header_value("content-encoding") == (std::string_view(path) == "/zip" ? "gzip" : ""));
      for (int i = 0; i < 20; ++i) {
        std::string got;
        while (got.size() < event(i).size()) got += run((*head)->read()).value();
        CHECK(got == event(i));
        if (i < 19) further.let();
      }
      CHECK(run((*head)->read()).value().empty());
    }
  }
}

TEST_CASE_FIXTURE(nginx_fixture, "an answer that a front has packed is unpacked") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  const std::string text = "{\"text\":\"" + std::string(200'000, 'z') + "\"}";
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    static_cast<void>(co_await c.read_request());
    co_await c.write(answer_with(text, "Content-Type: application/json\r\n"));
  });
  auto head = run(client->send(request("GET", front->url("/zip"))));
  REQUIRE(head.has_value());
  CHECK((*head)->header_value("content-encoding") == "gzip");
  CHECK(run(read_all(**head)).value() == text);
}

TEST_CASE_FIXTURE(
    nginx_fixture,
    "curl 5, curl 7: refused while the body is still being sent: the early answer counts, and no signal") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin(answer_ok);
  curl_options plain = trusting();
  plain.version = http_version::http1_1;
  auto old = make(plain);
  for (transport* const over : {client.get(), old.get()}) {
    for (int i = 0; i < 5; ++i) {
      request what("POST", front->url("/small"));
      what.set_body(std::string(4'000'000, 'b'));
      const whole got = run(fetch(*over, what));
      CHECK(got.failure == error());
      CHECK(got.status == 413);
      CHECK(got.body.find("Too Large") != std::string::npos);
      CHECK(run(fetch(*over, request("GET", front->url()))).body == "ok");
    }
  }
}

TEST_CASE_FIXTURE(nginx_fixture, "large bodies go both ways in either version, byte for byte") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    const std::string seen = co_await c.read_request();
    std::string reply = answer_with(seen.substr(seen.find("\r\n\r\n") + 4));
    co_await c.write(std::move(reply));
  });
  std::string body;
  for (unsigned i = 0; body.size() < 3'000'000; ++i) body += std::to_string(i * 2'654'435'761U) + '\n';
  for (const std::string& url : {front->url(), front->old_url()}) {
    request what("POST", url);
    what.set_body(body);
    const whole got = run(fetch(*client, what));
    CHECK(got.status == 200);
    CHECK(got.body == body);
  }
}

TEST_CASE_FIXTURE(nginx_fixture,
                  "a head that is too long over HTTP/2 is an error, and the connection's other streams live") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  gate further(loop);
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    const std::string seen = co_await c.read_request();
    if (seen.starts_with("GET /stream")) {
      co_await c.write(stream_head + chunk(event(1)));
      co_await further.pass();
      co_await c.write(chunk(event(2)) + chunk(""));
      co_return;
    }
    const std::size_t lines = std::stoul(seen.substr(5));
    std::string reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
    for (std::size_t i = 0; i < lines; ++i) reply += "X-Long: " + std::string(1000, 'x') + "\r\n";
    reply += "\r\nok";
    co_await c.write(std::move(reply));
  });
  CHECK(run(fetch(*client, request("GET", front->url("/60")))).body == "ok");
  const whole got = run(fetch(*client, request("GET", front->url("/250"))));
  CHECK(got.failure.is(errc::too_large));
  CHECK(got.failure.message().find("131,072 in all over HTTP/2") != std::string::npos);

  curl_options narrow = trusting();
  narrow.max_header_bytes = 5'000;
  client = make(narrow);
  auto stream = run(client->send(request("GET", front->url("/stream"))));
  CHECK(run((*stream)->read()).value() == event(1));
  const whole refused = run(fetch(*client, request("GET", front->url("/10"))));
  CHECK(refused.failure.is(errc::too_large));
  CHECK(refused.failure.message().find("curl_options::max_header_bytes (5,000)") != std::string::npos);
  further.let();
  CHECK(run((*stream)->read()).value() == event(2));
}

TEST_CASE_FIXTURE(nginx_fixture,
                  "an answer that is refused for its size frees the server's slot, alone on its connection or not") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  int closed = 0;
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    const std::string seen = co_await c.read_request();
    co_await c.write(stream_head + chunk(event(1)));
    if (seen.starts_with("GET /large")) co_await c.write(chunk(std::string(5'000, 'x')));
    co_await c.closed();
    ++closed;
  });
  request large("GET", front->url("/large"));
  large.max_body = 1'000;
  CHECK(run(fetch(*client, large)).failure.is(errc::too_large));
  run_until([&] { return closed == 1; });
  auto beside = run(client->send(request("GET", front->url("/"))));
  CHECK(run((*beside)->read()).value() == event(1));
  CHECK(run(fetch(*client, large)).failure.is(errc::too_large));
  run_until([&] { return closed == 2; });
}

TEST_CASE_FIXTURE(nginx_fixture,
                  "beside a stream whose reader is behind, a cancelled one frees the server's slot as well") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  constexpr std::size_t size = 8u << 20;
  int closed = 0;
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    const std::string seen = co_await c.read_request();
    if (seen.starts_with("GET /large")) {
      co_await c.write(answer_with(std::string(size, 'x')));
      co_return;
    }
    co_await c.write(stream_head + chunk(event(1)));
    co_await c.closed();
    ++closed;
  });
  curl_options small = trusting();
  small.read_buffer = 50'000;
  client = make(small);
  auto slow = run(client->send(request("GET", front->url("/large"))));
  REQUIRE(slow.has_value());
  auto other = run(client->send(request("GET", front->url("/"))));
  CHECK(run((*other)->read()).value() == event(1));
  other->reset();
  run_until([&] { return closed == 1; });
  CHECK(run(read_all(**slow)).value() == std::string(size, 'x'));
}

TEST_CASE_FIXTURE(nginx_fixture, "all requests go to a Unix socket, whatever host the URL names") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  std::string seen;
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    seen = co_await c.read_request();
    co_await c.write(answer_with("ok"));
  });
  curl_options local;
  local.unix_socket = front->unix_socket();
  auto over = make(local);
  std::set<std::string> connections;
  for (int i = 0; i < 3; ++i) {
    auto head = run(over->send(request("GET", "http://no-such-host.invalid/v1/models")));
    REQUIRE(head.has_value());
    connections.insert(connection_of(**head));
    CHECK(run(read_all(**head)).value() == "ok");
  }
  CHECK(connections.size() == 1);
  CHECK(seen.starts_with("GET /v1/models HTTP/1.1\r\n"));
}

TEST_CASE_FIXTURE(nginx_fixture, "no descriptor stays behind after exchanges over TLS of every kind") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin(answer_ok);
  client.reset();
  const int before = open_descriptors();
  {
    auto one = make(trusting());
    for (const std::string& url : {front->url(), front->old_url(), front->expired_url(), front->strict_url()}) {
      const whole got = run(fetch(*one, request("GET", url)));
      CHECK((got.status != 0) != got.failure.is(errc::tls_failed));
    }
  }
  loop.restart();
  while (loop.poll_one() > 0) {
  }
  run_until([&] { return server->open() == 0; });
  CHECK(open_descriptors() == before);
}
