#include "llm/attempts/rate_headers.hpp"

#include "http/ascii.hpp"
#include "llm/attempts/header_value.hpp"
#include "llm/attempts/time_forms.hpp"
#include "llm/trimmed.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace sluice::llm {

namespace {

constexpr std::string_view common = "x-ratelimit-";
constexpr std::string_view anthropic = "anthropic-ratelimit-";

bool take_prefix(std::string_view& text, std::string_view prefix) noexcept {
  if (!http::equal_ignoring_case(text.substr(0, prefix.size()), prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_suffix(std::string_view& text, std::string_view suffix) noexcept {
  if (text.size() < suffix.size()) return false;
  if (!http::equal_ignoring_case(text.substr(text.size() - suffix.size()), suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

enum class figure : std::uint8_t { none, limit, remaining, reset };

// Takes the figure's name off: it stands first with the one family, and last with the other, whose windows are minutes.
figure take_figure(std::string_view& name, bool& of_minutes) noexcept {
  if (take_prefix(name, common)) {
    if (take_prefix(name, "limit-")) return figure::limit;
    if (take_prefix(name, "remaining-")) return figure::remaining;
    if (take_prefix(name, "reset-")) return figure::reset;
  } else if (take_prefix(name, anthropic)) {
    of_minutes = true;
    if (take_suffix(name, "-limit")) return figure::limit;
    if (take_suffix(name, "-remaining")) return figure::remaining;
    if (take_suffix(name, "-reset")) return figure::reset;
  }
  return figure::none;
}

provider_limit* axis_named(std::string_view name, provider_limits& of) noexcept {
  if (http::equal_ignoring_case(name, "requests")) return &of.requests;
  if (http::equal_ignoring_case(name, "tokens")) return &of.tokens;
  if (http::equal_ignoring_case(name, "input-tokens")) return &of.input_tokens;
  if (http::equal_ignoring_case(name, "output-tokens")) return &of.output_tokens;
  return nullptr;
}

std::optional<std::int64_t> count(std::string_view text) noexcept {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<duration> reset(std::string_view text, const std::vector<http::header>& headers) {
  auto until = read_epoch(text);
  if (!until) {
    if (auto wait = read_number(text, std::chrono::seconds(1))) return wait;
    if (auto wait = read_length(text)) return wait;
    until = read_rfc3339(text);
    if (!until) until = read_http_date(text);
  }
  if (!until) return std::nullopt;
  const auto now = read_http_date(trimmed(header_value(headers, "date")));
  if (!now) return std::nullopt;
  return between(*now, *until);
}

constexpr duration minute = std::chrono::seconds(60);
// Resets are rounded, and `date` is whole seconds.
constexpr duration slack = std::chrono::seconds(5);
constexpr duration rounding = std::chrono::milliseconds(1'500);
// What is there again so many times sooner than a minute's rate would have it is not of a minute.
constexpr std::int64_t sooner = 4;

// The limit as one of a minute; see the header.
void take_window(provider_limit& axis) noexcept {
  const bool all_said = axis.per_minute != unlimited && axis.remaining != unlimited && axis.reset >= duration::zero();
  if (!all_said) return;
  if (axis.reset > minute + slack) {
    axis = provider_limit{};
    return;
  }
  if (axis.remaining >= axis.per_minute || axis.per_minute <= 0) return;
  const double taken = static_cast<double>(axis.per_minute - axis.remaining) / static_cast<double>(axis.per_minute);
  const auto expected = duration(static_cast<duration::rep>(taken * static_cast<double>(minute.count())));
  const bool is_whole = axis.reset % std::chrono::seconds(1) == duration::zero();
  if (axis.reset >= expected / sooner || (is_whole && expected - axis.reset <= rounding)) return;
  // More than any provider lets through.
  constexpr double most = static_cast<double>(std::int64_t{1} << 40);
  const double until = static_cast<double>(std::max<duration::rep>(axis.reset.count(), 1));
  const double in_a_minute = static_cast<double>(axis.per_minute) * (static_cast<double>(minute.count()) / until);
  axis.per_minute = static_cast<std::int64_t>(std::min(in_a_minute, most));
}

}  // namespace

std::optional<provider_limits> rate_limits_of(const std::vector<http::header>& headers) {
  provider_limits said;
  bool any = false;
  bool of_minutes = false;
  for (const http::header& line : headers) {
    std::string_view name = line.name();
    const figure what = take_figure(name, of_minutes);
    if (what == figure::none) continue;
    provider_limit* const axis = axis_named(name, said);
    if (axis == nullptr) continue;
    const std::string_view text = trimmed(line.value());
    if (what == figure::reset) {
      const auto length = reset(text, headers);
      if (length) axis->reset = *length;
      any = any || length;
    } else if (const auto value = count(text)) {
      (what == figure::limit ? axis->per_minute : axis->remaining) = *value;
      any = true;
    }
  }
  if (!any) return std::nullopt;
  if (of_minutes) return said;
  for (provider_limit* axis : {&said.requests, &said.input_tokens, &said.output_tokens, &said.tokens}) {
    take_window(*axis);
  }
  if (said == provider_limits{}) return std::nullopt;
  return said;
}

}  // namespace sluice::llm
