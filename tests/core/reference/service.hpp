/// \file
/// Who starts, who is turned away, and who pays for what.
#pragma once

#include "core/reference/order.hpp"

namespace sluice::core::testing {

class service : public order {
 public:
  using order::order;

 protected:
  void reject(std::uint64_t tag, reason why, constraint bound) {
    const piece& one = *find(std::as_const(waiting), tag);
    seen_effect told{effect::kind::rejected, tag, why, bound, rules_.revision};
    tell_ahead(one.workload(), told);
    --told.ahead;
    told.ahead_tokens -= one.size.tokens;
    told.waited = now_ - one.arrived;
    const piece gone = dequeue(tag);
    count_rejection(gone.workload(), why);
    out.push_back(told);
    settle_price(gone, {});
    tenants_.release(gone.tenant);
  }

  void reject_newcomer(const request& what, reason why, constraint bound) {
    seen_effect told{effect::kind::rejected, what.tag, why, bound, rules_.revision};
    tell_ahead(what.workload.index(), told);
    if (why == reason::retry_budget) {
      told.ahead = static_cast<std::size_t>(everything_tried().count);
      told.ahead_tokens = static_cast<std::int64_t>(everything_tried().again);
    }
    count_rejection(what.workload.index(), why);
    out.push_back(told);
  }

  /// It runs all the same, because the policy only observes, and holds nothing. What would have been refused counts as
  /// no try.
  void let_through(piece one, bool refused) {
    if (find(waiting, one.asked.tag) != nullptr) one = dequeue(one.asked.tag);
    if (!refused) count_attempt(one);
    settle_price(one, {});
    one.paid = false;
    one.size = {0, 0, 0};
    one.observed = true;
    hold(one);
    ++counts_[one.workload()].observed_total;
    out.push_back({effect::kind::granted, one.asked.tag});
  }

  // Runs.
  void pay(piece& one) {
    runs.reserve(*one.run, one.asked.tag, one.price());
    one.paid = true;
  }

  void settle_price(const piece& one, const spending& used) {
    if (!one.paid) return;
    for (const std::size_t run : runs.settle(one.asked.tag, used)) unpark(run);
  }

  /// Those that wait for a run to be able to pay, in their order, as far as it can.
  void unpark(std::size_t run) {
    for (const piece* first = head_of_parked(run); first != nullptr; first = head_of_parked(run)) {
      const std::uint64_t tag = first->asked.tag;
      const plain_runs::verdict verdict = runs.check(*first->run, first->price(), first->asked.finalising);
      if (verdict.what == budget_verdict::kind::exhausted) {
        reject(tag, reason::budget_exhausted, budget_constraint(verdict));
      } else if (verdict.what == budget_verdict::kind::ok) {
        piece one = dequeue(tag);
        pay(one);
        enqueue(one);
      } else if (verdict.run != run) {
        park(dequeue(tag), verdict.run);
      } else {
        return;
      }
    }
  }

  // Those who have no time left, and those who start.
  bool expire() {
    bool anybody = false;
    for (;;) {
      const piece* first = nullptr;
      const auto place = [this](const piece& one) { return std::pair(one.asked.deadline, named_place(one.asked.tag)); };
      for (const piece& one : waiting) {
        if (one.asked.deadline <= now_ && (first == nullptr || place(one) < place(*first))) first = &one;
      }
      if (first == nullptr) return anybody;
      const std::size_t c = first->workload();
      count_miss(c);
      reject(first->asked.tag, reason::deadline_in_queue, bound_of(*first));
      watch_overload(c);
      anybody = true;
    }
  }

  void serve() {
    while (!waiting.empty()) {
      prepare_heads();
      const auto [next, passing] = choose();
      if (next == nullptr) break;
      if (passing) ++passes_;
      charge_start(*find(waiting, next->asked.tag));
      const piece one = dequeue(next->asked.tag);
      if (one.asked.tag != newcomer_) ++counts_[one.workload()].admitted_after_wait_total;
      lacking_since_[one.workload()] = never;
      hold(one);
      out.push_back({effect::kind::granted, one.asked.tag});
    }
    pause_.nobody_left(now_);
  }

