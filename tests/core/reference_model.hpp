/// \file
/// The admission rules once more, as plainly as they can be said: lists that are scanned, sums that are added up anew
/// each time. Nothing is fast here and nothing is kept that can be worked out.
#pragma once

#include <sluice/core/admission.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

namespace sluice::core::testing {

/// One effect as far as it matters who, what and why.
struct seen_effect {
  effect::kind what{};
  std::uint64_t tag = 0;
  sluice::reason why = reason::none;
  constraint bound = constraint::none;
  friend auto operator<=>(const seen_effect&, const seen_effect&) = default;

  friend std::ostream& operator<<(std::ostream& to, const seen_effect& one) {
    constexpr const char* names[] = {"granted", "rejected", "preempt", "wake"};
    to << names[static_cast<std::size_t>(one.what)] << ' ' << one.tag;
    if (one.what == effect::kind::rejected) to << ' ' << to_string(one.why) << '/' << to_string(one.bound);
    return to;
  }
};

class reference_model {
 public:
  struct piece {
    request asked;
    std::uint64_t sequence = 0;
    instant arrived{};
    // While it holds something.
    std::int64_t hold = 0;
    usage used{};
    std::uint64_t number = 0;
    bool stoppable = false;
    bool stopping = false;

    [[nodiscard]] std::size_t workload() const { return asked.workload.index(); }
    [[nodiscard]] capacity size() const { return {asked.cost.slots, asked.cost.tokens}; }
  };

  explicit reference_model(policy rules) : rules_(std::move(rules)) {}

  void arrive(const request& what, instant now) {
    advance(now);
    constraint bound = constraint::none;
    if (const reason why = objection(what, bound); why != reason::none) {
      reject_newcomer(what, why, bound);
      settle();
      return;
    }
    expire();
    waiting.push_back(made_from(what));
    newcomer_ = what.tag;
    serve();
    newcomer_ = no_tag;
    if (piece* const newcomer = find(waiting, what.tag)) {
      if (!what.may_wait) {
        reject(what.tag, reason::no_room, bound_of(*newcomer));
      } else {
        keep_bounds(what.tag);
      }
      serve();
    }
    restore();
  }

  bool arrive_at_once(const request& what, instant now) {
    const reference_model before = *this;
    advance(now);
    constraint bound = constraint::none;
    if (waiting.empty() && objection(what, bound) == reason::none) {
      const piece newcomer = made_from(what);
      if (room(newcomer.workload(), newcomer.size()) == constraint::none) {
        hold(newcomer);
        return true;
      }
    }
    *this = before;
    return false;
  }

  bool cancel(std::uint64_t tag, instant now) {
    const piece* const leaver = find(waiting, tag);
    if (leaver == nullptr) return false;
    advance(now);
    ++counts_[leaver->workload()].cancelled_total;
    take(waiting, tag);
    settle();
    return true;
  }

  void tick(instant now) {
    advance(now);
    settle();
  }

  /// False when the report is an error.
  bool report(std::uint64_t tag, const progress& how_far, instant now) {
    piece* const running = find(holding, tag);
    if (running == nullptr) return false;
    const cost& asked = running->asked.cost;
    const bool split = asked.output_tokens > 0;
    const std::int64_t reserved_output = split ? asked.output_tokens : asked.tokens;
    if (how_far.input_tokens < 0 || how_far.output_tokens < 0 || how_far.margin < 0) return false;
    if (how_far.remaining_output > reserved_output) return false;
    advance(now);
    if (how_far.input_tokens >= running->used.input_tokens && how_far.output_tokens >= running->used.output_tokens) {
      running->used = {how_far.input_tokens, how_far.output_tokens};
      // Without a split, what came in counts against the reservation like what came out.
      const std::int64_t outside = split ? how_far.input_tokens : 0;
      const std::int64_t produced = how_far.output_tokens + (split ? 0 : how_far.input_tokens);
      const std::int64_t overrun = std::max<std::int64_t>(0, produced - reserved_output);
      running->hold = how_far.remaining_output < 0
                          ? outside + std::max(reserved_output, produced)
                          : std::min(how_far.remaining_output + how_far.margin + overrun, asked.tokens + overrun);
    }
    settle();
    return true;
  }

