#include <sluice/http/curl_transport.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <doctest/doctest.h>
#include <asio/io_context.hpp>

#include <sys/un.h>

using namespace sluice;
using http::curl_options;
using http::validate;

namespace {

// The message without the class's name; empty when the options hold.
std::string complaint(const curl_options& options) {
  const auto valid = validate(options);
  if (valid) return {};
  CHECK(valid.error().is(errc::invalid_configuration));
  constexpr std::string_view prefix = "curl_options::";
  REQUIRE(valid.error().message().starts_with(prefix));
  return valid.error().message().substr(prefix.size());
}

template <typename Value>
std::string with(Value curl_options::*field, Value value) {
  curl_options options;
  options.*field = std::move(value);
  return complaint(options);
}

std::string with_proxy(std::string url) { return with(&curl_options::proxy, std::move(url)); }
std::string with_address(std::string entry) { return with(&curl_options::resolve, std::vector{std::move(entry)}); }

}  // namespace

TEST_CASE("the defaults hold, and verify") {
  const curl_options options;
  CHECK(complaint(options).empty());
  CHECK_FALSE(options.dangerously_skip_tls_verification);
  CHECK(options.user_agent.starts_with("sluice/"));
  CHECK(options.user_agent.find_first_not_of("0123456789.", 7) == std::string::npos);
  CHECK(options.max_header_bytes == 262'144);
}

TEST_CASE("a file that cannot be read is named with its field") {
  CHECK(with(&curl_options::ca_bundle, std::string("/no/such.pem")) ==
        "ca_bundle: /no/such.pem cannot be read: No such file or directory");
  CHECK(
      with(&curl_options::client_certificate, std::string("/no/such.pem")).starts_with("client_certificate: /no/such"));
  CHECK(with(&curl_options::client_key, std::string("/no/such.pem")).starts_with("client_key: /no/such.pem cannot be"));
  CHECK(with(&curl_options::ca_bundle, std::string("/tmp")) == "ca_bundle: /tmp cannot be read: Is a directory");
  CHECK(with(&curl_options::ca_bundle, std::string("/proc/self/exe")).empty());
}

TEST_CASE("a key belongs to a certificate, and its password is not shown") {
  CHECK(with(&curl_options::client_key, std::string("/proc/self/exe"))
            .starts_with("client_key: there is no client_cert"));
  const std::string said = with(&curl_options::client_key_password, std::string("secret"));
  CHECK(said == "client_key_password: there is no client_certificate");
}

TEST_CASE("a proxy is one of three kinds, with nothing behind its port") {
  for (const char* url : {"", "none", "http://proxy", "http://proxy:3128", "https://proxy:3128/",
                          "socks5h://proxy:1080", "HTTP://me:pass%40word@proxy:3128", "http://[::1]:3128"}) {
    CAPTURE(url);
    CHECK(with_proxy(url).empty());
  }
  for (const char* url : {"proxy:3128", "socks5://proxy", "ftp://proxy", "http", "None"}) {
    CAPTURE(url);
    CHECK(with_proxy(url).starts_with("proxy: it begins with none of "));
  }
  CHECK(with_proxy("http://") == "proxy: it is no URL with a host");
  CHECK(with_proxy("http://a b:1") == "proxy: it holds a space or a control character");
  CHECK(with_proxy("http://proxy\n:1") == "proxy: it holds a space or a control character");
  CHECK(with_proxy("http://proxy:99999") == "proxy: it is no URL with a host");
  for (const char* url : {"http://proxy/path", "http://proxy/?q", "http://proxy/#f"}) {
    CAPTURE(url);
    CHECK(with_proxy(url) == "proxy: it has more than a user, a password, a host and a port");
  }
}

TEST_CASE("what is wrong with a proxy is said without its user and password") {
  for (const char* url : {"http://me:secret@", "http://me:secret@a b", "socks4://me:secret@proxy",
                          "http://me:secret@proxy/path", "http://me:secret@proxy:99999", "me:secret@proxy"}) {
    CAPTURE(url);
    const std::string said = with_proxy(url);
    CHECK_FALSE(said.empty());
    CHECK(said.find("secret") == std::string::npos);
    CHECK(said.find("me:") == std::string::npos);
  }
}

TEST_CASE("a Unix socket's path has the system's limit, and no proxy beside it") {
  const std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
  CHECK(with(&curl_options::unix_socket, std::string(most, 'x')).empty());
  CHECK(with(&curl_options::unix_socket, std::string(most + 1, 'x')) ==
        "unix_socket: a path has at most 107 bytes, this one has 108");
  CHECK(with(&curl_options::unix_socket, std::string("a\0b", 3)) == "unix_socket: it holds NUL");
  curl_options both;
  both.unix_socket = "/run/x";
  both.proxy = "http://me:secret@proxy:1";
  CHECK(complaint(both) == "unix_socket: it excludes a proxy; set proxy to 'none'");
  both.proxy = "none";
  CHECK(complaint(both).empty());
}

TEST_CASE("an address is host, port and numbers") {
  for (const char* entry : {"a.test:80:127.0.0.1", "a.test:443:[::1]", "a.test:1:::1", "a:65535:[::1],127.0.0.1"}) {
    CAPTURE(entry);
    CHECK(with_address(entry).empty());
  }
  for (const char* entry : {"", "a.test", "a.test:80", "a.test:80:", ":80:127.0.0.1", "a.test:0:127.0.0.1",
                            "a.test:65536:127.0.0.1", "a.test:x:127.0.0.1", "a.test::127.0.0.1", "a.test:80:b.test",
                            "a.test:80:127.0.0.1,", "-a.test:80:127.0.0.1", "a.test:80:127.0.0.1 "}) {
    CAPTURE(entry);
    CHECK(with_address(entry) == "resolve: '" + std::string(entry) + "' is not host:port:address");
  }
}

TEST_CASE("numbers and texts have their bounds") {
  CHECK(with(&curl_options::max_header_bytes, std::size_t{0}) == "max_header_bytes: 0 is not from 1 to 262,144");
  CHECK(with(&curl_options::max_header_bytes, std::size_t{262'145}) ==
        "max_header_bytes: 262,145 is not from 1 to 262,144");
  CHECK(with(&curl_options::max_header_bytes, std::size_t{1}).empty());
  CHECK(with(&curl_options::max_idle_connections, 0L) == "max_idle_connections: it is below 1");
  CHECK(with(&curl_options::max_streams_per_connection, -1L) == "max_streams_per_connection: it is below 0");
  CHECK(with(&curl_options::read_buffer, std::size_t{0}) == "read_buffer: it is below 1");
  CHECK(with(&curl_options::user_agent, std::string("a\r\nb: c")) == "user_agent: it holds a control character");
  CHECK(with(&curl_options::user_agent, std::string()).empty());
  CHECK(with(&curl_options::version, static_cast<http::http_version>(9)) ==
        "version: 9 is none of http_version's values");
}

TEST_CASE("a transport is not made from options that do not hold") {
  asio::io_context loop;
  testing::manual_time_source time;
  curl_options options;
  options.ca_bundle = "/no/such.pem";
  try {
    static_cast<void>(http::make_curl_transport(loop.get_executor(), time, options));
    FAIL("it was made");
  } catch (const error_exception& thrown) {
    CHECK(thrown.why().is(errc::invalid_configuration));
    CHECK(thrown.why().message().starts_with("curl_options::ca_bundle: "));
  }
}
