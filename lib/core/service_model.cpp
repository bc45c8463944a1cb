#include "core/service_model.hpp"

#include "core/bounded_duration.hpp"

#include <algorithm>

namespace sluice::core {

service_model::service_model(std::size_t classes) : classes_(classes), cells_((most_models + 1) * (classes + 1)) {}

void service_model::cell::learn(const service_sample& what) noexcept {
  const auto input = static_cast<double>(what.input_tokens);
  const auto output = static_cast<double>(what.output_tokens);
  auto after = static_cast<double>(what.total.count());
  if (what.first_token_known()) {
    const auto first = static_cast<double>(what.to_first_token.count());
    to_first_token.add(input, first);
    after -= first;
  } else if (to_first_token.points() != 0) {
    after = std::max(0.0, after - to_first_token.solve().at(input));
  }
  after_first_token.add(output, after);
  lengths.add(what.output_tokens, what.reserved_output > 0 && what.output_tokens >= what.reserved_output);
  if (samples < fewest_samples) ++samples;
}

service_estimate service_model::cell::at(std::int64_t input_tokens, double output_tokens) const noexcept {
  service_estimate expected;
  double first = 0;
  if (to_first_token.points() != 0) {
    first = to_first_token.solve().at(static_cast<double>(std::max<std::int64_t>(0, input_tokens)));
    expected.to_first_token = bounded_duration(first);
  }
  expected.total = bounded_duration(first + after_first_token.solve().at(output_tokens));
  expected.output_tokens = output_tokens;
  return expected;
}

bool service_model::learn(sluice::model which, std::size_t c, const service_sample& what, instant now) noexcept {
  if (!what.usable()) return false;
  const std::size_t m = make_place(which);
  learned_[m] = std::max(learned_[m], now);
  pair(m, c).learn(what);
  pair(m, classes_).learn(what);
  pair(most_models, c).learn(what);
  return true;
}

std::optional<service_estimate> service_model::predict(sluice::model which, std::size_t c, std::int64_t input_tokens,
                                                       std::int64_t reserved_output) const noexcept {
  const cell* source = known(which, c);
  if (source == nullptr) return std::nullopt;
  const auto bound = static_cast<double>(std::max<std::int64_t>(0, reserved_output));
  return source->at(input_tokens, source->lengths.expected(bound));
}

std::optional<service_estimate> service_model::predict_at(double quantile, sluice::model which, std::size_t c,
                                                          std::int64_t input_tokens,
                                                          std::int64_t reserved_output) const noexcept {
  const cell* source = known(which, c);
  if (source == nullptr) return std::nullopt;
  const auto bound = static_cast<double>(std::max<std::int64_t>(0, reserved_output));
  return source->at(input_tokens, std::min(bound, source->lengths.quantile(quantile)));
}

std::size_t service_model::place_of(sluice::model which) const noexcept {
  const auto* const last = keys_.data() + models_;
  return static_cast<std::size_t>(std::find(keys_.data(), last, which.key()) - keys_.data());
}

std::size_t service_model::make_place(sluice::model which) noexcept {
  std::size_t m = place_of(which);
  if (m != models_) return m;
  if (models_ < most_models) {
    ++models_;
  } else {
    m = static_cast<std::size_t>(std::min_element(learned_.begin(), learned_.end()) - learned_.begin());
    for (std::size_t c = 0; c <= classes_; ++c) pair(m, c) = {};
  }
  keys_[m] = which.key();
  learned_[m] = instant::min();
  return m;
}

const service_model::cell* service_model::known(sluice::model which, std::size_t c) const noexcept {
  const std::size_t m = place_of(which);
  const auto answers = [](const cell& candidate) { return candidate.samples >= fewest_samples; };
  if (m != models_ && answers(pair(m, c))) return &pair(m, c);
  if (answers(pair(most_models, c))) return &pair(most_models, c);
  if (m != models_ && answers(pair(m, classes_))) return &pair(m, classes_);
  return nullptr;
}

}  // namespace sluice::core
