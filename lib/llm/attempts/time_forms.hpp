/// \file
/// The forms in which servers write lengths of time and dates. What has none of them is nothing; nothing here reads a
/// clock.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace sluice::llm {

/// Longer waits than this are all the same to anybody: lengths are held at it.
inline constexpr duration longest_wait = std::chrono::hours(24 * 3'650);

/// A date of the civil calendar, UTC.
using civil_time = std::chrono::sys_time<std::chrono::milliseconds>;

/// A decimal number with an optional fraction, in units of `unit`: `2`, `0.5`, `.25`.
[[nodiscard]] std::optional<duration> read_number(std::string_view text, duration unit);

/// Numbers with their units, added up: `1s`, `6m0s`, `20ms`, `1h2m3s`, `17.5s`, `1d`.
[[nodiscard]] std::optional<duration> read_length(std::string_view text);

/// A date as HTTP has it, in any of its three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`,
/// `Sun Nov  6 08:49:37 1994`.
[[nodiscard]] std::optional<civil_time> read_http_date(std::string_view text);

/// An instant as RFC 3339 has it: `2024-05-01T12:00:00Z`, with a fraction, with an offset (`+02:00`).
[[nodiscard]] std::optional<civil_time> read_rfc3339(std::string_view text);

/// Seconds or milliseconds since 1970, when the number is too large to be anything else.
[[nodiscard]] std::optional<civil_time> read_epoch(std::string_view text);

/// How long it is from `from` to `to`; zero when that has passed.
[[nodiscard]] duration between(civil_time from, civil_time to) noexcept;

}  // namespace sluice::llm
