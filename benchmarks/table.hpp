/// \file
/// The bars: each pairs a measurement of sluice with one of its reference, and a ratio to hold.
#pragma once

#include <string>
#include <vector>

namespace bars {

/// Makes one measurement, with all that it needs set up anew, and gives it in the bar's unit.
using measurement = double (*)();

/// For `bar::most`: the ratio is shown, and held to nothing.
inline constexpr double report_only = 0;

struct bar {
  const char* name;
  const char* unit;
  measurement ours;
  /// Null for a figure that is reported alone.
  measurement reference;
  /// The greatest ratio of the medians that is still good.
  double most;
  /// How often the pair is measured, in turn.
  int repetitions;
};

// The rooms of the table, in its order.
[[nodiscard]] std::vector<bar> uncontended_bars();
[[nodiscard]] std::vector<bar> contended_bars();
[[nodiscard]] std::vector<bar> waiting_bars();
[[nodiscard]] std::vector<bar> exchange_bars();
[[nodiscard]] std::vector<bar> core_bars();
[[nodiscard]] std::vector<bar> full_core_bars();
[[nodiscard]] std::vector<bar> event_bars();
[[nodiscard]] std::vector<bar> stream_bars();
[[nodiscard]] std::vector<bar> npm_bars();
[[nodiscard]] std::vector<bar> agent_bars();

/// Processor time of one `chat()`, 32 at once, in microseconds.
[[nodiscard]] double chat_at_32();

}  // namespace bars
