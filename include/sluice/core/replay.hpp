/// \file
/// `core::replay`: puts the events of a log to a new machine, and holds its effects against the logged ones.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/event.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::core {

/// The first thing that is otherwise.
struct replay_difference {
  /// The event's number, from 0, its instant, and its name.
  std::uint64_t event = 0;
  instant at{};
  std::string name;
  /// What the event gave, and its effects, in words: then, and now.
  std::string logged;
  std::string replayed;

  /// All of it as one line.
  [[nodiscard]] std::string explain() const;
};

struct replay_result {
  /// How many events were put to the machine, the one that differs included.
  std::uint64_t events = 0;
  /// Nothing when all effects were the same in every number.
  std::optional<replay_difference> difference;
};

/// Replays a whole log, up to the first difference.
/// Errors: as `event_log_reader`; `errc::invalid_argument` also for a log that does not begin with the machine.
/// Complexity: that of the events.
[[nodiscard]] expected<replay_result, error> replay(std::string_view log);

}  // namespace sluice::core
