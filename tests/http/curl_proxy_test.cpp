#include "http/loop_fixture.hpp"

#include <doctest/doctest.h>
#include <asio/read.hpp>

#include <cstdlib>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

class proxy_fixture : public loop_fixture {
 public:
  // What a proxy was asked, and what it answers to each.
  std::vector<std::string> seen;
  std::string reply = answer_with("from the proxy");
  raw_server proxy{loop, [this](raw_connection& c) -> asio::awaitable<void> {
                     for (;;) {
                       std::string asked = co_await c.read_request();
                       if (asked.empty()) co_return;
                       seen.push_back(std::move(asked));
                       if (reply.empty() || !co_await c.write(reply)) co_return;
                     }
                   }};

  [[nodiscard]] std::string address(std::string_view credentials = "me:pass%40word@") const {
    return "http://" + std::string(credentials) + "127.0.0.1:" + std::to_string(proxy.port());
  }

  void use(std::string url) {
    curl_options options;
    options.proxy = std::move(url);
    client = make_curl_transport(loop.get_executor(), time, options);
  }
};

// A variable of the environment for as long as this lives.
class variable {
 public:
  variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~variable() { ::unsetenv(name_); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

 private:
  const char* name_;
};

bool holds(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE_FIXTURE(proxy_fixture, "without TLS the proxy is asked for the whole URL, and told who asks") {
  use(address());
  request what("GET", "http://api.test/v1/models?a=b");
  what.add_header("Authorization", "Bearer key");
  CHECK(run(fetch(*client, what)).body == "from the proxy");
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].starts_with("GET http://api.test/v1/models?a=b HTTP/1.1\r\nHost: api.test\r\n"));
  // me:pass@word
  CHECK(holds(seen[0], "\r\nProxy-Authorization: Basic bWU6cGFzc0B3b3Jk\r\n"));
}

TEST_CASE_FIXTURE(proxy_fixture, "with TLS the proxy is asked to connect, and is not shown the key") {
  use(address());
  reply = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
  request what("POST", "https://api.test/v1/chat?secret");
  what.add_header("Authorization", "Bearer secret").set_body("secret");
  const whole got = run(fetch(*client, what));
  CHECK(got.failure.is(errc::connect_failed));
  const std::string peer = "api.test:443 through the proxy 127.0.0.1:" + std::to_string(proxy.port());
  CHECK(got.failure.message() == peer + ": the proxy refused to connect us (502) (libcurl 56)");
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].starts_with("CONNECT api.test:443 HTTP/1.1\r\n"));
  CHECK(holds(seen[0], "\r\nProxy-Authorization: Basic bWU6cGFzc0B3b3Jk\r\n"));
  CHECK_FALSE(holds(seen[0], "secret"));
  CHECK_FALSE(holds(seen[0], "\r\nAuthorization"));
}

TEST_CASE_FIXTURE(proxy_fixture,
                  "a proxy that wants other credentials is told apart, over TLS or not, without naming them") {
  use(address());
  reply = answer_with("who are you", "Proxy-Authenticate: Basic realm=\"p\"\r\n", "407 Who");
  for (const char* url : {"http://api.test/", "https://api.test/"}) {
    CAPTURE(url);
    const whole got = run(fetch(*client, request("GET", url)));
    CHECK(got.failure.is(errc::invalid_configuration));
    CHECK(holds(got.failure.message(), "(407): see curl_options::proxy"));
    CHECK_FALSE(holds(got.failure.message(), "pass"));
    CHECK_FALSE(holds(got.failure.message(), "me:"));
  }
}

TEST_CASE_FIXTURE(proxy_fixture, "a proxy that is not there, or hangs up, is a failed connection that names it") {
  std::string gone;
  {
    const raw_server closed(loop, [](raw_connection&) -> asio::awaitable<void> { co_return; });
    gone = "127.0.0.1:" + std::to_string(closed.port());
  }
  use("http://me:secret@" + gone);
  for (const char* url : {"http://api.test/", "https://api.test/"}) {
    const whole got = run(fetch(*client, request("GET", url)));
    CHECK(got.failure.is(errc::connect_failed));
    CHECK(holds(got.failure.message(), " through the proxy " + gone + ": Failed to connect to 127.0.0.1"));
    CHECK_FALSE(holds(got.failure.message(), "secret"));
  }
  use(address());
  reply.clear();
  const whole cut = run(fetch(*client, request("GET", "https://api.test/")));
  CHECK(cut.failure.is(errc::connect_failed));
  use("http://me:secret@no-such-proxy.invalid:1");
  const whole lost = run(fetch(*client, request("GET", "https://api.test/")));
  CHECK(lost.failure.is(errc::host_not_found));
  CHECK(holds(lost.failure.message(), "Could not resolve proxy: no-such-proxy.invalid"));
  CHECK_FALSE(holds(lost.failure.message(), "secret"));
}

