#include "llm/provider_error.hpp"

#include "llm/header_value.hpp"
#include "llm/quote.hpp"
#include "llm/retry_after.hpp"

#include <nlohmann/json.hpp>

#include <cctype>
#include <string>

namespace sluice::llm {

namespace {

class told {
 public:
  told() = default;
  std::string message;
  std::string type;
  std::string code;
};

std::string text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return {};
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

using members = nlohmann::json::object_t;

void read_members(const members& object, told& words) {
  const auto take = [&](const char* name, std::string& into) {
    if (const auto found = object.find(name); found != object.end() && into.empty()) into = text_of(found->second);
  };
  take("message", words.message);
  take("type", words.type);
  take("code", words.code);
  take("status", words.code);
}

// {"error": {...}}, {"error": "text"}, {"message": ...} and {"detail": ...}.
told read(std::string_view body) {
  told words;
  const nlohmann::json parsed = nlohmann::json::parse(body, nullptr, false);
  const members* const outer = parsed.get_ptr<const members*>();
  if (outer == nullptr) {
    words.message = body;
    return words;
  }
  if (const auto found = outer->find("error"); found != outer->end()) {
    if (const members* const inner = found->second.get_ptr<const members*>(); inner != nullptr) {
      read_members(*inner, words);
    } else {
      words.message = text_of(found->second);
    }
  }
  read_members(*outer, words);
  // What the outer object calls itself is not what went wrong.
  if (words.type == "error") words.type.clear();
  if (const auto detail = outer->find("detail"); detail != outer->end() && words.message.empty()) {
    words.message = text_of(detail->second);
  }
  if (words.message.empty()) words.message = body;
  return words;
}

bool has(const told& words, std::string_view part) {
  return words.code.find(part) != std::string::npos || words.type.find(part) != std::string::npos;
}

errc kind_of(int status) noexcept {
  switch (status) {
    case 401:
    case 403: return errc::unauthorized;
    case 429: return errc::rate_limited;
    case 503:
    case 529: return errc::overloaded;
    default: break;
  }
  if (status >= 500) return errc::provider_failed;
  return status >= 400 ? errc::provider_refused : errc::protocol_error;
}

// In mid-stream there is no status to go by; some servers put it into `code`.
errc kind_of(const told& words) {
  if (words.code.size() == 3 && words.code.find_first_not_of("0123456789") == std::string::npos) {
    const int status = std::stoi(words.code);
    if (status >= 400 && status < 600) return kind_of(status);
  }
  if (has(words, "insufficient_quota") || has(words, "rate_limit") || has(words, "slow_down")) return errc::rate_limited;
  if (has(words, "overloaded") || has(words, "unavailable")) return errc::overloaded;
  if (has(words, "authentication") || has(words, "permission") || has(words, "invalid_api_key")) return errc::unauthorized;
  if (has(words, "invalid_request") || has(words, "not_found") || has(words, "context_length")) {
    return errc::provider_refused;
  }
  return errc::provider_failed;
}

std::string_view lead_of(errc kind, const told& words) {
  if (has(words, "insufficient_quota")) {
    return "the provider's quota is spent, and waiting will not help; check the account's plan";
  }
  switch (kind) {
    case errc::unauthorized: return "the provider did not accept the key; check api_key";
    case errc::rate_limited: return "the provider asks to slow down";
    case errc::overloaded: return "the provider is overloaded";
    case errc::provider_failed: return "the provider failed";
    case errc::protocol_error: return "the server does not answer; redirects are not followed, check base_url";
    default: return "the provider refused the request";
  }
}

failure make(errc kind, const std::string& status, const told& words, call_phase phase, std::string_view secret) {
  std::string message(lead_of(kind, words));
  std::string facts = status;
  for (const std::string* name : {&words.type, &words.code}) {
    if (name->empty() || *name == status || (name == &words.code && words.code == words.type)) continue;
    if (!facts.empty()) facts += ' ';
    facts += quote(*name, secret);
  }
  if (!facts.empty()) message += " (" + facts + ")";
  if (const std::string said = quote(words.message, secret); !said.empty()) message += ": " + said;
  failure failed(kind, std::move(message), phase);
  failed.provider_code = quote(words.code.empty() ? words.type : words.code, secret);
  return failed;
}

}  // namespace

failure failure_of_status(int status, const std::vector<http::header>& headers, std::string_view body,
                          std::string_view secret) {
  failure failed = make(kind_of(status), std::to_string(status), read(body), call_phase::answering, secret);
  failed.status = status;
  failed.retry_after = retry_after(headers);
  failed.request_id = quote(request_id_of(headers), secret);
  const std::string_view again = header_value(headers, "x-should-retry");
  if (again == "true") failed.should_retry = true;
  if (again == "false") failed.should_retry = false;
  return failed;
}

failure failure_of_json(std::string_view json, std::string_view secret) {
  const told words = read(json);
  return make(kind_of(words), {}, words, call_phase::answering, secret);
}

failure failure_of_foreign_body(std::string_view content_type, std::string_view body, std::string_view secret) {
  std::string message = "the server's answer is not a model's: ";
  message += content_type.empty() ? "no content-type" : quote(content_type, secret);
  const std::string start = quote(body, secret);
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
