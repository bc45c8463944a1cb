#include "llm/estimates/meter.hpp"

#include <algorithm>

namespace sluice::llm::detail {

namespace {

// More than any exchange takes; the core refuses reports beyond it.
constexpr std::int64_t most_tokens = std::int64_t{1} << 40;

}  // namespace

void meter::produced(std::int64_t output) {
  output_ = std::max(output_, output);
  reconcile();
}

void meter::saw(const reply& so_far, std::int64_t produced_bytes) {
  const std::int64_t output = seen_.count(so_far, produced_bytes, *reserved_.ratios);
  // An answer may end without a word; its prompt has been processed all the same.
  if (output > 0 || so_far.finish != finish_reason::none) produced(output);
}

void meter::reported(const usage_report& figures) {
  reported_ = figures;
  output_ = std::max(output_, figures.output_tokens.value_or(0));
  reconcile();
}

std::int64_t meter::input() const noexcept {
  return reported_ ? reported_->input_tokens.value_or(reserved_.input_tokens) : reserved_.input_tokens;
}

void meter::reconcile() {
  if (!held_ || (prompt_done_ && output_ - reconciled_ < every_)) return;
  prompt_done_ = true;
  reconciled_ = output_;
  progress how_far;
  how_far.input_tokens = std::min(input(), most_tokens);
  how_far.output_tokens = std::min(output_, most_tokens);
  // Without a split of the reservation nobody can say what may still come.
  if (reserved_.asked.output_tokens > 0) {
    how_far.remaining_output = std::max<std::int64_t>(0, reserved_.asked.output_tokens - output_);
  }
  static_cast<void>(held_.reconcile(how_far));
}

token_usage meter::taken() const noexcept {
  token_usage seen;
  seen.estimated = !reported_ || !reported_->input_tokens || !reported_->output_tokens;
  if (prompt_done_ || reported_) seen.input_tokens = input();
  seen.output_tokens = output_;
  if (reported_) {
    if (complete_) seen.output_tokens = reported_->output_tokens.value_or(output_);
    seen.estimated = seen.estimated || seen.output_tokens != *reported_->output_tokens;
    seen.cached_tokens = std::min(reported_->cached_tokens, seen.input_tokens);
    seen.cache_written_tokens = std::min(reported_->cache_written_tokens, seen.input_tokens - seen.cached_tokens);
    seen.reasoning_tokens = std::min(reported_->reasoning_tokens, seen.output_tokens);
  }
  return seen;
}

void meter::end() noexcept {
  if (!held_) return;
  usage used;
  if (prompt_done_ || reported_) used = taken().total();
  used.input_tokens = std::min(used.input_tokens, most_tokens);
  used.output_tokens = std::min(used.output_tokens, most_tokens);
  if (complete_) {
    if (!taken().estimated) reserved_.learn(used);
    static_cast<void>(held_.settle(used));
  }
  held_.abandon(used);
}

}  // namespace sluice::llm::detail
