/// \file
/// `provider_health`: whether to ask a provider, by what was seen of it.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/router.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::llm::detail {

/// What a call has shown about its provider.
enum class evidence : std::uint8_t {
  /// It answers; also when it says that the request is wrong.
  answers,
  /// It does not.
  fails,
  /// It will not, as long as nobody mends the account.
  refuses_all,
  /// Nothing: the call did not get so far, or was not given the time.
  none,
};

/// `worked`: for how long the call had been with the provider.
[[nodiscard]] evidence evidence_of(const failure& why, duration worked, const health_policy& rules) noexcept;

/// A call that goes to a provider.
struct visit {
  instant begun{};
  /// It is the one that tries the provider after a rest.
  bool trial = false;
};

/// A circuit breaker. Reads no clock, draws nothing: the same calls give the same states.
class provider_health {
 public:
  explicit provider_health(const health_policy& rules) noexcept : rules_(rules) {}

  /// Whether a call may go to it now.
  [[nodiscard]] bool available(instant now) const noexcept;
  /// A call goes to it, whether it is available or not. Each is followed by one `saw`.
  [[nodiscard]] visit begin(instant now) noexcept;
  /// What came of a call. `draw`, in [0, 1), lengthens a rest; `asked_for`: how long the provider wants to be left
  /// alone. Whether it is sent to rest.
  bool saw(const visit& of, evidence what, instant now, double draw, duration asked_for = duration::zero()) noexcept;

  [[nodiscard]] provider_state state(instant now) const noexcept;
  /// When its rest ends; in the past unless it is `open`.
  [[nodiscard]] instant rests_until() const noexcept { return rests_until_; }

 private:
  /// The window moves on by a tenth of itself.
  static constexpr std::size_t parts = 10;
  struct tally {
    std::int64_t number = -1;
    std::int64_t calls = 0;
    std::int64_t failed = 0;
  };

  void count(bool failed, instant now) noexcept;
  [[nodiscard]] bool too_many(instant now) const noexcept;
  [[nodiscard]] std::int64_t part_of(instant now) const noexcept;
  void rest(instant now, double draw, duration at_least) noexcept;

  health_policy rules_;
  /// From the start of a rest until a call that was begun after it is answered.
  bool on_trial_ = false;
  bool trial_runs_ = false;
  instant rested_at_{};
  instant rests_until_{};
  int in_a_row_ = 0;
  int rests_in_a_row_ = 0;
  std::array<tally, parts> seen_{};
};

}  // namespace sluice::llm::detail