  void set_stoppable(std::uint64_t tag, bool stoppable, instant now) {
    piece* const running = find(holding, tag);
    if (running == nullptr) return;
    advance(now);
    running->stoppable = stoppable;
    settle();
  }

  bool finish(std::uint64_t tag, ending how, std::optional<usage> used, instant now) {
    if (find(holding, tag) == nullptr) return false;
    advance(now);
    piece ended = take(holding, tag);
    if (used) ended.used = *used;
    class_statistics& counts = counts_[ended.workload()];
    const std::int64_t consumed = ended.used.input_tokens + ended.used.output_tokens;
    counts.consumed_tokens_total += consumed;
    counts.refunded_tokens_total += std::max<std::int64_t>(0, ended.asked.cost.tokens - consumed);
    counts.overrun_tokens_total += std::max<std::int64_t>(0, consumed - ended.asked.cost.tokens);
    if (how == ending::preempted) {
      ++counts.preempted_total;
      counts.wasted_tokens_total += consumed;
    }
    settle();
    return true;
  }

  bool reconfigure(const policy& next, instant now) {
    if (next.revision <= rules_.revision) return false;
    advance(now);
    rules_ = next;
    for (const piece& one : std::vector<piece>(waiting)) {
      if (const auto bound = possible(one.workload(), one.size()); bound != constraint::none)
        reject(one.asked.tag, reason::impossible, bound);
    }
    settle();
    return true;
  }

  void close(instant now) {
    advance(now);
    closed_ = true;
    for (const piece& one : std::vector<piece>(waiting)) reject(one.asked.tag, reason::closed, constraint::none);
  }

  [[nodiscard]] sluice::statistics statistics() const {
    sluice::statistics all;
    all.revision = rules_.revision;
    all.total = rules_.total;
    all.class_count = classes();
    const sums now = add_up();
    for (std::size_t c = 0; c < classes(); ++c) {
      class_statistics& one = all.classes[c];
      one = counts_[c];
      one.held = now.held[c];
      one.borrowed = {std::max<std::int64_t>(0, now.held[c].slots - rules_.classes[c].floor.slots),
                      std::max<std::int64_t>(0, now.held[c].tokens - rules_.classes[c].floor.tokens)};
      one.queued = now.demand[c];
      for (const piece& other : waiting) one.waiting += other.workload() == c ? 1 : 0;
      for (const piece& other : holding) one.in_flight += other.workload() == c ? 1 : 0;
      all.all.in_flight += one.in_flight;
      all.all.held = {all.all.held.slots + one.held.slots, all.all.held.tokens + one.held.tokens};
      all.all.borrowed = {all.all.borrowed.slots + one.borrowed.slots, all.all.borrowed.tokens + one.borrowed.tokens};
      all.all.queued = {all.all.queued.slots + one.queued.slots, all.all.queued.tokens + one.queued.tokens};
      for (const auto member :
           {&class_statistics::waiting, &class_statistics::admitted_total, &class_statistics::admitted_after_wait_total,
            &class_statistics::rejected_total, &class_statistics::expired_total, &class_statistics::shed_total,
            &class_statistics::cancelled_total, &class_statistics::preempted_total,
            &class_statistics::reserved_tokens_total, &class_statistics::consumed_tokens_total,
            &class_statistics::refunded_tokens_total, &class_statistics::overrun_tokens_total,
            &class_statistics::wasted_tokens_total}) {
        all.all.*member += one.*member;
      }
    }
    return all;
  }

  /// By when a tick is needed at the latest.
  [[nodiscard]] instant next_needed() const {
    instant next = never;
    for (const piece& one : waiting) next = std::min(next, one.asked.deadline);
    const sums now = add_up();
    const bool anybody = std::any_of(holding.begin(), holding.end(), [this](const piece& one) { return listed(one); });
    for (std::size_t c = 0; c < classes(); ++c) {
      const piece* const first = head(c);
      if (!anybody || first == nullptr || !within_floor(now, c, first->size())) continue;
      if (restore_at(*first) > now_) next = std::min(next, restore_at(*first));
    }
    return next;
  }

  [[nodiscard]] const policy& rules() const { return rules_; }
  [[nodiscard]] instant now() const { return now_; }
  [[nodiscard]] bool closed() const { return closed_; }