TEST_CASE_FIXTURE(proxy_fixture, "a proxy that does not answer counts as connecting") {
  bool asked = false;
  const raw_server silent(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    static_cast<void>(co_await c.read_request());
    asked = true;
    co_await c.closed();
  });
  use(silent.url());
  request what("GET", "https://api.test/");
  what.limits.connect = std::chrono::seconds(5);
  auto running = start(fetch(*client, what));
  run_until([&] { return asked; });
  time.advance(std::chrono::seconds(5));
  run_until([&] { return running->ended; });
  CHECK(running->value.value().failure.is(errc::connect_timeout));
  run_until([&] { return silent.open() == 0; });
}

TEST_CASE_FIXTURE(proxy_fixture, "the environment names the proxy unless an option does; none is none") {
  const raw_server direct(loop, [](raw_connection& c) -> asio::awaitable<void> {
    static_cast<void>(co_await c.read_request());
    co_await c.write(answer_with("direct"));
  });
  const request what("GET", direct.url());
  {
    const variable environment("http_proxy", address());
    CHECK(run(fetch(*client, what)).body == "from the proxy");
    use("none");
    CHECK(run(fetch(*client, what)).body == "direct");
    use("");
    const variable except("no_proxy", "127.0.0.1");
    CHECK(run(fetch(*client, what)).body == "direct");
    use(address());
    CHECK(run(fetch(*client, what)).body == "from the proxy");
  }
  use("");
  CHECK(run(fetch(*client, what)).body == "direct");
}

TEST_CASE_FIXTURE(proxy_fixture, "a proxy of the environment that cannot be read is not quoted") {
  for (const char* url : {"http://me:secret@[bad/", "http://me:secret@a b:1", "wild://me:secret@proxy:1"}) {
    CAPTURE(url);
    const variable environment("http_proxy", url);
    const whole got = run(fetch(*client, request("GET", "http://api.test/")));
    CHECK(got.failure != error());
    CAPTURE(got.failure.message());
    CHECK_FALSE(holds(got.failure.message(), "secret"));
  }
}

TEST_CASE_FIXTURE(proxy_fixture, "a SOCKS proxy is given the host's name, and the rest is as without it") {
  std::string host;
  const raw_server socks(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    asio::error_code wrong;
    std::array<char, 2> begun{};
    co_await asio::async_read(c.socket(), asio::buffer(begun), asio::redirect_error(asio::use_awaitable, wrong));
    std::string methods(static_cast<std::size_t>(begun[1]), '\0');
    co_await asio::async_read(c.socket(), asio::buffer(methods), asio::redirect_error(asio::use_awaitable, wrong));
    co_await c.write(std::string("\5\0", 2));
    std::array<char, 5> asked{};
    co_await asio::async_read(c.socket(), asio::buffer(asked), asio::redirect_error(asio::use_awaitable, wrong));
    // A name (3), its length, and after it two bytes of port.
    if (asked[3] != 3) co_return;
    host.resize(static_cast<std::size_t>(asked[4]) + 2);
    co_await asio::async_read(c.socket(), asio::buffer(host), asio::redirect_error(asio::use_awaitable, wrong));
    host.resize(host.size() - 2);
    co_await c.write(std::string("\5\0\0\1\0\0\0\0\0\0", 10));
    for (;;) {
      const std::string request_text = co_await c.read_request();
      if (request_text.empty()) co_return;
      if (!co_await c.write(answer_with(request_text.substr(0, request_text.find('\r'))))) co_return;
    }
  });
  use("socks5h://127.0.0.1:" + std::to_string(socks.port()));
  for (int i = 0; i < 3; ++i)
    CHECK(run(fetch(*client, request("GET", "http://api.invalid/x"))).body == "GET /x HTTP/1.1");
  CHECK(host == "api.invalid");
  CHECK(socks.accepted() == 1);
}
