/// \file
/// What is learned about how long work runs and how much it answers, per model and class.
#pragma once

#include "core/fitted_line.hpp"
#include "core/length_histogram.hpp"
#include "core/service_sample.hpp"

#include <sluice/core/model.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::core {

/// How long one exchange is expected to run.
struct service_estimate {
  /// From its start to its first token; negative when first tokens have not been reported.
  duration to_first_token{-1};
  /// From its start to its end.
  duration total{};
  /// How long its answer will be.
  double output_tokens = 0;
};

/// Each cell (a model and a class, a class over all models, a model over all classes) keeps two straight lines and a
/// histogram: time to first token over input tokens, time after it over output tokens, and output lengths. All follow a
/// change within about 20 samples.
///
/// The lines are two-parameter fits that lean towards a line through the origin, so that with inputs of one size, which
/// tell nothing about the fixed part, they are the plain ratio. A ratio alone would make short prompts look too cheap,
/// since what every prompt takes (connection, queue, first step) is most of their time.
///
/// learn, predict: O(1) (16 models, 40 buckets). Allocates at construction only.
class service_model {
 public:
  static constexpr std::size_t most_models = 16;
  /// A cell that has seen fewer does not answer.
  static constexpr std::uint32_t fewest_samples = 5;

  /// For classes 0 to `classes` - 1.
  explicit service_model(std::size_t classes = max_workloads);

  /// Takes in what one exchange took. False, and nothing changes, for what is no sample. A seventeenth model takes the
  /// place of the one that learned longest ago. Precondition: `c` is one of the classes.
  bool learn(sluice::model which, std::size_t c, const service_sample& what, instant now) noexcept;

  /// What to expect of an exchange with `input_tokens` that may answer `reserved_output` (`unlimited`: as it likes).
  /// From the model and class; when that is not known, from the class over all models; else from the model over all
  /// classes; else nothing. Negative numbers count as zero.
  [[nodiscard]] std::optional<service_estimate> predict(sluice::model which, std::size_t c, std::int64_t input_tokens,
                                                        std::int64_t reserved_output) const noexcept;

  /// The same for an answer that `quantile` (0 to 1) of all answers do not exceed.
  [[nodiscard]] std::optional<service_estimate> predict_at(double quantile, sluice::model which, std::size_t c,
                                                           std::int64_t input_tokens,
                                                           std::int64_t reserved_output) const noexcept;

  /// Whether it has learned anything at all, so that `predict` may answer.
  [[nodiscard]] bool empty() const noexcept { return models_ == 0; }

 private:
  struct cell {
    std::uint32_t samples = 0;
    fitted_line to_first_token;
    fitted_line after_first_token;
    length_histogram lengths;

    void learn(const service_sample& what) noexcept;
    [[nodiscard]] service_estimate at(std::int64_t input_tokens, double output_tokens) const noexcept;
  };

  [[nodiscard]] std::size_t place_of(sluice::model which) const noexcept;
  [[nodiscard]] std::size_t make_place(sluice::model which) noexcept;
  [[nodiscard]] const cell* known(sluice::model which, std::size_t c) const noexcept;
  [[nodiscard]] cell& pair(std::size_t m, std::size_t c) noexcept { return cells_[m * (classes_ + 1) + c]; }
  [[nodiscard]] const cell& pair(std::size_t m, std::size_t c) const noexcept { return cells_[m * (classes_ + 1) + c]; }

  std::size_t classes_;
  std::size_t models_ = 0;
  std::array<std::uint64_t, most_models> keys_{};
  std::array<instant, most_models> learned_{};
  /// A row for each model, and one for all models; in each, a cell for each class, and one for all classes.
  std::vector<cell> cells_;
};

}  // namespace sluice::core