  std::vector<piece> waiting;
  std::vector<piece> holding;
  /// What the last event brought about; the caller clears it.
  std::vector<seen_effect> out;

  static piece* find(std::vector<piece>& among, std::uint64_t tag) {
    for (piece& one : among) {
      if (one.asked.tag == tag) return &one;
    }
    return nullptr;
  }

 private:
  struct sums {
    std::array<capacity, max_workloads> held{};
    std::array<capacity, max_workloads> stopping{};
    std::array<capacity, max_workloads> demand{};
    std::array<capacity, max_workloads> need{};
    capacity free{};
    capacity reclaiming{};
  };

  static void add(capacity& to, capacity what) { to = {to.slots + what.slots, to.tokens + what.tokens}; }

  [[nodiscard]] std::size_t classes() const { return rules_.classes.size(); }

  [[nodiscard]] sums add_up() const {
    sums now;
    now.free = rules_.total;
    for (const piece& one : holding) {
      const capacity part{one.asked.cost.slots, one.hold};
      add(now.held[one.workload()], part);
      add(now.free, {-part.slots, -part.tokens});
      if (!one.stopping) continue;
      add(now.stopping[one.workload()], part);
      add(now.reclaiming, part);
    }
    for (const piece& one : waiting) add(now.demand[one.workload()], one.size());
    for (std::size_t c = 0; c < classes(); ++c) {
      const capacity floor = rules_.classes[c].floor;
      now.need[c] = {std::min(std::max<std::int64_t>(0, floor.slots - now.held[c].slots), now.demand[c].slots),
                     std::min(std::max<std::int64_t>(0, floor.tokens - now.held[c].tokens), now.demand[c].tokens)};
    }
    return now;
  }

  [[nodiscard]] bool within_floor(const sums& now, std::size_t c, capacity part) const {
    const capacity floor = rules_.classes[c].floor;
    return now.held[c].slots + part.slots <= floor.slots && now.held[c].tokens + part.tokens <= floor.tokens;
  }

  [[nodiscard]] constraint room(const sums& now, std::size_t c, capacity part) const {
    const capacity ceiling = rules_.classes[c].ceiling;
    if (part.slots > ceiling.slots - now.held[c].slots) return constraint::class_slots;
    if (part.tokens > ceiling.tokens - now.held[c].tokens) return constraint::class_tokens;
    if (part.slots > now.free.slots) return constraint::pool_slots;
    if (part.tokens > now.free.tokens) return constraint::pool_tokens;
    if (within_floor(now, c, part)) return constraint::none;
    capacity others{};
    for (std::size_t other = 0; other < classes(); ++other) {
      if (other != c) add(others, now.need[other]);
    }
    if (now.free.slots < part.slots + others.slots) return constraint::protected_slots;
    if (now.free.tokens < part.tokens + others.tokens) return constraint::protected_tokens;
    return constraint::none;
  }
  [[nodiscard]] constraint room(std::size_t c, capacity part) const { return room(add_up(), c, part); }

  [[nodiscard]] constraint bound_of(const piece& one) const {
    const constraint bound = room(one.workload(), one.size());
    return bound == constraint::none ? constraint::order : bound;
  }

  [[nodiscard]] constraint possible(std::size_t c, capacity part) const {
    const capacity ceiling = rules_.classes[c].ceiling;
    if (ceiling.slots == 0 || part.slots > ceiling.slots) return constraint::class_slots;
    if (part.tokens > ceiling.tokens) return constraint::class_tokens;
    if (rules_.total.slots != 0 && part.slots > rules_.total.slots) return constraint::pool_slots;
    if (rules_.total.tokens != 0 && part.tokens > rules_.total.tokens) return constraint::pool_tokens;
    return constraint::none;
  }

  [[nodiscard]] reason objection(const request& what, constraint& bound) const {
    if (closed_) return reason::closed;
    if (what.workload.index() >= classes()) return reason::unknown_class;
    const cost& asked = what.cost;
    if (asked.slots < 0 || asked.tokens < 0 || asked.output_tokens < 0) return reason::invalid_cost;
    if (asked.output_tokens > asked.tokens) return reason::invalid_cost;
    bound = possible(what.workload.index(), {asked.slots, asked.tokens});
    if (bound != constraint::none) return reason::impossible;
    return what.deadline <= now_ ? reason::deadline_passed : reason::none;
  }

