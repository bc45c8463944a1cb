#include "http/nginx_fixture.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

bool says(const error& failure, std::string_view part) { return failure.message().find(part) != std::string::npos; }

}  // namespace

TEST_CASE_FIXTURE(nginx_fixture, "a server whose certificate holds is believed, under each of its names") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin(answer_ok);
  CHECK(run(fetch(*client, request("GET", front->url()))).body == "ok");
  curl_options named = trusting();
  named.resolve = {"front.test:" + std::to_string(front->port()) + ":127.0.0.1"};
  auto other = make(named);
  CHECK(run(fetch(*other, request("GET", front->url("/", "front.test")))).body == "ok");
}

TEST_CASE_FIXTURE(nginx_fixture, "an authority that is not trusted is refused, with the reason and the setting") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin(answer_ok);
  curl_options wary = trusting();
  wary.ca_bundle = certificates::get().other_authority();
  auto other = make(wary);
  const whole got = run(fetch(*other, request("GET", front->url())));
  CHECK(got.failure.is(errc::tls_failed));
  CHECK(got.failure.message() == "127.0.0.1:" + std::to_string(front->port()) +
                                     ": SSL certificate problem: unable to get local issuer certificate (libcurl 60); "
                                     "curl_options::ca_bundle names other authorities to trust");
  CHECK(server->accepted() == 0);
}

TEST_CASE_FIXTURE(nginx_fixture, "a certificate for another host, or of another time, is refused and told apart") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin(answer_ok);
  const whole elsewhere = run(fetch(*client, request("GET", front->elsewhere_url())));
  CHECK(elsewhere.failure.is(errc::tls_failed));
  CHECK(says(elsewhere.failure, "no alternative certificate subject name matches target host name '127.0.0.1'"));
  const whole expired = run(fetch(*client, request("GET", front->expired_url())));
  CHECK(expired.failure.is(errc::tls_failed));
  CHECK(says(expired.failure, "certificate has expired"));
  CHECK(server->accepted() == 0);
}

TEST_CASE_FIXTURE(nginx_fixture, "the dangerous field makes any server believed, and nothing else does") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin(answer_ok);
  curl_options blind;
  blind.proxy = "none";
  blind.dangerously_skip_tls_verification = true;
  auto trusts_all = make(blind);
  for (const std::string& url : {front->url(), front->expired_url(), front->elsewhere_url()}) {
    CHECK(run(fetch(*trusts_all, request("GET", url))).body == "ok");
  }
  blind.dangerously_skip_tls_verification = false;
  auto trusts_system = make(blind);
  CHECK(run(fetch(*trusts_system, request("GET", front->url()))).failure.is(errc::tls_failed));
}

TEST_CASE_FIXTURE(nginx_fixture, "a client certificate is shown to the server that wants one") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  std::string seen;
  begin([&](raw_connection& c) -> asio::awaitable<void> {
    seen = co_await c.read_request();
    co_await c.write(answer_with("ok"));
  });
  const certificates& made = certificates::get();
  curl_options known = trusting();
  known.client_certificate = made.client.certificate;
  known.client_key = made.client.key;
  auto named = make(known);
  CHECK(run(fetch(*named, request("GET", front->strict_url()))).body == "ok");
  CHECK(seen.find("x-client: CN=client\r\n") != seen.npos);

  known.client_key = made.locked_key;
  known.client_key_password = std::string(certificates::password);
  auto unlocked = make(known);
  CHECK(run(fetch(*unlocked, request("GET", front->strict_url()))).body == "ok");
}

TEST_CASE_FIXTURE(nginx_fixture, "without its certificate, or with a stranger's, a client is refused by the server") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin(answer_ok);
  const whole nameless = run(fetch(*client, request("GET", front->strict_url())));
  CHECK(nameless.status == 400);
  CHECK(nameless.body.find("No required SSL certificate was sent") != std::string::npos);
  curl_options strange = trusting();
  strange.client_certificate = certificates::get().stranger.certificate;
  strange.client_key = certificates::get().stranger.key;
  auto stranger = make(strange);
  const whole refused = run(fetch(*stranger, request("GET", front->strict_url())));
  CHECK(refused.status == 400);
  CHECK(refused.body.find("The SSL certificate error") != std::string::npos);
  CHECK(server->accepted() == 0);
}

TEST_CASE_FIXTURE(nginx_fixture, "a key that does not open is told with its settings, and without its password") {
  SLUICE_SKIP_WITHOUT("nginx", "openssl");
  begin(answer_ok);
  curl_options locked = trusting();
  locked.client_certificate = certificates::get().client.certificate;
  locked.client_key = certificates::get().locked_key;
  locked.client_key_password = "wrong-secret";
  auto shut_out = make(locked);
  const whole got = run(fetch(*shut_out, request("GET", front->strict_url())));
  CAPTURE(got.failure.message());
  CHECK(got.failure.is(errc::tls_failed));
  CHECK(says(got.failure, "; see curl_options::client_certificate and client_key"));
  CHECK_FALSE(says(got.failure, "wrong-secret"));
  // Not its key at all.
  locked.client_key = certificates::get().server.key;
  locked.client_key_password.clear();
  auto mixed_up = make(locked);
  CHECK(run(fetch(*mixed_up, request("GET", front->strict_url()))).failure.is(errc::tls_failed));
}

TEST_CASE_FIXTURE(loop_fixture, "a server that ends the handshake for want of a certificate is told apart") {
  SLUICE_SKIP_WITHOUT("openssl");
  const certificates& made = certificates::get();
  const temporary_folder folder;
  unsigned short port = 0;
  const auto strict = start_server([&] {
    port = free_port();
    std::vector<std::string> arguments{"s_server",
                                       "-accept",
                                       "127.0.0.1:" + std::to_string(port),
                                       "-cert",
                                       made.server.certificate,
                                       "-key",
                                       made.server.key,
                                       "-CAfile",
                                       made.authority(),
                                       "-Verify",
                                       "2",
                                       "-verify_return_error",
                                       "-www"};
    auto process = std::make_unique<served_process>(program("openssl"), std::move(arguments), folder.path("log"));
    return std::pair(std::move(process), port);
  });
  curl_options options;
  options.proxy = "none";
  options.ca_bundle = made.authority();
  const request what("GET", "https://127.0.0.1:" + std::to_string(port) + "/");
  client = make_curl_transport(loop.get_executor(), time, options);
  const whole nameless = run(fetch(*client, what));
  CHECK(nameless.failure.is(errc::tls_failed));
  CHECK(says(nameless.failure, "certificate required"));
  CHECK(says(nameless.failure, "; see curl_options::client_certificate and client_key"));
  options.client_certificate = made.client.certificate;
  options.client_key = made.client.key;
  client = make_curl_transport(loop.get_executor(), time, options);
  CHECK(run(fetch(*client, what)).status == 200);
}
