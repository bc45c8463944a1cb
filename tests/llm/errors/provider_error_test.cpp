#include "llm/errors/provider_error.hpp"

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
  CHECK(of(404, R"({"error":{"message":"The model 'x' does not exist","type":"invalid_request_error",)"
                R"("code":"model_not_found"}})")
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
  const failure quota =
      of(429, R"({"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}})");
  CHECK(rate.is(errc::rate_limited));
  CHECK(quota.is(errc::quota_exhausted));
  CHECK(rate.message() == "the provider asks to slow down (429 requests rate_limit_exceeded): slow");
  CHECK(quota.message() ==
        "the provider's quota is spent, and waiting will not help; check the account's plan (429 insufficient_quota): "
        "pay");
  CHECK(quota.provider_code == "insufficient_quota");
}

TEST_CASE("headers that speak of another attempt, and the exchange's name") {
  const std::vector<sluice::http::header> headers = {
      {"Retry-After", "2"}, {"X-Should-Retry", "false"}, {"x-request-id", "r1"}};
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
  const std::string echo =
      of(401, R"({"error":{"message":"Incorrect API key: sk-secret.","code":"sk-secret"}})").message();
  CHECK(echo.find("sk-secret") == std::string::npos);
  CHECK(echo.find("[key]") != std::string::npos);
  CHECK(of(401, R"({"error":{"code":"sk-secret"}})").provider_code == "[key]");

  // The key lies across the place where the quotation is cut.
  const std::string cut = of(500, std::string(296, 'x') + "sk-secret").message();
  CHECK(cut.find("sk-") == std::string::npos);
  CHECK(of(500, std::string(10'000'000, 'y')).message().size() < 400);
  CHECK(of(500,
           "a\x80"
           "b\xE2\x82\xAC\xC3")
            .message() == "the provider failed (500): a?b\xE2\x82\xAC?");
  CHECK(of(500,
           "a\n\n\tb\x01"
           "c ")
            .message() == "the provider failed (500): a b c");
}

TEST_CASE("a foreign page is called what it is") {
  const failure page = failure_of_foreign_body("text/html; charset=utf-8", "<html>Sign in</html>", "");
  CHECK(page.is(errc::protocol_error));
  CHECK(page.message() ==
        "the server's answer is not a model's: text/html; charset=utf-8, which begins <html>Sign in</html>; check "
        "base_url");
  CHECK(failure_of_foreign_body("", "", "").message() ==
        "the server's answer is not a model's: no content-type, empty; check base_url");
}

TEST_CASE("a 429 is what its code says") {
  const auto kind = [](std::string_view body) { return of(429, body).code(); };
  CHECK(kind(R"({"error":{"message":"m","type":"requests","code":"rate_limit_exceeded"}})") == errc::rate_limited);
  CHECK(kind(R"({"type":"error","error":{"type":"rate_limit_error","message":"m"}})") == errc::rate_limited);
  CHECK(kind(R"({"error":{"message":"m","code":"slow_down"}})") == errc::rate_limited);
  CHECK(kind(R"({"error":{"message":"m","status":"RESOURCE_EXHAUSTED","code":429}})") == errc::rate_limited);
  CHECK(kind(R"({"error":{"message":"m","code":"insufficient_quota"}})") == errc::quota_exhausted);
  CHECK(kind(R"({"error":{"message":"You exceeded your current quota, please check your plan"}})") ==
        errc::quota_exhausted);
  CHECK(kind(R"({"error":{"message":"m","code":"billing_hard_limit_reached"}})") == errc::quota_exhausted);
  CHECK(kind(R"({"error":{"message":"The engine is currently overloaded, please try again later"}})") ==
        errc::overloaded);
  CHECK(kind(R"({"error":{"message":"m","type":"overloaded_error"}})") == errc::overloaded);
  CHECK(kind("") == errc::rate_limited);
  CHECK(of(503, R"({"error":{"message":"m","code":"slow_down"}})").message() ==
        "the provider asks to slow down: the traffic grew too fast (503 slow_down): m");

  // A limit on the day passes in a time that is worth waiting for only when the provider says so.
  const char* daily = R"({"error":{"message":"Limit reached on tokens per day [TPD]","code":"rate_limit_exceeded"}})";
  CHECK(kind(daily) == errc::quota_exhausted);
  CHECK(failure_of_status(429, {{"retry-after", "30"}}, daily, "").is(errc::rate_limited));
}

