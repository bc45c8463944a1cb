#include <sluice/llm/client_options.hpp>

#include "http/ascii.hpp"
#include "llm/base_url.hpp"

#include <string_view>

namespace sluice::llm {

namespace {

unexpected<error> wrong(std::string what) {
  return unexpected<error>(error(errc::invalid_configuration, std::move(what)));
}

bool is_header_value(std::string_view text) noexcept {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7F) return false;
  }
  return true;
}

}  // namespace

client_options::client_options(llm::dialect which, std::string url, std::string key)
    : spoken(which),
      base_url(std::move(url)),
      api_key(std::move(key)),
      key_as(which == llm::dialect::anthropic_messages ? key_header::x_api_key : key_header::bearer) {}

expected<void, error> validate(const client_options& checked) {
  if (auto url = check_base_url(checked.base_url); !url) return url;
  if (!is_header_value(checked.api_key)) return wrong("api_key holds a line break or another control character");
  for (const http::header& line : checked.headers) {
    if (!http::is_token(line.name())) return wrong("headers: a name is empty or holds what no header's name may");
    if (!is_header_value(line.value())) return wrong("headers: the value of " + line.name() + " holds a control character");
  }
  if (!checked.estimator) return wrong("estimator is empty");
  if (checked.max_event == 0) return wrong("max_event is 0; must be positive");
  if (checked.max_body == 0) return wrong("max_body is 0; must be positive");
  if (checked.reconcile_every <= 0) {
    return wrong("reconcile_every = " + std::to_string(checked.reconcile_every) + "; must be positive");
  }
  if (checked.default_max_tokens <= 0) {
    return wrong("default_max_tokens = " + std::to_string(checked.default_max_tokens) + "; must be positive");
  }
  if (!is_header_value(checked.anthropic_version)) return wrong("anthropic_version holds a control character");
  return validate(checked.retry);
}

}  // namespace sluice::llm
