/// \file
/// What the provider said about its limits, held beside what the policy says about them.
#pragma once

#include "core/rate_cell.hpp"

#include <sluice/core/provider_limits.hpp>
#include <sluice/core/rate.hpp>
#include <sluice/core/time.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// On each axis there is a cell as soon as the provider has said its limit and what remains of it: the limit is its
/// rate and its burst, and each report brings what is there down to what remains, never up, since what was started
/// since is not in that figure. Where it says what remains, and when all of it is there again, but no limit, no more
/// than that starts before then. Where it says only what remains, the policy's rate is the cell's.
///
/// Nothing is refused for good by this: what is larger than a limit goes when all of it is there. A limit that has not
/// been confirmed for ten minutes is forgotten. What the provider has counted itself is not given back.
///
/// Preconditions: amounts are not negative, and no instant is earlier than a former one. All O(1), nothing allocated.
class reported_limits {
 public:
  static constexpr duration memory = std::chrono::minutes(10);

  /// The policy's rates.
  void configure(const rate_limits& own) noexcept {
    own_ = {own.requests, own.input_tokens, own.output_tokens, rate{}};
  }
  /// Negative amounts count as zero, limits below one as not said, and a time beyond ten minutes as that.
  void report(const provider_limits& said, instant now) noexcept;

  /// Whether there may be anything. Without it all the rest does nothing.
  [[nodiscard]] bool any() const noexcept { return any_; }

  /// The first axis that does not let the charge through now.
  [[nodiscard]] rate_axis first_short(const rate_charge& asked, instant now) const noexcept;
  /// When all do, if nothing else is charged and no more is said.
  [[nodiscard]] instant earliest(const rate_charge& asked, instant now) const noexcept;
  void take(const rate_charge& asked, instant now) noexcept;
  /// What was charged as `reserved` at `since` has turned out to be `used`. One burst more than was reserved is charged
  /// at most. No request is given back.
  void correct(const rate_charge& reserved, const rate_charge& used, instant since, instant now) noexcept;

  /// How much there is now, and of how much; both `unlimited` where nothing is known.
  [[nodiscard]] std::int64_t available(rate_axis which, instant now) const noexcept;
  [[nodiscard]] std::int64_t limit(rate_axis which, instant now) const noexcept;

 private:
  struct axis {
    rate_cell cell;
    instant confirmed = instant::min();
    /// What may still start before `until`, of what was said to remain.
    std::int64_t left = 0;
    std::int64_t said = 0;
    instant until = instant::min();
    /// When the provider's figure was last lower than what was there.
    instant told = instant::min();

    [[nodiscard]] instant forgotten() const noexcept { return after(confirmed, memory); }
    [[nodiscard]] bool held(instant now) const noexcept { return cell.limited() && now < forgotten(); }
    [[nodiscard]] bool metered(instant now) const noexcept { return now < until; }
    [[nodiscard]] bool lets_through(std::int64_t amount, instant now) const noexcept;
    [[nodiscard]] instant earliest(std::int64_t amount, instant now) const noexcept;
    [[nodiscard]] std::int64_t available(instant now) const noexcept;
    void report(const provider_limit& said_now, const rate& own, instant now) noexcept;
    void take(std::int64_t amount, instant now) noexcept;
    void correct(std::int64_t reserved, std::int64_t used, instant since, instant now) noexcept;
  };
  using amounts = std::array<std::int64_t, 4>;
  [[nodiscard]] static amounts amounts_of(const rate_charge& asked) noexcept {
    return {asked.requests, asked.input, asked.output, asked.input + asked.output};
  }
  [[nodiscard]] const axis& at(rate_axis which) const noexcept { return axes_[static_cast<std::size_t>(which) - 1]; }

  std::array<axis, 4> axes_;
  std::array<rate, 4> own_{};
  bool any_ = false;
};

}  // namespace sluice::core
