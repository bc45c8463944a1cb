/// \file
/// What the reference model knows of one piece of work, and what it says about it.
#pragma once

#include <sluice/core/admission.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>

namespace sluice::core::testing {

/// One effect as far as it matters: who, what and why.
struct seen_effect {
  effect::kind what{};
  std::uint64_t tag = 0;
  sluice::reason why = reason::none;
  constraint bound = constraint::none;
  std::uint64_t revision = 0;
  std::size_t ahead = 0;
  std::int64_t ahead_tokens = 0;
  duration waited{};
  friend bool operator==(const seen_effect&, const seen_effect&) = default;

  friend std::ostream& operator<<(std::ostream& to, const seen_effect& one) {
    constexpr const char* names[] = {"granted", "rejected", "preempt", "wake", "threshold", "stop"};
    to << names[static_cast<std::size_t>(one.what)] << ' ' << one.tag;
    if (one.what != effect::kind::rejected) return to;
    return to << ' ' << to_string(one.why) << '/' << to_string(one.bound) << " (revision " << one.revision << ", ahead "
              << one.ahead << " with " << one.ahead_tokens << ", waited " << one.waited.count() << ')';
  }
};

/// A run has spent or set aside so much of its budget.
struct seen_threshold {
  std::uint64_t tag = 0;
  std::uint32_t percent = 0;
  friend bool operator==(const seen_threshold&, const seen_threshold&) = default;
};

/// One piece of work, from its arrival to its end.
struct piece {
  request asked;
  /// What it counts for: what was asked, or nothing when it only runs because the policy observes.
  cost size{};
  std::uint64_t sequence = 0;
  instant arrived{};
  int preemptions = 0;
  std::size_t tenant = 0;
  std::optional<std::size_t> run;
  std::int64_t money = 0;
  /// The age of its root run, or its own; and whether its task had started something, and had nothing under way, when
  /// it came.
  std::uint64_t own_rank = 0;
  bool goes_on = false;
  /// Its place: the same at first. Another one of its root run may have the run's turn; who takes a place behind all
  /// later on has a number among those who did.
  std::uint64_t rank = 0;
  bool continuing = false;
  bool behind = false;
  std::uint64_t turn = 0;
  /// It is too late for its class's promise, and lets others of its tenant pass.
  bool late = false;
  bool paid = false;
  /// The run that it waits for to be able to pay.
  std::optional<std::size_t> parked_at;
  bool observed = false;
  /// It waits to be tried again.
  bool repeats = false;
  /// What it was expected to cost when its class was put in that order.
  std::uint64_t expected_cost = 0;

  // While it holds something.
  std::int64_t hold = 0;
  usage used{};
  instant since{};
  std::uint64_t number = 0;
  std::uint64_t revision = 0;
  std::int64_t first_token_microseconds = 0;
  std::int64_t beside = 0;
  bool stoppable = false;
  bool stopping = false;

  [[nodiscard]] std::size_t workload() const { return asked.workload.index(); }
  [[nodiscard]] capacity part() const { return {size.slots, size.tokens}; }
  [[nodiscard]] std::int64_t input() const { return size.tokens - size.output_tokens; }
  [[nodiscard]] spending price() const { return {.tokens = size.tokens, .calls = 1, .money = money}; }
};

}  // namespace sluice::core::testing