TEST_CASE("a conversation that is too long") {
  for (const char* body :
       {R"({"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}})",
        R"({"type":"error","error":{"type":"invalid_request_error",)"
        R"("message":"prompt is too long: 210000 tokens > 200000 maximum"}})",
        R"({"type":"error","error":{"type":"invalid_request_error",)"
        R"("message":"input length and `max_tokens` exceed context limit: 1 + 2 > 2"}})",
        R"({"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError",)"
        R"("code":400})",
        R"({"error":{"code":400,"message":"the request exceeds the available context size",)"
        R"("type":"exceed_context_size_error"}})"}) {
    CAPTURE(body);
    CHECK(of(400, body).is(errc::context_too_long));
    CHECK(failure_of_json(body, "").is(errc::context_too_long));
  }
  CHECK(of(429, R"({"error":{"message":"maximum context length"}})").is(errc::rate_limited));
  CHECK(of(500, R"({"error":{"message":"prompt is too long"}})").is(errc::provider_failed));
}

TEST_CASE("what the filter turned away") {
  for (const char* body :
       {R"({"error":{"message":"m","code":"content_filter","status":400}})",
        R"({"error":{"message":"m","code":"content_policy_violation"}})",
        R"({"error":{"message":"m","type":"x","code":null,"innererror":{"code":"ResponsibleAIPolicyViolation"}}})",
        R"({"type":"error","error":{"type":"invalid_request_error",)"
        R"("message":"Output blocked by content filtering policy"}})"}) {
    CAPTURE(body);
    CHECK(of(400, body).is(errc::content_filtered));
  }
}

