// Against nghttpd, which speaks HTTP/2 and nothing else.
#include "http/certificates.hpp"
#include "http/loop_fixture.hpp"
#include "http/served_process.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

class nghttpd_fixture : public loop_fixture {
 public:
  void begin(std::vector<std::string> more = {}, http_version version = http_version::automatic) {
    const certificates& made = certificates::get();
    folder.write("small", "hello");
    folder.write("large", large);
    server = start_server([&] {
      port = free_port();
      std::vector<std::string> arguments{"-a", "127.0.0.1", "-d", folder.path("")};
      arguments.insert(arguments.end(), more.begin(), more.end());
      for (const std::string& last : {std::to_string(port), made.server.key, made.server.certificate}) {
        arguments.push_back(last);
      }
      auto process = std::make_unique<served_process>(program("nghttpd"), std::move(arguments), folder.path("log"));
      return std::pair(std::move(process), port);
    });
    options.ca_bundle = made.authority();
    options.proxy = "none";
    options.version = version;
    client = make_curl_transport(loop.get_executor(), time, options);
  }

  [[nodiscard]] std::string url(std::string_view path) const {
    return "https://127.0.0.1:" + std::to_string(port) + std::string(path);
  }

  // Those of the client: the server is another process.
  [[nodiscard]] static int connections() {
    int count = 0;
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(one.path(), gone).string().starts_with("socket:")) ++count;
    }
    return count;
  }

  std::string large = std::string(3'000'000, 'L');
  temporary_folder folder;
  unsigned short port = 0;
  curl_options options;
  std::unique_ptr<served_process> server;
};

}  // namespace

TEST_CASE_FIXTURE(nghttpd_fixture, "a server that speaks HTTP/2 alone is served by one connection") {
  SLUICE_SKIP_WITHOUT("nghttpd", "openssl");
  begin();
  const int before = connections();
  std::vector<std::shared_ptr<started<whole>>> all;
  for (int i = 0; i < 90; ++i) all.push_back(start(fetch(*client, request("GET", url("/small")))));
  for (const auto& one : all) {
    run_until([&] { return one->ended; });
    CHECK(one->value.value().status == 200);
    CHECK(one->value.value().body == "hello");
  }
  CHECK(connections() == before + 1);
  for (int i = 0; i < 20; ++i) CHECK(run(fetch(*client, request("GET", url("/small")))).body == "hello");
  CHECK(run(fetch(*client, request("GET", url("/missing")))).status == 404);
  const whole head = run(fetch(*client, request("HEAD", url("/large"))));
  CHECK(head.status == 200);
  CHECK(head.body.empty());
  CHECK(run(fetch(*client, request("GET", url("/large")))).body == large);
  CHECK(connections() == before + 1);
}

TEST_CASE_FIXTURE(nghttpd_fixture, "who insists on HTTP/2 is served, who insists on HTTP/1.1 is told why not") {
  SLUICE_SKIP_WITHOUT("nghttpd", "openssl");
  begin({}, http_version::http2);
  CHECK(run(fetch(*client, request("GET", url("/small")))).body == "hello");
  options.version = http_version::http1_1;
  auto old = make_curl_transport(loop.get_executor(), time, options);
  const whole got = run(fetch(*old, request("GET", url("/small"))));
  CHECK(got.status == 0);
  CAPTURE(got.failure.message());
  CHECK((got.failure.is(errc::tls_failed) || got.failure.is(errc::connection_lost)));
}

TEST_CASE_FIXTURE(nghttpd_fixture, "more at once than the server allows on a connection are served as well") {
  SLUICE_SKIP_WITHOUT("nghttpd", "openssl");
  begin({"-m", "7"});
  CHECK(run(fetch(*client, request("GET", url("/small")))).body == "hello");
  std::vector<std::shared_ptr<started<whole>>> all;
  for (int i = 0; i < 60; ++i)
    all.push_back(start(fetch(*client, request("GET", url(i % 3 == 0 ? "/large" : "/small")))));
  for (std::size_t i = 0; i < all.size(); ++i) {
    run_until([&] { return all[i]->ended; });
    CHECK(all[i]->value.value().body == (i % 3 == 0 ? large : "hello"));
  }
}

