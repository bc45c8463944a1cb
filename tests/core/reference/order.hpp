/// \file
/// Who comes before whom, and what can be expected of it.
#pragma once

#include "core/reference/accounts.hpp"

#include <bit>
#include <tuple>

namespace sluice::core::testing {

class order : public accounts {
 public:
  using accounts::accounts;

 protected:
  /// The next of a flow: runs that go on, then the rest, then who is late; among them by deadline, the root's age and
  /// age. Of each run one at a time.
  [[nodiscard]] const piece* head_of(const plain_flow& which) const {
    const piece* first = nullptr;
    for (const piece& one : waiting) {
      if (one.parked_at || one.behind || one.tenant != which.tenant || one.workload() != which.workload) continue;
      if (first == nullptr || place_of(one) < place_of(*first)) first = &one;
    }
    return first;
  }
  [[nodiscard]] static std::tuple<int, instant, std::uint64_t, std::uint64_t, std::uint64_t> place_of(
      const piece& one) {
    const int lane = one.late ? 2 : one.continuing ? 0 : 1;
    return {lane, one.asked.deadline, one.rank, one.asked.deadline == never ? one.turn : 0, one.sequence};
  }
  /// Whether both wait for the same turn: late ones wait for themselves.
  [[nodiscard]] bool share_a_turn(const piece& a, const piece& b) const {
    if (!a.run || !b.run || a.parked_at || b.parked_at || a.late || b.late) return false;
    return a.tenant == b.tenant && a.workload() == b.workload() && runs.root_of(*a.run) == runs.root_of(*b.run);
  }
  static void renew_place(piece& one) {
    one.rank = one.own_rank;
    one.continuing = one.goes_on;
    one.behind = false;
    one.turn = 0;
  }
  /// One that comes has its run's turn when nobody has it, or when its place is before that of the one who has it.
  void take_turn(piece& one) {
    for (piece& other : waiting) {
      if (other.behind || !share_a_turn(one, other)) continue;
      one.continuing = other.continuing;
      one.behind = place_of(other) < place_of(one);
      if (one.behind) return;
      other.behind = true;
      other.rank = other.sequence;
      other.turn = 0;
    }
  }
  /// Who had the turn is gone, or late: the next of its run takes a place behind all that have come.
  void give_turn(const piece& gone) {
    piece* next = nullptr;
    for (piece& one : waiting) {
      if (!one.behind || !share_a_turn(gone, one)) continue;
      if (next == nullptr || std::tuple(one.asked.deadline, one.rank, one.sequence) <
                                 std::tuple(next->asked.deadline, next->rank, next->sequence))
        next = &one;
    }
    if (next == nullptr) return;
    next->behind = next->continuing = false;
    next->rank = newest_;
    next->turn = ++turns_since_;
  }
  /// It needs no turn of its run any more.
  void make_late(piece& one) {
    if (!one.behind) give_turn(one);
    renew_place(one);
    one.late = true;
  }
  void know(const piece& one) {
    if (one.sequence <= newest_) return;
    newest_ = one.sequence;
    turns_since_ = 0;
  }
  /// Whether it is the first of those of its flow that are late.
  [[nodiscard]] bool first_late(const piece& one) const {
    return std::none_of(waiting.begin(), waiting.end(), [&one](const piece& other) {
      return other.late && other.tenant == one.tenant && other.workload() == one.workload() &&
             place_of(other) < place_of(one);
    });
  }
  /// The first of those that wait for a run to be able to pay.
  [[nodiscard]] const piece* head_of_parked(std::size_t run) const {
    const piece* first = nullptr;
    for (const piece& one : waiting) {
      if (one.parked_at != run) continue;
      if (first == nullptr || std::tuple(one.asked.deadline, one.rank, one.sequence) <
                                  std::tuple(first->asked.deadline, first->rank, first->sequence))
        first = &one;
    }
    return first;
  }

