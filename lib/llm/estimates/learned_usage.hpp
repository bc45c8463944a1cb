/// \file
/// `learned_usage`: what the provider's reports have taught about estimates.
#pragma once

#include "core/length_histogram.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace sluice::llm::detail {

/// How far estimates of the input are off, by model, and how long answers are, by kind of request. Keys are numbers of
/// the caller's; of each sort at most `most_keys` are remembered, and a new one takes the place of the one that was not
/// heard of for longest.
///
/// Thread safety: all members may be called from any thread.
/// Complexity: O(keys), which are few as a rule; no allocation but for a new key.
class learned_usage {
 public:
  static constexpr std::size_t most_keys = 128;
  /// Fewer samples teach nothing.
  static constexpr int least_inputs = 8;
  static constexpr int least_outputs = 20;
  /// A correction lies between `1 / most_correction` and this; a report further off than `most_credible` is not
  /// believed.
  static constexpr double most_correction = 2;
  static constexpr double most_credible = 8;

  /// The input of an exchange: as it was estimated, uncorrected, and as the provider counted it. Each sample weighs as
  /// its size, and 2 % less with each that follows.
  void saw_input(std::uint64_t model, std::int64_t estimated, std::int64_t reported) noexcept;
  /// What to multiply an estimate with; 1 as long as nothing is known.
  [[nodiscard]] double correction(std::uint64_t model) const noexcept;

  /// The output of an exchange; `cut`: the limit ended it.
  void saw_output(std::uint64_t kind, std::int64_t tokens, bool cut) noexcept;
  /// The length that a share (0 to 1) of the outputs do not exceed.
  [[nodiscard]] std::optional<std::int64_t> output_quantile(std::uint64_t kind, double share) const noexcept;

 private:
  class inputs {
   public:
    double estimated = 0;
    double reported = 0;
    int samples = 0;
  };
  class outputs {
   public:
    // About a hundred answers, for a tail of one in twenty.
    core::length_histogram lengths{100};
    int samples = 0;
  };

  template <typename Value>
  class table {
   public:
    [[nodiscard]] const Value* find(std::uint64_t key) const noexcept;
    [[nodiscard]] Value& make(std::uint64_t key);

   private:
    class row {
     public:
      std::uint64_t key;
      std::uint64_t heard;
      std::unique_ptr<Value> value;
    };
    std::vector<row> rows_;
    std::uint64_t clock_ = 0;
  };

  mutable std::mutex mutex_;
  table<inputs> inputs_;
  table<outputs> outputs_;
};

}  // namespace sluice::llm::detail
