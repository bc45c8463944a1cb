#include "llm/errors/provider_error.hpp"

#include "llm/attempts/header_value.hpp"
#include "llm/attempts/retry_after.hpp"
#include "llm/errors/error_words.hpp"
#include "llm/errors/quote.hpp"

#include "http/ascii.hpp"

#include <string>
#include <utility>

namespace sluice::llm {

namespace {

errc kind_of(int status) noexcept {
  switch (status) {
    case 401:
    case 403: return errc::unauthorized;
    case 402: return errc::quota_exhausted;
    case 408:
    case 409: return errc::provider_failed;
    case 429: return errc::rate_limited;
    case 503:
    case 529: return errc::overloaded;
    default: break;
  }
  if (status >= 500) return errc::provider_failed;
  return status >= 400 ? errc::provider_refused : errc::protocol_error;
}

// In mid-stream there is no status to go by; some servers put it into `code`.
int status_in(const error_words& words) {
  if (words.code.size() != 3 || words.code.find_first_not_of("0123456789") != std::string::npos) return 0;
  const int status = std::stoi(words.code);
  return status >= 400 && status < 600 ? status : 0;
}

std::string_view lead_of(errc kind, const error_words& words) {
  switch (kind) {
    case errc::unauthorized: return "the provider did not accept the key; check api_key";
    case errc::quota_exhausted:
      return "the provider's quota is spent, and waiting will not help; check the account's plan";
    case errc::rate_limited:
      return words.code == "slow_down" ? "the provider asks to slow down: the traffic grew too fast"
                                       : "the provider asks to slow down";
    case errc::overloaded: return "the provider is overloaded";
    case errc::provider_failed: return "the provider failed";
    case errc::context_too_long: return "the conversation is longer than the model's context; shorten it";
    case errc::content_filtered: return "the provider's filter turned it away";
    case errc::protocol_error: return "the server does not answer; redirects are not followed, check base_url";
    default: return "the provider refused the request";
  }
}

failure make(errc kind, const std::string& status, const error_words& words, const secrets& hidden) {
  std::string message(lead_of(kind, words));
  std::string facts = status;
  for (const std::string* name : {&words.type, &words.code}) {
    if (name->empty() || *name == status || (name == &words.code && words.code == words.type)) continue;
    if (!facts.empty()) facts += ' ';
    facts += quote(*name, hidden);
  }
  if (!facts.empty()) message += " (" + facts + ")";
  if (const std::string said = quote(words.message, hidden); !said.empty()) message += ": " + said;
  failure failed(kind, std::move(message), call_phase::answering);
  failed.provider_code = quote(words.code.empty() ? words.type : words.code, hidden);
  failed.request_id = quote(words.request_id, hidden);
  return failed;
}

// A limit on the day does not pass while anybody waits; unless the provider says when it does.
bool is_daily(const error_words& words) {
  return words.code.find("daily") != std::string::npos || words.type.find("daily") != std::string::npos ||
         words.message.find("per day") != std::string::npos;
}

}  // namespace

failure failure_of_status(int status, const std::vector<http::header>& headers, std::string_view body,
                          const secrets& hidden) {
  const error_words words = error_words::read(body);
  const auto wait = retry_after(headers);
  errc kind = words.meaning(status).value_or(kind_of(status));
  if (kind == errc::rate_limited && !wait && is_daily(words)) kind = errc::quota_exhausted;
  failure failed = make(kind, std::to_string(status), words, hidden);
  failed.status = status;
  failed.retry_after = wait;
  if (const std::string_view id = request_id_of(headers); !id.empty()) failed.request_id = quote(id, hidden);
  const std::string_view again = header_value(headers, "x-should-retry");
  if (http::equal_ignoring_case(again, "true")) failed.should_retry = true;
  if (http::equal_ignoring_case(again, "false")) failed.should_retry = false;
  return failed;
}

failure failure_of_json(std::string_view json, const secrets& hidden) {
  const error_words words = error_words::read(json);
  const int status = status_in(words);
  const errc otherwise = status == 0 ? errc::provider_failed : kind_of(status);
  return make(words.meaning(status).value_or(otherwise), {}, words, hidden);
}

failure failure_of_foreign_body(std::string_view content_type, std::string_view body, const secrets& hidden) {
  std::string message = "the server's answer is not a model's: ";
  message += content_type.empty() ? "no content-type" : quote(content_type, hidden);
  const std::string start = quote(body, hidden);
  message += start.empty() ? ", empty" : ", which begins " + start;
  return failure(errc::protocol_error, message + "; check base_url", call_phase::answering);
}

std::string_view request_id_of(const std::vector<http::header>& headers) noexcept {
  for (const char* name : {"x-request-id", "request-id", "apim-request-id"}) {
    if (const std::string_view id = header_value(headers, name); !id.empty()) return id;
  }
  return {};
}

}  // namespace sluice::llm