  /// Keeps the queue within its bounds; whether somebody had to go.
  bool shed(std::uint64_t newcomer) {
    const std::size_t c = find(waiting, newcomer)->workload();
    const auto go = [this, newcomer](const piece* worst, constraint bound) {
      const std::uint64_t tag = worst == nullptr ? newcomer : worst->asked.tag;
      reject(tag, tag == newcomer ? reason::queue_full : reason::shed, bound);
      return true;
    };
    if (waiting_in(c) > rules_.classes[c].max_waiting) return go(worst_of(c), constraint::class_queue);
    if (waiting.size() <= rules_.max_waiting) return false;
    const sums now = add_up();
    const piece* worst = nullptr;
    for (const std::size_t which : by_priority()) {
      const std::int64_t lacking = std::max<std::int64_t>(0, floor(which).slots - now.held[which].slots);
      const piece* const candidate = worst_of(which);
      if (candidate != nullptr && now.demand[which].slots > lacking) worst = candidate;
    }
    return go(worst, constraint::queue);
  }

  /// Who has come in this very event, and so has not waited when it starts.
  std::optional<std::uint64_t> newcomer_;

 private:
  struct choice {
    const piece* next = nullptr;
    bool passing = false;
  };

  void count_rejection(std::size_t c, reason why) {
    if (c >= classes()) return;
    class_statistics& counts = counts_[c];
    ++counts.rejected_total;
    counts.expired_total += why == reason::deadline_in_queue ? 1 : 0;
    counts.shed_total += why == reason::shed ? 1 : 0;
    counts.infeasible_total += why == reason::infeasible ? 1 : 0;
    counts.unaffordable_total += why == reason::budget_exhausted ? 1 : 0;
    counts.retries_refused_total += why == reason::retry_budget ? 1 : 0;
  }

  /// The heads are those that can still be done in time, of tenants whose rate lets them through. Whoever is not goes,
  /// by the order of the classes, until all of them are.
  void prepare_heads() {
    turns_.resume(now_);
    const auto one_goes = [this] {
      for (std::size_t c = 0; c < classes(); ++c) {
        const piece* const head = next_of(c);
        if (head != nullptr && gives_way(*head)) return true;
      }
      return false;
    };
    while (one_goes()) continue;
  }

  /// Whether it may not be the next of its class, and so is that no longer.
  [[nodiscard]] bool gives_way(const piece& head) {
    const std::size_t c = head.workload();
    if (hopeless(head)) {
      count_miss(c);
      if (rules_.observe) {
        let_through(head, true);
      } else {
        reject(head.asked.tag, reason::infeasible, constraint::deadline);
      }
      watch_overload(c);
      return true;
    }
    const duration promise = rules_.classes[c].start_within;
    if (promise > duration::zero() && !head.late && now_ - head.arrived > promise) {
      make_late(*find(waiting, head.asked.tag));
      return true;
    }
    const plain_rates& rates = tenants_[head.tenant].rates;
    if (rates.first_short(charge_of(head), now_) == rate_axis::none) return false;
    turns_.pause(flow_of(head), rates.earliest(charge_of(head), now_));
    return true;
  }

