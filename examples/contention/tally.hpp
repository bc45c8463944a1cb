/// \file
/// `tally`: what is measured of one class of work in one arm.
#pragma once

#include <sluice/llm/failure.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace contention {

/// The q-quantile (0 to 1) by nearest rank: the smallest value that at least that share does not exceed. Zero for none.
[[nodiscard]] double percentile(std::vector<double> values, double q);

/// A plain value. A "piece of work" is a chat, or a whole run of an agent; an attempt is one call to the model.
class tally {
 public:
  tally() = default;

  /// Pieces of work. Each that started has succeeded or failed in the end.
  std::int64_t started = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  /// Seconds from a piece's arrival to its end, and to its first token where it is streamed; of those that succeeded.
  std::vector<double> latencies;
  std::vector<double> first_tokens;

  /// Attempts that the provider answered with 429, and those that were turned away on our side.
  std::int64_t too_many = 0;
  std::int64_t refused = 0;
  /// Tokens of answers that broke off: paid for, and of no use to anybody.
  std::int64_t broken_tokens = 0;
  /// Why pieces failed in the end: the last attempt's reason, and how often.
  std::map<std::string, std::int64_t> failures;

  /// Takes note of an attempt that failed.
  void attempt_failed(const sluice::llm::failure& why);
  /// Takes note of the end of a piece of work.
  void piece_succeeded(double latency);
  void piece_failed(const sluice::llm::failure& why);

  /// Of all that started; 1 when nothing did.
  [[nodiscard]] double success() const;
};

}  // namespace contention
