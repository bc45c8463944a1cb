/// \file
/// `load`: what arrives, and how large it is. The same seed or traces give every arm the same load.
#pragma once

#include "options.hpp"

#include <sluice/core/expected.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace contention {

/// One chat, or one run of an agent.
struct job {
  /// Seconds after the arm's start.
  double at = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
};

/// The load of one arm.
class load {
 public:
  load() = default;

  /// In order of arrival.
  std::vector<job> chats;
  /// Runs of agents that arrive, from a trace. Without one they are empty, and `agents` work without pause instead.
  std::vector<job> runs;
  int agents = 0;
  std::uint64_t seed = 1;

  /// The size of an agent's n-th run, and, for its first, when the agent begins. Depends on the seed and the two
  /// numbers alone.
  [[nodiscard]] job next_run(int agent, int n) const;
};

/// The load that the options ask for. Errors: one line, about a trace.
[[nodiscard]] sluice::expected<load, std::string> make_load(const options& asked);

}  // namespace contention