TEST_CASE("Anthropic's types, with a status and in mid-stream") {
  const auto kinds = [](int status, const char* type, errc with_status, errc in_stream) {
    const std::string body =
        std::string(R"({"type":"error","error":{"type":")") + type + R"(","message":"m"},"request_id":"req_1"})";
    const failure answered = of(status, body);
    const failure streamed = failure_of_json(body, "");
    CHECK(answered.request_id == "req_1");
    CHECK(streamed.request_id == "req_1");
    CHECK(answered.provider_code == type);
    return answered.is(with_status) && streamed.is(in_stream);
  };
  CHECK(kinds(400, "invalid_request_error", errc::provider_refused, errc::provider_refused));
  CHECK(kinds(401, "authentication_error", errc::unauthorized, errc::unauthorized));
  CHECK(kinds(402, "billing_error", errc::quota_exhausted, errc::quota_exhausted));
  CHECK(kinds(403, "permission_error", errc::unauthorized, errc::unauthorized));
  CHECK(kinds(404, "not_found_error", errc::provider_refused, errc::provider_refused));
  CHECK(kinds(413, "request_too_large", errc::provider_refused, errc::provider_refused));
  CHECK(kinds(429, "rate_limit_error", errc::rate_limited, errc::rate_limited));
  CHECK(kinds(500, "api_error", errc::provider_failed, errc::provider_failed));
  CHECK(kinds(504, "timeout_error", errc::provider_failed, errc::provider_failed));
  CHECK(kinds(529, "overloaded_error", errc::overloaded, errc::overloaded));
}

TEST_CASE("errors of Responses, flat and inside the response") {
  CHECK(failure_of_json(R"({"type":"error","code":"rate_limit_exceeded","message":"m","sequence_number":3})", "")
            .is(errc::rate_limited));
  const failure failed = failure_of_json(
      R"({"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error",)"
      R"("message":"m"}}})",
      "");
  CHECK(failed.is(errc::provider_failed));
  CHECK(failed.provider_code == "server_error");
  CHECK(failed.message() == "the provider failed (server_error): m");
  CHECK(failure_of_json(R"({"type":"error","code":"invalid_prompt","message":"m"})", "").is(errc::provider_refused));
}

TEST_CASE("bodies of all shapes") {
  CHECK(of(400, R"("just a string")").message() == "the provider refused the request (400): just a string");
  CHECK(of(400, R"([{"error":{"message":"m","status":"INVALID_ARGUMENT"}}])").message() ==
        "the provider refused the request (400 INVALID_ARGUMENT): m");
  CHECK(of(400, R"({"errors":[{"message":"m","code":"c"}]})").message() ==
        "the provider refused the request (400 c): m");
  CHECK(of(400, R"({"title":"Bad","status":400})").message() == "the provider refused the request (400): Bad");
  CHECK(of(400, "plain text").message() == "the provider refused the request (400): plain text");
  CHECK(of(400, "[]").message() == "the provider refused the request (400): []");
  CHECK(of(400, "null").message() == "the provider refused the request (400): null");
  CHECK(of(400, std::string(100'000, '[')).message().size() < 400);
  std::string nested = R"({"message":"deep"})";
  for (int n = 0; n < 100; ++n) nested = R"({"error":)" + nested + "}";
  CHECK(of(400, nested).is(errc::provider_refused));
}

TEST_CASE("the exchange's name, in whatever header, and in the body at last") {
  for (const char* name : {"x-request-id", "Request-Id", "apim-request-id"}) {
    CHECK(failure_of_status(500, {{name, "h1"}}, R"({"request_id":"b1"})", "").request_id == "h1");
  }
  CHECK(failure_of_status(500, {}, R"({"request_id":"b1"})", "").request_id == "b1");
  CHECK(failure_of_status(500, {}, R"({"request_id":"sk-secret"})", "sk-secret").request_id == "[key]");
}

TEST_CASE("an error of any size is read to a bound, and one that is cut off as far as it goes") {
  // The message is what is long, as a rule.
  const std::string large = R"({"type":"error","error":{"type":"overloaded_error","message":")" +
                            std::string(std::size_t{1} << 20, 'm') + R"("}})";
  const failure cut = failure_of_json(large, "");
  CHECK(cut.is(errc::overloaded));
  CHECK(cut.provider_code == "overloaded_error");
  CHECK(cut.message().size() < 500);
  CHECK(cut.message().find("mmm...") != std::string::npos);
  // Millions of values, or of levels, that nobody looks at.
  for (const char* piece : {"1,", "[", "{\"a\":", "\"\","}) {
    CAPTURE(piece);
    std::string many = R"({"error":{"code":"rate_limit_exceeded","message":"slow","param":[)";
    for (int n = 0; n < 1'000'000; ++n) many += piece;
    const failure failed = failure_of_json(many, "");
    CHECK(failed.message().size() < 500);
    CHECK(failed.message().find("slow") != std::string::npos);
  }
  const std::string whole =
      R"({"error":{"code":"rate_limit_exceeded","message":"a\u00e9\n\"b\"","param":[1,{"x":"]}"}]}})";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const failure failed = failure_of_json(whole.substr(0, length), "");
    CAPTURE(length);
    const bool code_is_there = length > std::string(R"({"error":{"code":"rate_limit_exceeded)").size();
    const bool message_is_begun = length > whole.find("a\\u00e9");
    if (code_is_there && message_is_begun && length < whole.find(R"(,"param")")) CHECK(failed.is(errc::rate_limited));
    CHECK(failed.message().size() < 500);
  }
  CHECK(failure_of_json(R"({"error":{"code":"rate_limit_exceeded","message":"a\u00)", "").message() ==
        "the provider asks to slow down (rate_limit_exceeded): a");
  CHECK(failure_of_json(R"({"error":{"code":"rate_limit_exceeded","message":"a\)", "").message() ==
        "the provider asks to slow down (rate_limit_exceeded): a");
  CHECK(failure_of_json(R"({"error":{"code":"rate_limit_exceeded"]})", "").is(errc::provider_failed));
}