TEST_CASE_FIXTURE(nghttpd_fixture, "what is sent comes back, many at once, byte for byte") {
  SLUICE_SKIP_WITHOUT("nghttpd", "openssl");
  begin({"--echo-upload"});
  std::vector<std::shared_ptr<started<whole>>> all;
  std::vector<std::string> bodies;
  for (unsigned i = 0; i < 20; ++i) {
    std::string body;
    for (unsigned k = 0; body.size() < 20'000 * i + 1; ++k) body += std::to_string(k * (i + 1) * 2'654'435'761U);
    request what("POST", url("/echo"));
    what.set_body(body);
    bodies.push_back(std::move(body));
    all.push_back(start(fetch(*client, what)));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    run_until([&] { return all[i]->ended; });
    CHECK(all[i]->value.value().failure == error());
    CHECK(all[i]->value.value().body == bodies[i]);
  }
}

TEST_CASE_FIXTURE(nghttpd_fixture,
                  "a hundred cancelled in mid-body beside one that is not: it is whole, on one connection") {
  SLUICE_SKIP_WITHOUT("nghttpd", "openssl");
  begin();
  const int before = connections();
  options.read_buffer = 100'000;
  client = make_curl_transport(loop.get_executor(), time, options);
  auto slow = run(client->send(request("GET", url("/large"))));
  REQUIRE(slow.has_value());
  for (int i = 0; i < 100; ++i) {
    auto head = run(client->send(request("GET", url("/large"))));
    REQUIRE(head.has_value());
    CHECK_FALSE(run((*head)->read()).value().empty());
  }
  CHECK(connections() == before + 1);
  CHECK(run(read_all(**slow)).value() == large);
  for (int i = 0; i < 5; ++i) CHECK(run(fetch(*client, request("GET", url("/small")))).body == "hello");
  CHECK(connections() == before + 1);
}

// libcurl 7.88 loses an answer that arrives in one piece with the reset after it.
TEST_CASE_FIXTURE(
    nghttpd_fixture,
    "curl 7: a stream reset without error before the request was whole is an answer, or says how to get it") {
  SLUICE_SKIP_WITHOUT("nghttpd", "openssl");
  begin({"--early-response"});
  for (int i = 0; i < 10; ++i) {
    request what("POST", url(i % 2 == 0 ? "/small" : "/missing"));
    what.set_body(std::string(2'000'000, 'b'));
    const whole got = run(fetch(*client, what));
    CAPTURE(got.failure.message());
    if (got.failure == error()) {
      CHECK(got.status == (i % 2 == 0 ? 200 : 404));
      if (i % 2 == 0) CHECK(got.body == "hello");
    } else {
      CHECK(got.failure.is(errc::connection_lost));
      CHECK(got.failure.message().find("curl_options::version") != std::string::npos);
    }
    CHECK(run(fetch(*client, request("GET", url("/small")))).body == "hello");
  }
}

TEST_CASE_FIXTURE(nghttpd_fixture,
                  "a server that dies loses its exchanges, each with an error; the next connection is tried anew") {
  SLUICE_SKIP_WITHOUT("nghttpd", "openssl");
  // More than the buffers of both sides hold.
  large.assign(20'000'000, 'L');
  begin();
  options.read_buffer = 50'000;
  client = make_curl_transport(loop.get_executor(), time, options);
  std::vector<std::unique_ptr<response>> open;
  for (int i = 0; i < 5; ++i) {
    auto head = run(client->send(request("GET", url("/large"))));
    REQUIRE(head.has_value());
    open.push_back(*std::move(head));
  }
  server.reset();
  for (const auto& one : open) {
    const auto body = run(read_all(*one));
    REQUIRE_FALSE(body.has_value());
    CAPTURE(body.error().message());
    CHECK(body.error().is(errc::connection_lost));
  }
  CHECK(run(fetch(*client, request("GET", url("/small")))).failure.is(errc::connect_failed));
  begin();
  CHECK(run(fetch(*client, request("GET", url("/small")))).body == "hello");
}
