#include "llm/provider_error.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::errc;
using sluice::llm::failure;
using sluice::llm::failure_of_foreign_body;
using sluice::llm::failure_of_json;
using sluice::llm::failure_of_status;

namespace {

failure of(int status, std::string_view body) { return failure_of_status(status, {}, body, "sk-secret"); }

}  // namespace

TEST_CASE("each status is its kind of error") {
  const auto is = [](int status, errc kind) {
    const failure failed = of(status, "{}");
    return failed.is(kind) && failed.status == status;
  };
  CHECK(is(400, errc::provider_refused));
  CHECK(is(404, errc::provider_refused));
  CHECK(is(422, errc::provider_refused));
  CHECK(is(401, errc::unauthorized));
  CHECK(is(403, errc::unauthorized));
  CHECK(is(429, errc::rate_limited));
  CHECK(is(500, errc::provider_failed));
  CHECK(is(502, errc::provider_failed));
  CHECK(is(503, errc::overloaded));
  CHECK(is(529, errc::overloaded));
  CHECK(is(302, errc::protocol_error));
}

TEST_CASE("the provider's words are quoted, with the status before them") {
  CHECK(of(404, R"({"error":{"message":"The model 'x' does not exist","type":"invalid_request_error","code":"model_not_found"}})")
            .message() ==
        "the provider refused the request (404 invalid_request_error model_not_found): The model 'x' does not exist");
  CHECK(of(500, R"({"error":"out of memory"})").message() == "the provider failed (500): out of memory");
  CHECK(of(422, R"({"detail":[{"loc":["body"],"msg":"field required"}]})").message() ==
        R"(the provider refused the request (422): [{"loc":["body"],"msg":"field required"}])");
  CHECK(of(400, R"({"object":"error","message":"bad","type":"BadRequestError","code":400})").message() ==
        "the provider refused the request (400 BadRequestError): bad");
  CHECK(of(529, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})").message() ==
        "the provider is overloaded (529 overloaded_error): Overloaded");
  CHECK(of(502, "<html>\n  <b>Bad gateway</b>\r\n</html>").message() ==
        "the provider failed (502): <html> <b>Bad gateway</b> </html>");
  CHECK(of(503, "").message() == "the provider is overloaded (503)");
}

TEST_CASE("a spent quota is told apart from a rate") {
  const failure rate = of(429, R"({"error":{"message":"slow","type":"requests","code":"rate_limit_exceeded"}})");
  const failure quota = of(429, R"({"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}})");
  CHECK(rate.is(errc::rate_limited));
  CHECK(quota.is(errc::quota_exhausted));
  CHECK(rate.message() == "the provider asks to slow down (429 requests rate_limit_exceeded): slow");
  CHECK(quota.message() ==
        "the provider's quota is spent, and waiting will not help; check the account's plan (429 insufficient_quota): pay");
  CHECK(quota.provider_code == "insufficient_quota");
}

TEST_CASE("headers that speak of another attempt, and the exchange's name") {
  const std::vector<sluice::http::header> headers = {{"Retry-After", "2"}, {"X-Should-Retry", "false"}, {"x-request-id", "r1"}};
  const failure failed = failure_of_status(429, headers, "", "");
  CHECK(failed.retry_after == sluice::duration(std::chrono::seconds(2)));
  CHECK(failed.should_retry == false);
  CHECK(failed.request_id == "r1");
  CHECK_FALSE(of(429, "").retry_after.has_value());
  CHECK_FALSE(of(429, "").should_retry.has_value());
}

TEST_CASE("in mid-stream the code decides") {
  const auto kind = [](std::string_view json) { return failure_of_json(json, "").code(); };
  CHECK(kind(R"({"error":{"code":"rate_limit_exceeded"}})") == errc::rate_limited);
  CHECK(kind(R"({"error":{"type":"insufficient_quota"}})") == errc::quota_exhausted);
  CHECK(kind(R"({"error":{"type":"overloaded_error"}})") == errc::overloaded);
  CHECK(kind(R"({"error":{"code":503,"message":"x"}})") == errc::overloaded);
  CHECK(kind(R"({"error":{"code":"401"}})") == errc::unauthorized);
  CHECK(kind(R"({"error":{"type":"invalid_request_error"}})") == errc::provider_refused);
  CHECK(kind(R"({"error":{"type":"server_error"}})") == errc::provider_failed);
  CHECK(kind("broken") == errc::provider_failed);
}

TEST_CASE("what is quoted is bounded, one line, UTF-8, and never the key") {
  const std::string echo = of(401, R"({"error":{"message":"Incorrect API key: sk-secret.","code":"sk-secret"}})").message();
  CHECK(echo.find("sk-secret") == std::string::npos);
  CHECK(echo.find("[key]") != std::string::npos);
  CHECK(of(401, R"({"error":{"code":"sk-secret"}})").provider_code == "[key]");

  // The key lies across the place where the quotation is cut.
  const std::string cut = of(500, std::string(296, 'x') + "sk-secret").message();
  CHECK(cut.find("sk-") == std::string::npos);
  CHECK(of(500, std::string(10'000'000, 'y')).message().size() < 400);
  CHECK(of(500, "a\x80" "b\xE2\x82\xAC\xC3").message() == "the provider failed (500): a?b\xE2\x82\xAC?");
  CHECK(of(500, "a\n\n\tb\x01" "c ").message() == "the provider failed (500): a b c");
}

TEST_CASE("a foreign page is called what it is") {
  const failure page = failure_of_foreign_body("text/html; charset=utf-8", "<html>Sign in</html>", "");
  CHECK(page.is(errc::protocol_error));
  CHECK(page.message() ==
        "the server's answer is not a model's: text/html; charset=utf-8, which begins <html>Sign in</html>; check base_url");
  CHECK(failure_of_foreign_body("", "", "").message() ==
        "the server's answer is not a model's: no content-type, empty; check base_url");
}
