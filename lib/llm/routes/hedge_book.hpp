/// \file
/// `hedge_book`: what a hedge has learned and counted.
#pragma once

#include "llm/routes/latency_quantile.hpp"

#include <sluice/llm/hedge.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::llm::detail {

/// Thread safety: all members may be called from any thread.
class hedge_book {
 public:
  explicit hedge_book(const hedge_options& options) noexcept : options_(options) {}

  [[nodiscard]] std::optional<duration> delay(std::string_view model, bool streamed) const;
  /// How long a first attempt took, or at least took.
  void learn(const std::string& model, bool streamed, duration took);
  void count(const hedge_statistics& more);
  [[nodiscard]] hedge_statistics statistics() const;

 private:
  /// Models come from requests: their number must not grow without a bound.
  static constexpr std::size_t most_models = 256;

  struct latencies {
    latency_quantile whole;
    latency_quantile first_event;
  };

  const hedge_options options_;
  mutable std::mutex mutex_;
  std::map<std::string, latencies, std::less<>> models_;
  hedge_statistics counts_;
};

}  // namespace sluice::llm::detail
