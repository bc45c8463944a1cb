/// \file
/// `mock_stats`: what a mock provider really did. Tests take the truth from it.
#pragma once

#include <cstdint>
#include <map>

namespace sluice::testing {

/// Counts since the provider's start, and what is the case now. A consistent snapshot.
///
/// An exchange is a request for an answer that was taken on: it got a slot or waits for one. It ends by being served,
/// by being cancelled, by a fault, or by the provider's stop.
struct mock_stats {
  /// Requests of any kind that arrived whole.
  std::int64_t received = 0;
  /// Answers begun, by status.
  std::map<int, std::int64_t> answers;
  /// Exchanges whose last byte was handed to the operating system.
  std::int64_t served = 0;
  /// Exchanges that the client left before their end.
  std::int64_t cancelled = 0;
  /// Requests answered with 429 because slots and queue were full; those by a fault are not among them.
  std::int64_t refused = 0;
  /// Requests that a fault was put on, of any kind.
  std::int64_t faults = 0;

  /// Exchanges that have not ended, and the most there were at once.
  std::int64_t open = 0;
  std::int64_t most_open = 0;
  /// Those of them that asked for a stream.
  std::int64_t streams = 0;
  std::int64_t most_streams = 0;
  /// Those of them that hold a slot.
  std::int64_t running = 0;
  std::int64_t most_running = 0;
  /// Those of them that wait for one.
  std::int64_t waiting = 0;
  std::int64_t most_waiting = 0;
  /// Connections open now, the most at once, and all that were ever opened.
  std::int64_t connections = 0;
  std::int64_t most_connections = 0;
  std::int64_t connections_opened = 0;

  /// Prompt tokens really processed and output tokens really produced, for whomever.
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  /// The part of them that went to exchanges which were cancelled.
  std::int64_t wasted_input_tokens = 0;
  std::int64_t wasted_output_tokens = 0;

  /// Requests that carried an authorization (`authorization`, `api-key` or `x-api-key`), whatever it was.
  std::int64_t authorized = 0;

  /// Answers of one status.
  [[nodiscard]] std::int64_t answered(int status) const {
    const auto found = answers.find(status);
    return found == answers.end() ? 0 : found->second;
  }
};

}  // namespace sluice::testing
