/// \file
/// The end of each event: limits that move, floors that are restored, and when a tick is needed.
#pragma once

#include "core/reference/service.hpp"

namespace sluice::core::testing {

class restoration : public service {
 public:
  using service::service;

  /// By when a tick is needed at the latest.
  [[nodiscard]] instant next_needed() const {
    if (waiting.empty()) return never;
    instant next = std::min(rate_wake_, turns_.next_resume());
    if (pause_.closed(now_)) next = std::min(next, pause_.next_start);
    for (const piece& one : waiting) next = std::min(next, one.asked.deadline);
    const bool anybody = std::any_of(holding.begin(), holding.end(), [this](const piece& one) { return listed(one); });
    for (std::size_t c = 0; c < classes(); ++c) {
      if (anybody && lacking_[c] && restore_at(c) > now_) next = std::min(next, restore_at(c));
      if (!rules_.classes[c].elastic.enabled || waiting_in(c) == 0) continue;
      const duration again = std::max<duration>(rules_.classes[c].elastic.window / 2, std::chrono::milliseconds(1));
      next = std::min(next, elastic_[c].next_update() > now_ ? elastic_[c].next_update() : now_ + again);
    }
    return next;
  }

 protected:
  void settle() {
    expire();
    serve();
    finish_event();
  }

  void finish_event() {
    move_limits();
    restore();
  }

  bool move_limits() {
    bool moved = false;
    for (std::size_t c = 0; c < classes(); ++c) {
      if (!rules_.classes[c].elastic.enabled || elastic_[c].next_update() > now_) continue;
      duration oldest{-1};
      const bool above_runs =
          std::any_of(holding.begin(), holding.end(), [&](const piece& one) { return above(one.workload(), c); });
      for (std::size_t other = 0; other < classes(); ++other) {
        const piece* const head = next_of(other);
        if (head != nullptr && above(other, c)) oldest = std::max(oldest, now_ - head->arrived);
      }
      const piece* const own = next_of(c);
      const bool binding = own != nullptr && room(add_up(), c, own->part()) == constraint::class_slots;
      if (elastic_[c].update(oldest, binding, now_, above_runs)) moved = true;
    }
    if (moved) serve();
    return moved;
  }

 private:
  void note_lack() {
    const sums now = add_up();
    const auto needs = [&now](std::size_t c) { return now.need[c].slots != 0 || now.need[c].tokens != 0; };
    bool any = false;
    for (std::size_t c = 0; c < classes(); ++c) any = any || needs(c) || lacking_[c];
    if (!any) return;
    for (std::size_t c = 0; c < classes(); ++c) {
      const piece* const head = next_of(c);
      lacking_[c] = head != nullptr && within_floor(now, c, head->part());
      lacking_since_[c] = lacking_[c] ? std::min(lacking_since_[c], head->arrived) : never;
    }
  }

  [[nodiscard]] instant restore_at(std::size_t c) const {
    if (lacking_since_[c] == never) return never;
    const piece& head = *next_of(c);
    const instant due = after(lacking_since_[c], rules_.classes[c].restore_within);
    if (head.asked.deadline == never) return due;
    return std::min(due, after(head.arrived, (head.asked.deadline - head.arrived) / 2));
  }

  void restore() {
    note_lack();
    capacity target{};
    for (const std::size_t c : by_priority()) {
      if (restore_at(c) > now_) continue;
      add(target, add_up().need[c]);
      reclaim(c, target);
    }
  }

  /// Whether it could be stopped at all.
  [[nodiscard]] bool listed(const piece& one) const {
    return one.stoppable && !one.stopping && rules_.classes[one.workload()].preemptible &&
           one.preemptions < rules_.max_preemptions;
  }
  [[nodiscard]] static bool nearly_done(const piece& one) {
    const std::int64_t output = one.size.output_tokens;
    return output > 0 && one.used.output_tokens * 5 >= output * 4;
  }

  [[nodiscard]] std::int64_t sunk_in(const piece& one) const {
    const std::int64_t reported = one.used.input_tokens + one.used.output_tokens;
    if (reported > 0) return reported;
    const auto expected = expect(one);
    if (!expected || expected->to_first_token <= duration::zero()) return 0;
    const double part =
        static_cast<double>((now_ - one.since).count()) / static_cast<double>(expected->to_first_token.count());
    return static_cast<std::int64_t>(std::min(part, 1.0) * static_cast<double>(one.input()));
  }

  /// Of lower classes only, only what is borrowed, the least sunk first, and nobody in vain.
  void reclaim(std::size_t c, capacity target) {
    const sums now = add_up();
    capacity missing{target.slots - now.free.slots - now.reclaiming.slots,
                     target.tokens - now.free.tokens - now.reclaiming.tokens};
    std::array<capacity, max_workloads> borrowed{};
    for (std::size_t from = 0; from < classes(); ++from) {
      const capacity floor = this->floor(from);
      borrowed[from] = {now.held[from].slots - now.stopping[from].slots - floor.slots,
                        now.held[from].tokens - now.stopping[from].tokens - floor.tokens};
    }
    std::vector<piece*> candidates;
    for (piece& one : holding) {
      if (above(c, one.workload()) && listed(one) && !nearly_done(one)) candidates.push_back(&one);
    }
    const std::vector<std::size_t> ranks = by_priority();
    std::sort(candidates.begin(), candidates.end(), [&](const piece* a, const piece* b) {
      const auto cheapness = [&](const piece* one) {
        const auto rank = std::find(ranks.begin(), ranks.end(), one->workload()) - ranks.begin();
        return std::tuple(sunk_in(*one), -rank, -static_cast<std::int64_t>(one->number));
      };
      return cheapness(a) < cheapness(b);
    });
    std::vector<piece*> chosen;
    const auto enough = [](capacity lacks) { return lacks.slots <= 0 && lacks.tokens <= 0; };
    for (piece* const one : candidates) {
      if (enough(missing)) break;
      const capacity part{one->size.slots, one->hold};
      const bool helps = (missing.slots > 0 && part.slots > 0) || (missing.tokens > 0 && part.tokens > 0);
      capacity& own = borrowed[one->workload()];
      const bool in_slots = own.slots > 0 && own.slots >= part.slots;
      const bool in_tokens = own.tokens > 0 && own.tokens >= part.tokens;
      if (!helps || (!in_slots && !in_tokens)) continue;
      add(own, {-part.slots, -part.tokens});
      add(missing, {-part.slots, -part.tokens});
      chosen.push_back(one);
    }
    for (std::size_t place = chosen.size(); enough(missing) && place-- > 0;) {
      capacity then = missing;
      add(then, {chosen[place]->size.slots, chosen[place]->hold});
      if (!enough(then)) continue;
      missing = then;
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(place));
    }
    for (piece* const one : chosen) {
      one->stopping = true;
      out.push_back({effect::kind::preempt, one->asked.tag});
    }
  }
};

}  // namespace sluice::core::testing
