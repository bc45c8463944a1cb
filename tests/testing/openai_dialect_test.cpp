#include "testing/openai_dialect.hpp"

#include "testing/mock_fixture.hpp"

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace sluice::testing;

TEST_CASE("errors: usual ones, and bodies that are JSON whatever the text") {
  for (const auto* form : {&chat_wire(), &responses_wire()}) {
    CHECK(form->usual_error(503).type == "server_error");
    CHECK(form->usual_error(500).type == "server_error");
    CHECK(form->usual_error(418).type == "invalid_request_error");
    CHECK(form->usual_error(429, {}, true).code == "insufficient_quota");
    CHECK(form->usual_error(429, "mine").message == "mine");
    auto body = json::parse(form->error_body(wire_error(500, "a \"quoted\" \xff byte", "t"), "r"));
    CHECK(body["error"]["message"] == "a \"quoted\" \xef\xbf\xbd byte");
    CHECK(body["error"]["code"].is_null());
    CHECK(body["error"]["param"].is_null());
    body = json::parse(form->error_body(wire_error(400, "a", "t", "c", "p"), "r"));
    CHECK(body["error"]["code"] == "c");
    CHECK(body["error"]["param"] == "p");
  }
}

TEST_CASE("headers tell the load") {
  const auto value = [](const wire_load& load, const std::string& name) {
    for (const auto& line : chat_wire().headers(load, "r1")) {
      if (line.name() == name) return std::string(line.value());
    }
    return std::string("none");
  };
  const wire_load busy{8, 3, 1000, 250, 90s};
  CHECK(value(busy, "x-request-id") == "r1");
  CHECK(value(busy, "x-ratelimit-limit-requests") == "8");
  CHECK(value(busy, "x-ratelimit-remaining-requests") == "3");
  CHECK(value(busy, "x-ratelimit-reset-requests") == "1m30s");
  CHECK(value(busy, "x-ratelimit-limit-tokens") == "1000");
  CHECK(value(busy, "x-ratelimit-remaining-tokens") == "250");
  CHECK(value(busy, "x-ratelimit-reset-tokens") == "1m30s");
  const wire_load idle{8, 8, 1000, 1000, 90s};
  CHECK(value(idle, "x-ratelimit-reset-requests") == "0s");
  CHECK(value(idle, "x-ratelimit-reset-tokens") == "0s");
}
