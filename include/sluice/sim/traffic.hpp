/// \file
/// Traffic made from a seed: arrival processes, sizes, and whole traces of the shape of the recorded ones.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/sim/random.hpp>
#include <sluice/sim/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::sim {

/// Arrivals that know nothing of each other, at a rate that changes between states: a Markov-modulated Poisson process.
class arrival_process {
 public:
  /// One state: so many arrivals a second, for so long on average (exponentially distributed; `never` stays for good).
  struct state {
    double rate = 0;
    duration mean_stay = duration::max();
  };

  /// Goes through `states` in turn, for ever. Precondition: at least one; one of a positive rate.
  arrival_process(std::vector<state> states, std::uint64_t seed);

  /// Always the same rate.
  [[nodiscard]] static arrival_process poisson(double rate, std::uint64_t seed);
  /// Calm, then a burst, then calm again.
  [[nodiscard]] static arrival_process bursts(double calm_rate, duration calm, double burst_rate, duration burst,
                                              std::uint64_t seed);
  /// Traffic, then none at all.
  [[nodiscard]] static arrival_process on_off(double rate, duration on, duration off, std::uint64_t seed);

  /// The next arrival, later than the one before.
  [[nodiscard]] instant next();

 private:
  void enter(std::size_t which, instant when);

  std::vector<state> states_;
  random draw_;
  instant now_{};
  instant until_{};
  std::size_t current_ = 0;
};

/// A normally distributed number with mean 0 and variance 1.
[[nodiscard]] double standard_normal(random& draw) noexcept;

/// A whole number whose logarithm is normally distributed around that of `median`, held within `[least, most]`.
struct lognormal_size {
  double median = 1;
  double sigma = 0;
  std::int64_t least = 1;
  std::int64_t most = 1;
  [[nodiscard]] std::int64_t draw_from(random& draw) const noexcept;
};

/// A distribution given by its quantiles at equal distances (the first is the minimum, the last the maximum), straight
/// in between. Precondition: two at least, in order.
class quantile_size {
 public:
  explicit quantile_size(std::vector<std::int64_t> quantiles) : quantiles_(std::move(quantiles)) {}
  [[nodiscard]] std::int64_t draw_from(random& draw) const noexcept;

 private:
  std::vector<std::int64_t> quantiles_;
};

/// A trace of the shape of the replay files: 45 s of interactive work, six requests a second, prompts and `max_tokens`
/// spread lognormally (0.75) around 1,200 characters and 400 tokens; and 22.5 s of batch work from 15.75 s on, three a
/// second, each of 24,000 characters and 3,000 tokens. Outputs are lognormal (0.9) around 200 tokens, a token has 3.6
/// characters within 4 %, and waits draw a jitter from 0.5 to 1.5.
[[nodiscard]] std::vector<trace_request> replay_like(std::uint64_t seed);

/// `length` of a trace of the shape of the Azure files of 2023: chats in a steady stream (5.5 a second), code in bursts
/// (2.5 a second on average).
[[nodiscard]] std::vector<azure_row> azure_chats_like(duration length, std::uint64_t seed);
[[nodiscard]] std::vector<azure_row> azure_code_like(duration length, std::uint64_t seed);

}  // namespace sluice::sim
