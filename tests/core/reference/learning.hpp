/// \file
/// What comes of reports and ends beside capacity: charges that are corrected, and what is learned.
#pragma once

#include "core/reference/restoration.hpp"

namespace sluice::core::testing {

class learning : public restoration {
 public:
  using restoration::restoration;

 protected:
  void change_hold(piece& running, std::int64_t hold) {
    const std::int64_t less = running.hold - hold;
    running.hold = hold;
    if (needs_time_ && less > 0) drain_.released(0, less, now_, !waiting.empty());
  }

  void note_first_token(piece& running) {
    if (!needs_time_) return;
    const auto late = std::chrono::duration_cast<std::chrono::microseconds>(now_ - running.since).count();
    running.first_token_microseconds = std::max<std::int64_t>(1, late);
    for (std::size_t c = 0; c < classes(); ++c) {
      if (rules_.classes[c].elastic.enabled && above(running.workload(), c))
        elastic_[c].observe_first_token(now_ - running.arrived, now_);
    }
  }

  /// It was charged what it reserved, and used something else.
  void correct_charges(const piece& ended) {
    const usage used = ended.used;
    turns_.correct(flow_of(ended), ended.size.tokens, used.input_tokens + used.output_tokens);
    if (ended.observed) return;
    // Without a known split all was charged as input.
    const bool split = ended.size.output_tokens > 0;
    const std::int64_t input = used.input_tokens + (split ? 0 : used.output_tokens);
    const plain_rates::amounts change{0, input - ended.input(),
                                      (split ? used.output_tokens : 0) - ended.size.output_tokens};
    rates_.correct(change, now_);
    tenants_[ended.tenant].rates.correct(change, now_);
    reports_.correct(charge_of(ended), {1, input, split ? used.output_tokens : 0}, ended.since, now_);
    if (change[1] >= 0 && change[2] >= 0) return;
    for (std::size_t c = 0; c < classes(); ++c) {
      plain_flow& flow = turns_.of(ended.tenant, c, tenants_[ended.tenant].weight);
      if (flow.paused) turns_.enter(flow);
    }
  }

  void learn(const piece& ended) {
    service_sample sample;
    sample.input_tokens = ended.used.input_tokens;
    sample.output_tokens = ended.used.output_tokens;
    sample.reserved_output = ended.size.output_tokens;
    sample.total = now_ - ended.since;
    if (ended.first_token_microseconds != 0)
      sample.to_first_token = std::chrono::microseconds(ended.first_token_microseconds);
    if (!services_.learn(ended.asked.model, ended.workload(), sample, now_)) return;
    if (rules_.feasibility.enabled) learn_pace(ended, sample);
    if (!rules_.adaptive.enabled) return;
    const std::int64_t before = adaptive_.limit();
    if (adaptive_.sample(sample, ended.beside, adaptive_bound_at_ >= ended.since, now_) && adaptive_.limit() < before)
      reject_infeasible();
  }

  void learn_pace(const piece& ended, const service_sample& sample) {
    const double beside = static_cast<double>(ended.beside + static_cast<std::int64_t>(holding.size())) / 2;
    pace_.sample(sample, beside);
    if (pace_.known()) {
      double& average = habits_[ended.workload()].length;
      const double length = static_cast<double>(sample.total.count()) / pace_.at(beside);
      average = average == 0 ? length : average + (length - average) / 16;
    }
    renew_pace(ended.workload());
  }

  /// Follows what fresh work is given quickly, and what is left to work that comes again slowly.
  void note_time_given(std::size_t c, duration given) {
    double& average = habits_[c].time_given;
    const auto now = static_cast<double>(std::max(given, duration::zero()).count());
    average += (now - average) / (now > average ? 4 : 64);
  }

  void reject_infeasible() {
    for (const std::uint64_t tag : in_named_order()) {
      const piece* const one = find(waiting, tag);
      if (one == nullptr || !cannot_make_it(*one)) continue;
      const std::size_t c = one->workload();
      count_miss(c);
      reject(tag, reason::infeasible, bound_of(*one));
      watch_overload(c);
    }
  }

  /// All that wait: those that the machine has named first, and the rest by age.
  [[nodiscard]] std::vector<std::uint64_t> in_named_order() const {
    std::vector<std::uint64_t> tags;
    for (const piece& one : waiting) tags.push_back(one.asked.tag);
    std::stable_sort(tags.begin(), tags.end(),
                     [this](std::uint64_t a, std::uint64_t b) { return named_place(a) < named_place(b); });
    return tags;
  }
};

}  // namespace sluice::core::testing
