/// \file
/// `options`: what the command line says.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/dialect.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace contention {

/// The settings of one run. Seconds are real time.
struct options {
  /// How long chats arrive, and agents start new runs, in each arm; what has been started is then finished.
  double seconds = 20;
  std::uint64_t seed = 1;
  /// Chats a second, and batch agents at work at once, when no trace says otherwise.
  double chats_per_second = 5;
  int agents = 36;
  /// Slots of the plain limit.
  std::int64_t limit = 32;
  /// Empty: the policy of `sluice_policy()`.
  std::string policy_file;
  /// Empty: a provider of our own, on loopback.
  std::string provider_url;
  std::string model = "mock-model";
  /// What the provider speaks; the one of our own speaks all.
  sluice::llm::dialect dialect = sluice::llm::dialect::openai_chat;
  std::string interactive_trace;
  std::string batch_trace;
  /// How many times faster than recorded a trace is played.
  double speed = 1;
  std::vector<std::string> arms;
  /// The fault drill: the provider dies so many seconds into each arm.
  std::optional<double> kill_after;
  bool quiet = false;
};

/// Why there are no options: what to print, and the exit code that goes with it.
struct usage_stop {
  int exit_code = 2;
  /// One line for an error; the whole text for `--help`.
  std::string text;
};

[[nodiscard]] sluice::expected<options, usage_stop> read_options(int argc, const char* const* argv);

}  // namespace contention
