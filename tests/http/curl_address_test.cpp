#include "http/deaf_server.hpp"
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
    const std::size_t host = seen.find("Host: ") + 6;
    std::string reply = answer_with(seen.substr(host, seen.find('\r', host) - host));
    if (!co_await c.write(std::move(reply))) co_return;
  }
}

asio::ip::tcp::endpoint on_ipv6(unsigned short port = 0) { return {asio::ip::make_address("::1"), port}; }

bool has_ipv6() {
  asio::io_context loop;
  asio::ip::tcp::acceptor probe(loop);
  asio::error_code wrong;
  probe.open(asio::ip::tcp::v6(), wrong);
  if (!wrong) probe.bind(on_ipv6(), wrong);
  if (wrong) MESSAGE("this system has no IPv6 loopback: not tested");
  return !wrong;
}

class address_fixture : public loop_fixture {
 public:
  // A client for which the host both.test has these addresses at `port`.
  void know(unsigned short port, const std::string& addresses) {
    name = "both.test:" + std::to_string(port);
    curl_options options;
    options.proxy = "none";
    options.resolve = {name + ':' + addresses};
    client = make_curl_transport(loop.get_executor(), time, options);
  }
  std::string name;
};

}  // namespace

TEST_CASE_FIXTURE(address_fixture, "a host's address may be given, and its name still goes to the server") {
  raw_server server(loop, answer_all);
  know(server.port(), "127.0.0.1");
  for (int i = 0; i < 3; ++i) CHECK(run(fetch(*client, request("GET", "http://" + name + "/"))).body == name);
  CHECK(server.accepted() == 1);
  CHECK(run(fetch(*client, request("GET", server.url()))).body == "127.0.0.1:" + std::to_string(server.port()));
}

TEST_CASE_FIXTURE(address_fixture, "a server on IPv6 is reached by number and by name") {
  if (!has_ipv6()) return;
  raw_server server(loop, answer_all, on_ipv6());
  const std::string number = "[::1]:" + std::to_string(server.port());
  CHECK(run(fetch(*client, request("GET", "http://" + number + "/"))).body == number);
  know(server.port(), "[::1]");
  CHECK(run(fetch(*client, request("GET", "http://" + name + "/"))).body == name);
}

TEST_CASE_FIXTURE(address_fixture, "curl 6: IPv6 comes first and refuses, IPv4 answers") {
  raw_server server(loop, answer_all);
  know(server.port(), "[::1],127.0.0.1");
  CHECK(run(fetch(*client, request("GET", "http://" + name + "/"))).body == name);
  CHECK(server.accepted() == 1);
  CHECK(run(fetch(*client, request("GET", server.url("/", "localhost")))).status == 200);
}

TEST_CASE_FIXTURE(address_fixture, "curl 6: one kind of address never answers, the other one does") {
  if (!has_ipv6()) return;
  const deaf_server deaf;
  raw_server server(loop, answer_all, on_ipv6(deaf.port()));
  for (const char* order : {"[::1],127.0.0.1", "127.0.0.1,[::1]"}) {
    know(deaf.port(), order);
    CHECK(run(fetch(*client, request("GET", "http://" + name + "/"))).body == name);
  }
}

TEST_CASE_FIXTURE(address_fixture, "a Unix socket that is not there is a failed connection that names it") {
  curl_options local;
  local.unix_socket = "/no/such/socket";
  client = make_curl_transport(loop.get_executor(), time, local);
  const whole got = run(fetch(*client, request("GET", "http://localhost/")));
  CHECK(got.failure.is(errc::connect_failed));
  CHECK(got.failure.message().starts_with("localhost:80 over /no/such/socket: "));
}
