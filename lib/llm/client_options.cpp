#include <sluice/llm/client_options.hpp>

#include "http/ascii.hpp"
#include "llm/base_url.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

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

expected<void, error> check_share(const char* field, double value) {
  if (value > 0 && value <= 1) return {};
  return wrong(std::string(field) + " = " + std::to_string(value) + "; must be above 0 and at most 1");
}

expected<void, error> check_prices(const character_estimator& checked) {
  const std::pair<const char*, std::int64_t> amounts[] = {{"tokens_per_message", checked.tokens_per_message},
                                                          {"default_output_tokens", checked.default_output_tokens},
                                                          {"image_tokens", checked.image_tokens},
                                                          {"file_tokens", checked.file_tokens},
                                                          {"reasoning_tokens", checked.reasoning_tokens}};
  for (const auto& [field, value] : amounts) {
    if (value < 0)
      return wrong(std::string("estimator.") + field + " = " + std::to_string(value) + "; must not be negative");
  }
  if (!checked.ratios) return {};
  const text_ratios& by = *checked.ratios;
  const std::pair<const char*, double> ratios[] = {
      {"prose", by.prose},     {"code", by.code},         {"json", by.json},
      {"numbers", by.numbers}, {"accented", by.accented}, {"cyrillic", by.cyrillic},
      {"cjk", by.cjk},         {"other", by.other},       {"emoji", by.emoji}};
  for (const auto& [field, value] : ratios) {
    if (value >= 0.01 && value <= 1'000) continue;
    return wrong(std::string("estimator.ratios.") + field + " = " + std::to_string(value) +
                 "; must be from 0.01 to 1000");
  }
  return {};
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
    for (const char* const own : {"authorization", "api-key", "x-api-key"}) {
      if (!checked.api_key.empty() && http::equal_ignoring_case(line.name(), own)) {
        return wrong(std::string("headers: ") + own + " is sent beside api_key; one of them is enough (key_as)");
      }
    }
    for (const char* const own : {"content-length", "transfer-encoding", "content-type"}) {
      if (http::equal_ignoring_case(line.name(), own)) {
        return wrong(std::string("headers: ") + own + " cannot be replaced");
      }
    }
    if (!is_header_value(line.value()))
      return wrong("headers: the value of " + line.name() + " holds a control character");
  }
  if (!checked.estimator) return wrong("estimator is empty");
  if (checked.max_event == 0) return wrong("max_event is 0; must be positive");
  if (checked.max_body == 0) return wrong("max_body is 0; must be positive");
  if (checked.unread < duration::zero()) return wrong("unread is negative; must be positive, or zero for no limit");
  if (checked.reconcile_every <= 0) {
    return wrong("reconcile_every = " + std::to_string(checked.reconcile_every) + "; must be positive");
  }
  if (checked.default_max_tokens <= 0) {
    return wrong("default_max_tokens = " + std::to_string(checked.default_max_tokens) + "; must be positive");
  }
  if (auto share = check_share("unlimited_output_quantile", checked.unlimited_output_quantile); !share) return share;
  if (checked.output_quantile) {
    if (auto share = check_share("output_quantile", *checked.output_quantile); !share) return share;
  }
  if (const auto* const built_in = checked.estimator.target<character_estimator>()) {
    if (auto prices = check_prices(*built_in); !prices) return prices;
  }
  if (!is_header_value(checked.anthropic_version)) return wrong("anthropic_version holds a control character");
  return validate(checked.retry);
}

}  // namespace sluice::llm
