/// \file
/// `nginx_fixture`: a loop, a client that trusts the test's authority, a server that a test scripts, and nginx before
/// it.
#pragma once

#include "http/loop_fixture.hpp"
#include "http/nginx_front.hpp"

#include <memory>
#include <optional>
#include <string>

namespace sluice::http::test {

class nginx_fixture : public loop_fixture {
 public:
  /// Starts nginx before a server that runs `script`, and makes `client` one that trusts it.
  void begin(raw_server::script script) {
    server.emplace(loop, std::move(script));
    front = std::make_unique<nginx_front>(server->port());
    client = make(trusting());
  }

  [[nodiscard]] static curl_options trusting() {
    curl_options options;
    options.ca_bundle = certificates::get().authority();
    options.proxy = "none";
    return options;
  }
  [[nodiscard]] std::unique_ptr<transport> make(const curl_options& options) {
    return make_curl_transport(loop.get_executor(), time, options);
  }

  std::optional<raw_server> server;
  std::unique_ptr<nginx_front> front;
};

/// Answers every request with "ok".
inline asio::awaitable<void> answer_ok(raw_connection& c) {
  for (;;) {
    const std::string seen = co_await c.read_request();
    if (seen.empty()) co_return;
    if (!co_await c.write(answer_with("ok"))) co_return;
  }
}

}  // namespace sluice::http::test
