#include "llm/errors/error_words.hpp"

#include "http/ascii.hpp"

#include "llm/dialects/json_text.hpp"
#include "llm/dialects/utf8_text.hpp"

#include <algorithm>
#include <array>

namespace sluice::llm {

namespace {

// No server wraps an error more often than this.
constexpr int most_depth = 4;

// No error takes more than this to tell.
constexpr std::size_t most_read = 16 << 10;

// The start of JSON, closed where it was cut off: what stands before that counts.
std::string closed(std::string_view start) {
  std::string ends;
  std::size_t escape = start.npos;
  bool in_text = false;
  for (std::size_t at = 0; at < start.size(); ++at) {
    const char c = start[at];
    if (in_text && c == '\\') {
      escape = at++;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '{' || c == '[')) {
      ends += c == '{' ? '}' : ']';
    } else if (!in_text && (c == '}' || c == ']')) {
      if (ends.empty() || ends.back() != c) return {};
      ends.pop_back();
    }
  }
  if (in_text && escape != start.npos) {
    const std::size_t whole = start.substr(escape + 1).starts_with('u') ? 6 : 2;
    if (start.size() - escape < whole) start = start.substr(0, escape);
  }
  std::string text(start);
  if (in_text) text += '"';
  return text.append(ends.rbegin(), ends.rend());
}

bool contains(std::string_view text, std::string_view part) noexcept {
  const auto equal = [](char a, char b) { return http::ascii_lower(a) == http::ascii_lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), equal) != text.end();
}

std::string text_of(const json_value& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return {};
  return value.dump(-1, ' ', false, json_value::error_handler_t::replace);
}

// How servers say that the conversation does not fit: most have no code of their own for it.
constexpr std::array<std::string_view, 8> too_long = {
    "prompt is too long",           "maximum context length",     "exceeds the available context size",
    "exceed context limit",         "exceeds the context window", "exceeds the model's context",
    "larger than the context size", "input is too long"};

constexpr std::array<std::string_view, 4> filtered = {"content filtering policy", "content management policy",
                                                      "content policy violation", "responsible ai"};

constexpr std::array<std::string_view, 4> load = {"model is overloaded", "engine is currently overloaded",
                                                  "currently overloaded", "experiencing high demand"};

}  // namespace

template <typename Object>
void error_words::take(const Object& object) {
  const auto text = [&object](const char* name, std::string& into) {
    if (const auto found = object.find(name); found != object.end() && into.empty()) into = text_of(found->second);
  };
  text("message", message);
  text("type", type);
  text("code", code);
  text("status", code);
  text("request_id", request_id);
  if (const auto inner = object.find("innererror"); inner != object.end() && inner->second.is_object()) {
    inner_code = text_of(inner->second.value("code", json_value()));
  }
}

template <typename Json>
void error_words::dig(const Json& from, int depth) {
  if (from.is_array()) {
    if (!from.empty() && depth < most_depth) dig(from.front(), depth + 1);
    return;
  }
  const auto* const object = from.template get_ptr<const json_value::object_t*>();
  if (object == nullptr) {
    if (from.is_string() && message.empty()) message = from.template get<std::string>();
    return;
  }
  for (const char* wrapper : {"error", "errors", "response"}) {
    const auto found = object->find(wrapper);
    if (found != object->end() && depth < most_depth) dig(found->second, depth + 1);
  }
  take(*object);
  // What the outer object calls itself is not what went wrong.
  if (type == "error" || type == "response.failed") type.clear();
  for (const char* name : {"detail", "title", "msg"}) {
    if (const auto found = object->find(name); found != object->end() && message.empty())
      message = text_of(found->second);
  }
}

error_words error_words::read(std::string_view body) {
  error_words words;
  body = body.substr(0, most_read);
  auto parsed = parse_json(body);
  if (!parsed) parsed = parse_json(closed(decoded_utf8(body)));
  if (parsed) words.dig(*parsed, 0);
  if (words.message.empty()) words.message = body;
  return words;
}

bool error_words::named(std::string_view part) const {
  return contains(code, part) || contains(type, part) || contains(inner_code, part);
}

bool error_words::says(std::string_view part) const { return contains(message, part); }

std::optional<errc> error_words::meaning(int status) const {
  const auto says_any = [this](const auto& parts) {
    return std::any_of(parts.begin(), parts.end(), [this](std::string_view part) { return says(part); });
  };
  if (named("insufficient_quota") || named("billing") || named("quota_exhausted") ||
      says("exceeded your current quota") || says("credit balance is too low")) {
    return errc::quota_exhausted;
  }
  if (status == 401 || status == 403) return std::nullopt;
  if (named("slow_down")) return errc::rate_limited;
  if (status == 429) return named("overloaded") || says_any(load) ? std::optional(errc::overloaded) : std::nullopt;

  if (named("context_length") || named("context_window") || named("exceed_context_size")) return errc::context_too_long;
  if (named("content_filter") || named("content_policy") || named("responsible") || named("moderation_blocked")) {
    return errc::content_filtered;
  }
  // Only of a request that was refused, or when nothing else is known: a message may quote anything.
  if (status < 500 || named("context")) {
    if (says_any(too_long)) return errc::context_too_long;
    if (says_any(filtered)) return errc::content_filtered;
  }
  if (named("rate_limit") || named("resource_exhausted")) return errc::rate_limited;
  if (named("overloaded")) return errc::overloaded;
  if (named("invalid_api_key") || named("authentication")) return errc::unauthorized;
  if (status != 0) return std::nullopt;

  if (named("unavailable")) return errc::overloaded;
  if (named("permission")) return errc::unauthorized;
  if (named("invalid_request") || named("not_found") || named("too_large") || named("invalid_prompt") ||
      named("invalid_image")) {
    return errc::provider_refused;
  }
  return std::nullopt;
}

}  // namespace sluice::llm