  /// The classes by priority, ties by the table.
  [[nodiscard]] std::vector<std::size_t> by_priority() const {
    std::vector<std::size_t> order;
    for (std::size_t c = 0; c < classes(); ++c) order.push_back(c);
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return rules_.classes[a].priority > rules_.classes[b].priority;
    });
    return order;
  }

  [[nodiscard]] const piece* head(std::size_t c) const {
    const piece* first = nullptr;
    for (const piece& one : waiting) {
      if (one.workload() != c) continue;
      if (first == nullptr ||
          std::pair(one.asked.deadline, one.sequence) < std::pair(first->asked.deadline, first->sequence))
        first = &one;
    }
    return first;
  }

  [[nodiscard]] const piece* next_to_start() const {
    const sums now = add_up();
    for (const bool floors : {true, false}) {
      for (const std::size_t c : by_priority()) {
        const piece* const first = head(c);
        if (first == nullptr || within_floor(now, c, first->size()) != floors) continue;
        const constraint bound = room(now, c, first->size());
        if (bound == constraint::none) return first;
        if (bound == constraint::pool_slots || bound == constraint::pool_tokens) return nullptr;
      }
    }
    return nullptr;
  }

  void advance(instant now) { now_ = std::max(now_, now); }

  piece made_from(const request& what) {
    piece made;
    made.asked = what;
    const bool again = what.age.sequence != 0;
    made.sequence = again ? what.age.sequence : ++sequences_;
    made.arrived = again ? what.age.arrived : now_;
    return made;
  }

  static piece take(std::vector<piece>& from, std::uint64_t tag) {
    const auto place = std::find_if(from.begin(), from.end(), [tag](const piece& one) { return one.asked.tag == tag; });
    piece taken = *place;
    from.erase(place);
    return taken;
  }

  void hold(piece one) {
    one.hold = one.asked.cost.tokens;
    one.number = ++grants_;
    ++counts_[one.workload()].admitted_total;
    counts_[one.workload()].reserved_tokens_total += one.hold;
    holding.push_back(one);
  }

  void reject(std::uint64_t tag, reason why, constraint bound) {
    const piece gone = take(waiting, tag);
    class_statistics& counts = counts_[gone.workload()];
    ++counts.rejected_total;
    if (why == reason::deadline_in_queue) ++counts.expired_total;
    if (why == reason::shed) ++counts.shed_total;
    out.push_back({effect::kind::rejected, tag, why, bound});
  }

  void reject_newcomer(const request& what, reason why, constraint bound) {
    if (what.workload.index() < classes()) ++counts_[what.workload.index()].rejected_total;
    out.push_back({effect::kind::rejected, what.tag, why, bound});
  }

  void settle() {
    expire();
    serve();
    restore();
  }

  void expire() {
    for (std::size_t c = 0; c < classes(); ++c) {
      for (const piece* first = head(c); first != nullptr && first->asked.deadline <= now_; first = head(c))
        reject(first->asked.tag, reason::deadline_in_queue, bound_of(*first));
    }
  }

  void serve() {
    for (const piece* next = next_to_start(); next != nullptr; next = next_to_start()) {
      const std::uint64_t tag = next->asked.tag;
      if (tag != newcomer_) ++counts_[next->workload()].admitted_after_wait_total;
      hold(take(waiting, tag));
      out.push_back({effect::kind::granted, tag, reason::none, constraint::none});
    }
  }

  void keep_bounds(std::uint64_t newcomer) {
    const std::size_t c = find(waiting, newcomer)->workload();
    const auto in_class = [this](std::size_t which) {
      return static_cast<std::size_t>(
          std::count_if(waiting.begin(), waiting.end(), [which](const piece& one) { return one.workload() == which; }));
    };
    if (in_class(c) > rules_.classes[c].max_waiting) {
      const std::uint64_t worst = worst_of(c);
      reject(worst, worst == newcomer ? reason::queue_full : reason::shed, constraint::class_queue);
      return;
    }
    if (waiting.size() <= rules_.max_waiting) return;
    const sums now = add_up();
    const std::vector<std::size_t> order = by_priority();
    std::uint64_t worst = newcomer;
    for (const std::size_t which : order) {
      const std::int64_t lacking = std::max<std::int64_t>(0, rules_.classes[which].floor.slots - now.held[which].slots);
      if (in_class(which) > 0 && now.demand[which].slots > lacking) worst = worst_of(which);
    }
    reject(worst, worst == newcomer ? reason::queue_full : reason::shed, constraint::queue);
  }

  [[nodiscard]] std::uint64_t worst_of(std::size_t c) const {
    const piece* worst = nullptr;
    const auto badness = [](const piece& one) {
      return std::pair(std::bit_width(static_cast<std::uint64_t>(one.asked.cost.tokens)), one.sequence);
    };
    for (const piece& one : waiting) {
      if (one.workload() == c && (worst == nullptr || badness(one) > badness(*worst))) worst = &one;
    }
    return worst->asked.tag;
  }

  [[nodiscard]] instant restore_at(const piece& first) const {
    duration patience = rules_.classes[first.workload()].restore_within;
    if (first.asked.deadline != never) patience = std::min(patience, (first.asked.deadline - first.arrived) / 2);
    return after(first.arrived, patience);
  }

  /// Whether it could be stopped at all.
  [[nodiscard]] bool listed(const piece& one) const {
    return one.stoppable && !one.stopping && rules_.classes[one.workload()].preemptible &&
           one.asked.age.preemptions < rules_.max_preemptions;
  }

  [[nodiscard]] bool may_stop(const sums& now, const piece& one) const {
    if (!listed(one)) return false;
    if (one.asked.cost.output_tokens > 0 && one.used.output_tokens * 5 >= one.asked.cost.output_tokens * 4)
      return false;
    const std::size_t c = one.workload();
    const capacity floor = rules_.classes[c].floor;
    const auto borrowed = [](std::int64_t held, std::int64_t floor_of_it, std::int64_t part) {
      return held > floor_of_it && held - part >= floor_of_it;
    };
    return borrowed(now.held[c].slots - now.stopping[c].slots, floor.slots, one.asked.cost.slots) ||
           borrowed(now.held[c].tokens - now.stopping[c].tokens, floor.tokens, one.hold);
  }

  void restore() {
    capacity target{};
    for (const std::size_t c : by_priority()) {
      const sums now = add_up();
      const piece* const first = head(c);
      if (first == nullptr || !within_floor(now, c, first->size()) || restore_at(*first) > now_) continue;
      add(target, now.need[c]);
      reclaim(c, target);
    }
  }

  void reclaim(std::size_t c, capacity target) {
    std::vector<piece*> victims;
    for (piece& one : holding) {
      if (rules_.classes[one.workload()].priority < rules_.classes[c].priority) victims.push_back(&one);
    }
    // The lowest class first (of equals the later in the table), in a class the newest grant first.
    std::sort(victims.begin(), victims.end(), [this](const piece* a, const piece* b) {
      const auto rank = [this](const piece* one) {
        return std::pair(-rules_.classes[one->workload()].priority, one->workload());
      };
      return std::pair(rank(a), a->number) > std::pair(rank(b), b->number);
    });
    for (piece* const one : victims) {
      const sums now = add_up();
      const capacity missing{target.slots - now.free.slots - now.reclaiming.slots,
                             target.tokens - now.free.tokens - now.reclaiming.tokens};
      const bool helps = (missing.slots > 0 && one->asked.cost.slots > 0) || (missing.tokens > 0 && one->hold > 0);
      if (!helps || !may_stop(now, *one)) continue;
      one->stopping = true;
      out.push_back({effect::kind::preempt, one->asked.tag, reason::none, constraint::none});
    }
  }

  static constexpr std::uint64_t no_tag = ~std::uint64_t{0};

  policy rules_;
  bool closed_ = false;
  instant now_{};
  std::uint64_t sequences_ = 0;
  std::uint64_t grants_ = 0;
  /// Who has come in this very event, and so has not waited when it starts.
  std::uint64_t newcomer_ = no_tag;
  std::array<class_statistics, max_workloads> counts_{};
};

}  // namespace sluice::core::testing
