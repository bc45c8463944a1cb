// Through tinyproxy, to servers with TLS and without.
#include "http/nginx_fixture.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

class tinyproxy_fixture : public nginx_fixture {
 public:
  void begin_proxy() {
    proxy = start_server([this] {
      port = free_port();
      const std::string file = folder.write(
          "tinyproxy.conf", "Port " + std::to_string(port) + "\nListen 127.0.0.1\nTimeout 600\nMaxClients 100\n" +
                                "LogFile \"" + folder.path("proxy.log") + "\"\nPidFile \"" + folder.path("pid") +
                                "\"\nViaProxyName \"the-proxy\"\nBasicAuth me open-sesame\n");
      std::vector<std::string> arguments{"-d", "-c", file};
      auto process = std::make_unique<served_process>(program("tinyproxy"), std::move(arguments), folder.path("log"));
      return std::pair(std::move(process), port);
    });
  }

  [[nodiscard]] std::unique_ptr<transport> through(const std::string& credentials, curl_options options = {}) {
    options.proxy = "http://" + credentials + "127.0.0.1:" + std::to_string(port);
    return make(options);
  }

  temporary_folder folder;
  unsigned short port = 0;
  std::unique_ptr<served_process> proxy;
};

}  // namespace

TEST_CASE_FIXTURE(tinyproxy_fixture, "a server without TLS is reached through a proxy, which says so") {
  SLUICE_SKIP_WITHOUT("tinyproxy");
  std::string seen;
  server.emplace(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    seen = co_await c.read_request();
    co_await c.write(answer_with("ok"));
  });
  begin_proxy();
  auto over = through("me:open-sesame@");
  auto head = run(over->send(request("GET", server->url("/path"))));
  REQUIRE(head.has_value());
  CHECK((*head)->header_value("via").find("the-proxy") != std::string_view::npos);
  CHECK(run(read_all(**head)).value() == "ok");
  CHECK(seen.starts_with("GET /path HTTP/1."));
  CHECK(seen.find("Proxy-Authorization") == std::string::npos);
}

TEST_CASE_FIXTURE(tinyproxy_fixture, "without the right credentials a proxy refuses, and nothing reaches the server") {
  SLUICE_SKIP_WITHOUT("tinyproxy");
  server.emplace(loop, answer_ok);
  begin_proxy();
  for (const char* credentials : {"", "me:wrong-secret@"}) {
    auto over = through(credentials);
    for (const std::string& url : {server->url(), std::string("https://127.0.0.1:1/")}) {
      CAPTURE(url);
      const whole got = run(fetch(*over, request("GET", url)));
      CAPTURE(got.failure.message());
      CAPTURE(got.status);
      // Without any, tinyproxy says 407; with wrong ones, 401.
      CHECK((got.failure.is(errc::invalid_configuration) || got.failure.is(errc::connect_failed) || got.status == 401));
      CHECK(got.failure.message().find("secret") == std::string::npos);
    }
  }
  CHECK(server->accepted() == 0);
}

TEST_CASE_FIXTURE(tinyproxy_fixture, "over TLS the server behind a proxy is verified, and streams through it") {
  SLUICE_SKIP_WITHOUT("tinyproxy", "nginx", "openssl");
  bool next = false;
  int closed = 0;
  asio::steady_timer bell(loop, asio::steady_timer::time_point::max());
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    static_cast<void>(co_await c.read_request());
    co_await c.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 5; ++i) {
      co_await c.write(chunk("data: " + std::to_string(i) + "\n\n"));
      asio::error_code rung;
      while (!next) co_await bell.async_wait(asio::redirect_error(asio::use_awaitable, rung));
      next = false;
    }
    co_await c.closed();
    ++closed;
  });
  begin_proxy();
  auto over = through("me:open-sesame@", trusting());
  auto head = run(over->send(request("GET", front->url())));
  REQUIRE(head.has_value());
  CHECK((*head)->header_value("via").empty());
  for (int i = 0; i < 5; ++i) {
    CHECK(run((*head)->read()).value() == "data: " + std::to_string(i) + "\n\n");
    next = true;
    bell.cancel();
  }
  // Given up, it is closed all the way.
  head->reset();
  run_until([&] { return closed == 1; });
  const whole wrong = run(fetch(*over, request("GET", front->elsewhere_url())));
  CHECK(wrong.failure.is(errc::tls_failed));
  CHECK(wrong.failure.message().find(" through the proxy 127.0.0.1:" + std::to_string(port) + ": ") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(tinyproxy_fixture,
                  "a host that the proxy cannot reach is told apart from a proxy that is not there") {
  SLUICE_SKIP_WITHOUT("tinyproxy");
  begin_proxy();
  auto over = through("me:open-sesame@");
  const whole far = run(fetch(*over, request("GET", "https://127.0.0.1:" + std::to_string(free_port()) + "/")));
  CHECK(far.failure.is(errc::connect_failed));
  CHECK(far.failure.message().find("the proxy refused to connect us (5") != std::string::npos);
  proxy.reset();
  const whole gone = run(fetch(*over, request("GET", "https://127.0.0.1:1/")));
  CHECK(gone.failure.is(errc::connect_failed));
  CHECK(gone.failure.message().find("Failed to connect to 127.0.0.1 port " + std::to_string(port)) !=
        std::string::npos);
}
