/// \file
/// `sim::decision_log`: what an arm decided in a trial, line by line, to compare runs byte for byte.
#pragma once

#include <sluice/core/decision.hpp>
#include <sluice/core/time.hpp>

#include <cstdint>
#include <string>

namespace sluice::sim {

/// One line a decision, for instance `12500000000 start 17`: the instant in nanoseconds, what was decided, the request's
/// number in order of arrival, and the reason of a refusal.
///
/// Complexity: O(1) a line; without the text, memory does not grow.
/// Thread safety: none; one thread at a time.
class decision_log {
 public:
  /// Without the text, only the lines' number and digest are kept.
  explicit decision_log(bool keep_text = true) noexcept : keep_text_(keep_text) {}

  /// `what` is a word without blanks.
  void note(instant when, const char* what, std::uint64_t number, reason why = reason::none);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  /// Of all lines so far; equal logs have equal digests, and others hardly ever.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

 private:
  bool keep_text_;
  std::string text_;
  std::uint64_t lines_ = 0;
  std::uint64_t digest_ = 0xcbf29ce484222325;
};

}  // namespace sluice::sim
