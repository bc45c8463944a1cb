#include "testing/openai_dialect.hpp"

#include "testing/wire_json.hpp"
#include "testing/wire_time.hpp"

namespace sluice::testing {

wire_error openai_dialect::usual_error(int status, std::string message, bool quota) const {
  const auto made = [&](std::string usual, std::string type, std::string code = {}) {
    return wire_error(status, message.empty() ? std::move(usual) : message, std::move(type), std::move(code));
  };
  if (quota) return made("You exceeded your current quota.", "insufficient_quota", "insufficient_quota");
  switch (status) {
    case 401: return made("Incorrect API key provided.", "invalid_request_error", "invalid_api_key");
    case 404: return made("Unknown request URL.", "invalid_request_error", "unknown_url");
    case 405: return made("Method not allowed for this URL.", "invalid_request_error", "method_not_supported");
    case 413: return made("The request body is too large.", "invalid_request_error");
    case 429: return made("Rate limit reached for requests.", "requests", "rate_limit_exceeded");
    case 503: return made("The engine is currently overloaded.", "server_error");
    case 529: return made("Overloaded", "overloaded_error");
    default: break;
  }
  return status >= 500 ? made("The server had an error while processing your request.", "server_error")
                       : made("The request is not acceptable.", "invalid_request_error");
}

std::string openai_dialect::error_body(const wire_error& error, std::string_view) const {
  const auto or_null = [](const std::string& text) { return text.empty() ? ordered(nullptr) : ordered(text); };
  return dumped({{"error",
                  {{"message", error.message},
                   {"type", error.type},
                   {"param", or_null(error.param)},
                   {"code", or_null(error.code)}}}});
}

std::string openai_dialect::models_body(const std::vector<std::string>& names) const {
  ordered body{{"object", "list"}, {"data", ordered::array()}};
  for (const auto& name : names) {
    body["data"].push_back({{"id", name}, {"object", "model"}, {"created", 1700000000}, {"owned_by", "sluice"}});
  }
  return dumped(body);
}

std::vector<http::header> openai_dialect::headers(const wire_load& load, std::string_view request_id) const {
  const auto reset = [&](bool full) { return go_duration(full ? duration() : load.retry_after); };
  std::vector<http::header> headers;
  headers.reserve(9);
  headers.emplace_back("x-request-id", std::string(request_id));
  headers.emplace_back("x-ratelimit-limit-requests", std::to_string(load.limit_requests));
  headers.emplace_back("x-ratelimit-remaining-requests", std::to_string(load.free_requests));
  headers.emplace_back("x-ratelimit-reset-requests", reset(load.free_requests == load.limit_requests));
  headers.emplace_back("x-ratelimit-limit-tokens", std::to_string(load.limit_tokens));
  headers.emplace_back("x-ratelimit-remaining-tokens", std::to_string(load.free_tokens));
  headers.emplace_back("x-ratelimit-reset-tokens", reset(load.free_tokens == load.limit_tokens));
  return headers;
}

}  // namespace sluice::testing