  /// The next of class `c`, or nobody.
  [[nodiscard]] const piece* next_of(std::size_t c) const {
    const plain_flow* const turn = turns_.first(c);
    if (turn == nullptr) return nullptr;
    const piece* head = head_of(*turn);
    for (const piece& one : waiting) {
      if (!one.late || one.tenant != turn->tenant || one.workload() != c ||
          rules_.classes[c].start_within <= duration::zero())
        continue;
      if (!first_late(one)) continue;
      if (now_ - one.arrived >= rules_.overload.age_cap) head = &one;
    }
    if (!by_cost_[c] || now_ - head->arrived >= rules_.overload.age_cap) return head;
    const piece* cheapest = nullptr;
    for (const piece& one : waiting) {
      if (one.parked_at || one.workload() != c) continue;
      if (cheapest == nullptr ||
          std::pair(one.expected_cost, one.sequence) < std::pair(cheapest->expected_cost, cheapest->sequence))
        cheapest = &one;
    }
    return paused(*cheapest) ? head : cheapest;
  }

  [[nodiscard]] std::optional<service_estimate> expect(const piece& one) const {
    if (services_.empty()) return std::nullopt;
    auto expected = services_.predict(one.asked.model, one.workload(), one.input(),
                                      one.size.output_tokens > 0 ? one.size.output_tokens : unlimited);
    if (!expected || !pace_.known()) return expected;
    // At the pace that is to be expected with it beside all that runs now.
    const double slowness = pace_.slowness(static_cast<double>(holding.size()) + 1);
    for (duration* const part : {&expected->total, &expected->to_first_token}) {
      if (*part > duration::zero())
        *part = duration(static_cast<std::int64_t>(static_cast<double>(part->count()) * slowness));
    }
    return expected;
  }

  /// Whether it could end by its deadline if it started now.
  [[nodiscard]] bool in_time(const piece& one) const { return ends_in_time(one, now_); }
  [[nodiscard]] bool hopeless(const piece& one) const {
    return one.asked.deadline != never && rules_.feasibility.enabled && !in_time(one);
  }

  /// The same, with what is sure to be served before it.
  [[nodiscard]] bool cannot_make_it(const piece& one) const {
    if (one.asked.deadline == never || !rules_.feasibility.enabled || one.parked_at) return false;
    const sums now = add_up();
    const capacity ahead = ahead_of(now, one);
    instant hoped = now_;
    if (const auto wait = drain_.estimate(ahead.slots + one.size.slots - now.free.slots,
                                          ahead.tokens + one.size.tokens - now.free.tokens, now_))
      hoped = after(now_, part_of(*wait, rules_.feasibility.wait_share));
    return !ends_in_time(one, hoped);
  }

  [[nodiscard]] std::uint64_t expected_cost(const piece& one) const {
    const auto expected = expect(one);
    return static_cast<std::uint64_t>(expected ? expected->total.count() : one.size.tokens);
  }

  /// The order inside a class follows its overload.
  void watch_overload(std::size_t c) {
    const bool on = overloads_[c].active(now_);
    if (on != counts_[c].overloaded) renew_pace(c);
    counts_[c].overloaded = on;
    if (on && !by_cost_[c]) {
      for (piece& one : waiting) one.expected_cost = one.workload() == c ? expected_cost(one) : one.expected_cost;
    }
    by_cost_[c] = on;
  }
  void count_arrival(std::size_t c) {
    if (rules_.overload.enabled) overloads_[c].arrived(now_);
  }
  void count_miss(std::size_t c) {
    if (rules_.overload.enabled) overloads_[c].missed(now_);
  }

  void enqueue(piece one) {
    if (needs_time_ && waiting.empty()) drain_.busy(now_, true);
    if (by_cost_[one.workload()]) one.expected_cost = expected_cost(one);
    know(one);
    renew_place(one);
    take_turn(one);
    waiting.push_back(one);
    plain_flow& flow = flow_of(one);
    // Whoever waits for a rate was the next of its tenant then; a new one may not have to.
    if (!flow.waits || flow.paused) turns_.enter(flow);
  }
  void park(piece one, std::size_t run) {
    one.parked_at = run;
    know(one);
    renew_place(one);
    waiting.push_back(one);
  }