  [[nodiscard]] choice choose() {
    rate_wake_ = never;
    if (pause_.closed(now_)) return {};
    const sums now = add_up();
    const bool nothing_needed =
        std::any_of(waiting.begin(), waiting.end(), [](const piece& one) { return one.size.slots == 0; });
    if (now.free.slots <= 0 && !nothing_needed) {
      for (std::size_t c = 0; c < classes(); ++c) note_adaptive_bound(now, c);
      return {};
    }
    bool blocked = false;
    for (const bool floors : {true, false}) {
      for (const std::size_t c : by_priority()) {
        const piece* const head = next_of(c);
        if (head == nullptr || within_floor(now, c, head->part()) != floors) continue;
        const constraint bound = room(now, c, head->part());
        const bool fits = bound == constraint::none;
        const plain_rates::amounts charge = charge_of(*head);
        const bool let_through = rates_.first_short(charge, now_) == rate_axis::none &&
                                 reports_.first_short(charge, now_) == rate_axis::none;
        if (fits && let_through) return {head, blocked};
        if (fits)
          rate_wake_ = std::min(rate_wake_, std::max(rates_.earliest(charge, now_), reports_.earliest(charge, now_)));
        if (!fits && bound != constraint::pool_slots && bound != constraint::pool_tokens) continue;
        note_adaptive_bound(now, c);
        if (!blocked && !may_be_passed(*head)) return {};
        blocked = true;
        if (const piece* const other = small_one(now, *head)) return {other, true};
      }
    }
    return {};
  }

  void note_adaptive_bound(const sums& now, std::size_t c) {
    const piece* const head = next_of(c);
    if (head == nullptr || room(now, c, head->part()) != constraint::pool_slots) return;
    if (rules_.adaptive.enabled) adaptive_bound_at_ = now_;
  }

  [[nodiscard]] bool may_be_passed(const piece& head) {
    if (rules_.bypass.passes == 0) return false;
    if (blocked_ != head.asked.tag) {
      blocked_ = head.asked.tag;
      passes_ = 0;
      blocked_since_ = now_;
    }
    duration patience = rules_.bypass.patience;
    if (const auto expected = expect(head)) patience = std::min(patience, expected->total);
    return passes_ < rules_.bypass.passes && now_ < after(blocked_since_, patience);
  }

  /// Of the same class but for its head: of the largest power of two that is sure to fit, in the pool and in the rates
  /// of the provider, the oldest.
  [[nodiscard]] const piece* small_one(const sums& now, const piece& head) const {
    const std::size_t c = head.workload();
    if (now.free.slots <= 0 || now.free.tokens <= 0) return nullptr;
    const std::int64_t beside = now.free.tokens - others_need(now, c).tokens;
    const std::int64_t in_floor = std::min(now.free.tokens, floor(c).tokens - now.held[c].tokens);
    std::int64_t most = std::min(std::max(beside, in_floor), ceiling(c).tokens - now.held[c].tokens);
    for (const rate_axis axis : {rate_axis::input, rate_axis::output})
      most = std::min(most, rates_.available(axis, now_));
    for (const rate_axis axis : {rate_axis::input, rate_axis::output, rate_axis::tokens})
      most = std::min(most, reports_.available(axis, now_));
    const piece* found = nullptr;
    const auto magnitude = [](const piece& one) { return std::bit_width(static_cast<std::uint64_t>(one.size.tokens)); };
    for (const piece& one : waiting) {
      if (&one == &head || one.parked_at || one.workload() != c || (std::int64_t{1} << magnitude(one)) - 1 > most)
        continue;
      if (found == nullptr || magnitude(one) > magnitude(*found) ||
          (magnitude(one) == magnitude(*found) && one.sequence < found->sequence))
        found = &one;
    }
    if (found == nullptr || paused(*found) || hopeless(*found)) return nullptr;
    if (room(now, c, found->part()) != constraint::none) return nullptr;
    return rate_bound(*found) == constraint::none ? found : nullptr;
  }

  /// The costliest to within a factor of two, and of those the youngest; nobody of those whom a run cannot pay for.
  [[nodiscard]] const piece* worst_of(std::size_t c) const {
    const piece* worst = nullptr;
    const auto badness = [](const piece& one) {
      return std::pair(std::bit_width(static_cast<std::uint64_t>(one.size.tokens)), one.sequence);
    };
    for (const piece& one : waiting) {
      if (one.parked_at || one.workload() != c) continue;
      if (worst == nullptr || badness(one) > badness(*worst)) worst = &one;
    }
    return worst;
  }
};

}  // namespace sluice::core::testing
