// Any bytes as headers: no crash, no overflow, nothing negative, and never longer than the longest wait.
#include "llm/attempts/rate_headers.hpp"
#include "llm/attempts/retry_after.hpp"
#include "llm/attempts/time_forms.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sluice::duration;
using sluice::llm::longest_wait;

void check(duration length) {
  if (length < duration::zero() || length > longest_wait) std::abort();
}

void check(const sluice::provider_limit& limit) {
  if (limit.per_minute < 0 || limit.remaining < 0) std::abort();
  if (limit.reset != duration(-1)) check(limit.reset);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  // Lines of `name: value`, and each value as every header that is looked at.
  std::vector<sluice::http::header> headers;
  std::string_view rest = text;
  while (!rest.empty() && headers.size() < 64) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string value(line.substr(std::min(colon + 1, line.size())));
    headers.emplace_back(std::string(line.substr(0, colon)), value);
    const std::vector<sluice::http::header> both = {{"date", "Wed, 01 May 2024 12:00:00 GMT"},
                                                    {"retry-after", value},
                                                    {"x-ratelimit-limit-tokens", value},
                                                    {"anthropic-ratelimit-tokens-remaining", value},
                                                    {"x-ratelimit-reset-tokens", value}};
    if (const auto wait = sluice::llm::retry_after(both)) check(*wait);
    if (const auto said = sluice::llm::rate_limits_of(both)) check(said->tokens);
    if (const auto length = sluice::llm::read_length(value)) check(*length);
    const auto from = sluice::llm::read_http_date(value);
    const auto to = sluice::llm::read_rfc3339(value);
    const auto epoch = sluice::llm::read_epoch(value);
    for (const auto& when : {from, to, epoch}) {
      if (when) check(sluice::llm::between(*when, sluice::llm::civil_time()));
      if (when) check(sluice::llm::between(sluice::llm::civil_time(), *when));
    }
  }
  if (const auto wait = sluice::llm::retry_after(headers)) check(*wait);
  if (const auto said = sluice::llm::rate_limits_of(headers)) {
    for (const auto& axis : {said->requests, said->input_tokens, said->output_tokens, said->tokens}) check(axis);
  }
  return 0;
}