  /// It waits no more, wherever it did.
  piece dequeue(std::uint64_t tag) {
    const auto place =
        std::find_if(waiting.begin(), waiting.end(), [tag](const piece& one) { return one.asked.tag == tag; });
    piece gone = *place;
    plain_flow& flow = flow_of(gone);
    waiting.erase(place);
    if (!gone.behind) give_turn(gone);
    const std::size_t c = gone.workload();
    if (!gone.parked_at && head_of(flow) == nullptr) {
      turns_.leave(flow);
    } else if (!gone.parked_at && flow.paused) {
      turns_.enter(flow);
    }
    gone.parked_at.reset();
    gone.late = false;
    if (waiting_in(c) == 0) latest_deadline_[c] = instant{};
    if (needs_time_ && waiting.empty()) drain_.busy(now_, false);
    return gone;
  }

  /// What is charged when it starts.
  void charge_start(piece& one) {
    turns_.serve(flow_of(one), one.size.tokens);
    count_attempt(one);
    if (waiting.empty() && now_ >= pause_.spread_end) pause_.in_force = false;
    pause_.started(now_);
    rates_.charge(charge_of(one), now_);
    reports_.charge(charge_of(one), now_);
    tenants_[one.tenant].rates.charge(charge_of(one), now_);
  }

  /// It is tried now. What was preempted has been counted before.
  void count_attempt(piece& one) {
    const bool fresh = one.asked.kind == attempt::first;
    if (!fresh || one.preemptions == 0) retries_.start(one.size.tokens, fresh, now_);
    one.repeats = false;
  }

  void hold(piece one) {
    ++attempts_[static_cast<std::size_t>(one.asked.kind)];
    one.hold = one.size.tokens;
    one.used = {};
    one.since = now_;
    one.number = ++grants_;
    one.revision = rules_.revision;
    if (one.run) runs.all[runs.root_of(*one.run)].started = true;
    ++counts_[one.workload()].admitted_total;
    counts_[one.workload()].reserved_tokens_total += one.hold;
    holding.push_back(one);
    holding.back().beside = static_cast<std::int64_t>(holding.size());
  }

  /// What waits ahead of all that a request has to wait for, and what it asks for.
  void tell_ahead(std::size_t c, seen_effect& into) const {
    if (c >= classes()) return;
    for (const piece& one : waiting) {
      if (one.workload() != c && !above(one.workload(), c)) continue;
      ++into.ahead;
      into.ahead_tokens += one.size.tokens;
    }
  }

 private:
  [[nodiscard]] static duration part_of(duration whole, double share) {
    return duration(
        static_cast<std::int64_t>(static_cast<double>(std::min(whole, duration::max() / 4).count()) * share));
  }

  [[nodiscard]] bool ends_in_time(const piece& one, instant start) const {
    if (one.asked.deadline == never || !rules_.feasibility.enabled) return true;
    const auto expected = expect(one);
    if (!expected || expected->total <= duration::zero()) return start <= one.asked.deadline;
    const double needed = static_cast<double>(expected->total.count()) * rules_.feasibility.service_share;
    return after(start, duration(static_cast<std::int64_t>(needed))) <= one.asked.deadline;
  }

  /// All of classes of higher priority, and the others of its class if none of them has a later deadline.
  [[nodiscard]] capacity ahead_of(const sums& now, const piece& one) const {
    capacity ahead{};
    for (std::size_t other = 0; other < classes(); ++other) {
      if (above(other, one.workload())) add(ahead, now.queued[other]);
    }
    if (one.asked.deadline >= latest_deadline_[one.workload()] && !by_cost_[one.workload()]) {
      add(ahead, now.queued[one.workload()]);
      if (!paused(one)) add(ahead, {-one.size.slots, -one.size.tokens});
    }
    return {std::max<std::int64_t>(0, ahead.slots), std::max<std::int64_t>(0, ahead.tokens)};
  }

  /// The youngest that has come, and how many have taken a place behind it since.
  std::uint64_t newest_ = 0;
  std::uint64_t turns_since_ = 0;
};

}  // namespace sluice::core::testing
