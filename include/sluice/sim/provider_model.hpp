/// \file
/// `sim::provider_model`: how fast a provider works, and how much it takes on.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sluice::sim {

/// A provider whose throughput falls off with load: `slots` requests run at once, `queue` more wait, the next one is
/// answered with 429. With n running, each gets `rate * speedup(n) / n` tokens a second, where
/// `speedup(n) = n / (1 + sigma (n-1) + kappa n (n-1))`. Whoever holds a slot counts in n, from start to end.
struct provider_model {
  /// Requests that run at once; at least 1.
  std::int64_t slots = 32;
  /// Requests that wait for a slot, first come first served; more are answered with 429.
  std::int64_t queue = 8;
  /// Contention: what each other running request costs. Zero is a provider that scales perfectly.
  double sigma = 0.25;
  /// Coherence: what each pair of running requests costs.
  double kappa = 0;
  /// Prompt tokens a second when alone.
  double prompt_rate = 4000;
  /// Output tokens a second when alone.
  double output_rate = 400;
  /// From getting a slot to the start of the prompt; not stretched by load.
  duration latency = std::chrono::milliseconds(40);
  /// How many times faster than real time all of the above runs, where a mock provider plays it in real time.
  double time_scale = 1;

  /// A streamed token becomes visible when it is produced; those that follow each other within this much of real time
  /// share an event.
  duration chunk_gap = std::chrono::milliseconds(5);
  /// When positive: so many tokens share an event, whatever their distance.
  std::int64_t chunk_tokens = 0;

  /// What the provider's 429s ask for in `retry-after`, in real time; written with a fraction when it is no whole
  /// number of seconds.
  duration retry_after = std::chrono::seconds(1);
  /// What `x-ratelimit-limit-requests` and `x-ratelimit-limit-tokens` say, as of a minute. Only the headers speak of
  /// them: nothing is refused because of them. While slots and queue are full, no requests are said to remain.
  std::int64_t limit_requests = 1'000'000;
  std::int64_t limit_tokens = 2'000'000;

  /// No delays at all: every request is answered on arrival, a streamed one with an event for each token.
  [[nodiscard]] static constexpr provider_model instant() noexcept {
    provider_model model;
    model.slots = 1'000'000;
    model.limit_requests = 1'000'000'000;
    model.queue = 0;
    model.sigma = 0;
    model.prompt_rate = model.output_rate = std::numeric_limits<double>::infinity();
    model.latency = duration::zero();
    model.chunk_tokens = 1;
    return model;
  }

  /// Throughput with `running` requests, in multiples of what one alone gets.
  [[nodiscard]] constexpr double speedup(std::int64_t running) const noexcept {
    const auto n = static_cast<double>(running);
    return n / (1 + sigma * (n - 1) + kappa * n * (n - 1));
  }

  /// What each of `running` requests gets, in multiples of what one alone gets.
  [[nodiscard]] constexpr double share(std::int64_t running) const noexcept {
    return running <= 1 ? 1 : speedup(running) / static_cast<double>(running);
  }
};

static_assert(std::is_trivially_destructible_v<provider_model>);

}  // namespace sluice::sim
