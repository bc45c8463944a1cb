/// \file
/// The state machine and the reference model side by side: every event goes to both, and every answer is compared.
#pragma once

#include "core/reference_model.hpp"

#include <sluice/core/admission.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sluice::core::testing {

/// Each event says what is wrong after it, or nothing. Requests are known by their tags, which must be unique.
class paired_machine {
 public:
  using complaint = std::optional<std::string>;

  /// While a way is gone again that has been checked before, only the effects are.
  bool replaying = false;

  explicit paired_machine(const policy& rules) : model_(rules), machine_(rules) {}

  complaint arrive(const request& what, instant now) {
    begin();
    ids_[what.tag] = {};
    ++arrived_;
    model_.arrive(what, now);
    ids_[what.tag] = machine_.arrive(what, now, effects_);
    return compare("arrive", what.tag);
  }

  complaint arrive_at_once(const request& what, instant now) {
    begin();
    const bool expected = model_.arrive_at_once(what, now);
    const auto id = machine_.arrive_at_once(what, now);
    if (id.has_value() != expected) trouble_ = expected ? "should have been granted" : "should not have been granted";
    if (id) {
      ids_[what.tag] = *id;
      resolve(what.tag);
      ++arrived_;
      ++granted_;
    }
    return compare("arrive_at_once", what.tag);
  }

  complaint cancel(std::uint64_t tag, instant now) {
    begin();
    const bool expected = model_.cancel(tag, now);
    if (machine_.cancel(ids_[tag], now, effects_) != expected) trouble_ = "cancel answers otherwise";
    if (expected) {
      resolve(tag);
      ++cancelled_;
    }
    return compare("cancel", tag);
  }

  complaint tick(instant now) {
    begin();
    armed_ = never;
    model_.tick(now);
    machine_.tick(now, effects_);
    return compare("tick", 0);
  }

  complaint report(std::uint64_t tag, const progress& how_far, instant now) {
    begin();
    const bool expected = model_.report(tag, how_far, now);
    if (machine_.report(ids_[tag], how_far, now, effects_).has_value() != expected)
      trouble_ = "report answers otherwise";
    return compare("report", tag);
  }

  complaint set_stoppable(std::uint64_t tag, bool stoppable, instant now) {
    begin();
    model_.set_stoppable(tag, stoppable, now);
    machine_.set_stoppable(ids_[tag], stoppable, now, effects_);
    return compare("set_stoppable", tag);
  }

  complaint finish(std::uint64_t tag, ending how, std::optional<usage> used, instant now) {
    begin();
    const bool expected = model_.finish(tag, how, used, now);
    if (machine_.finish(ids_[tag], how, used, now, effects_) != expected) trouble_ = "finish answers otherwise";
    const std::size_t effects = effects_.list.size();
    if (machine_.finish(ids_[tag], how, used, now, effects_) || effects_.list.size() != effects)
      trouble_ = "ended twice";
    return compare(how == ending::preempted ? "finish preempted" : "finish", tag);
  }

  complaint reconfigure(const policy& next, instant now) {
    begin();
    const bool expected = model_.reconfigure(next, now);
    if (machine_.reconfigure(next, now, effects_).has_value() != expected) trouble_ = "reconfigure answers otherwise";
    return compare("reconfigure", next.revision);
  }

  complaint close(instant now) {
    begin();
    model_.close(now);
    machine_.close(now, effects_);
    return compare("close", 0);
  }

  /// When nothing waits or runs any more: nothing may be held, and every request must have had its answer.
  [[nodiscard]] complaint check_empty() const {
    const class_statistics all = machine_.statistics().all;
    if (all.held != capacity{} || all.queued != capacity{} || all.in_flight != 0) return "I7: not empty after drain";
    if (all.reserved_tokens_total != all.consumed_tokens_total + all.refunded_tokens_total - all.overrun_tokens_total)
      return "reserved is not consumed + refunded - overrun";
    if (arrived_ != granted_ + rejected_ + cancelled_) return "I4: not every request was resolved exactly once";
    return std::nullopt;
  }

  /// The age of a request that runs, counted as preempted once more.
  std::optional<age> age_when_preempted(std::uint64_t tag) {
    auto kept = machine_.age_of(ids_[tag]);
    if (kept) ++kept->preemptions;
    return kept;
  }

  [[nodiscard]] const reference_model& model() const { return model_; }
  [[nodiscard]] const admission& machine() const { return machine_; }
  [[nodiscard]] std::uint64_t granted() const { return granted_; }
  [[nodiscard]] std::uint64_t rejected() const { return rejected_; }
  [[nodiscard]] std::uint64_t preempted() const { return preempted_; }

 private:
  void begin() {
    model_.out.clear();
    effects_.clear();
  }

  void resolve(std::uint64_t tag) {
    if (++answers_[tag] > 1) trouble_ = "I4: " + std::to_string(tag) + " was answered twice";
  }

  complaint compare(const char* event, std::uint64_t tag) {
    auto wrong = difference_of_effects();
    if (!wrong && !replaying) wrong = difference_of_state();
    if (!wrong) return std::nullopt;
    const auto now = machine_.now().time_since_epoch().count();
    return std::string(event) + ' ' + std::to_string(tag) + " at " + std::to_string(now) + ": " + *wrong;
  }

  complaint difference_of_effects() {
    std::vector<seen_effect> seen;
    for (const effect& one : effects_.list) {
      if (one.what == effect::kind::wake_at) {
        armed_ = one.at;
        continue;
      }
      seen_effect mine{one.what, one.tag, reason::none, constraint::none};
      if (one.what == effect::kind::rejected) {
        const decision& why = effects_.decisions.at(one.detail);
        mine.why = why.reason;
        mine.bound = why.bound;
        ++rejected_;
        resolve(one.tag);
      }
      if (one.what == effect::kind::granted) {
        ids_[one.tag] = one.id;
        ++granted_;
        resolve(one.tag);
      } else if (one.what == effect::kind::preempt) {
        ++preempted_;
        if (one.id != ids_[one.tag]) trouble_ = "preempt names another request";
      }
      seen.push_back(mine);
    }
    // Those who go because the gate has changed go in no particular order.
    for (auto* const list : {&seen, &model_.out}) {
      const auto end = std::find_if(list->begin(), list->end(), [](const seen_effect& one) {
        return one.why != reason::impossible && one.why != reason::closed;
      });
      std::sort(list->begin(), end);
    }
    if (trouble_) return std::exchange(trouble_, std::nullopt);
    if (seen != model_.out) {
      std::ostringstream text;
      text << "effects differ: machine [";
      for (const auto& one : seen) text << one << ", ";
      text << "] model [";
      for (const auto& one : model_.out) text << one << ", ";
      text << ']';
      return text.str();
    }
    return std::nullopt;
  }

  complaint difference_of_state() const {
    if (auto broken = machine_.broken_invariant()) return broken;
    if (machine_.waiting() != model_.waiting.size()) return "another number waits";
    if (machine_.in_flight() != model_.holding.size()) return "another number is in flight";
    if (machine_.now() != model_.now()) return "another now";
    if (!same(machine_.statistics(), model_.statistics())) return "statistics differ: " + difference();
    if (const instant needed = model_.next_needed(); armed_ > needed) return "no tick was asked for in time";
    return std::nullopt;
  }

  static bool same(const sluice::statistics& a, const sluice::statistics& b) {
    return a.revision == b.revision && a.total == b.total && a.class_count == b.class_count && a.all == b.all &&
           a.classes == b.classes;
  }

  [[nodiscard]] std::string difference() const {
    const sluice::statistics a = machine_.statistics();
    const sluice::statistics b = model_.statistics();
    std::ostringstream text;
    for (std::size_t c = 0; c < a.class_count; ++c) {
      const auto& x = a.classes[c];
      const auto& y = b.classes[c];
      const auto say = [&](const char* name, std::int64_t has, std::int64_t should) {
        if (has != should) text << name << " of class " << c << ' ' << has << " should be " << should << "; ";
      };
      say("in_flight", x.in_flight, y.in_flight);
      say("held.slots", x.held.slots, y.held.slots);
      say("held.tokens", x.held.tokens, y.held.tokens);
      say("borrowed.slots", x.borrowed.slots, y.borrowed.slots);
      say("borrowed.tokens", x.borrowed.tokens, y.borrowed.tokens);
      say("waiting", x.waiting, y.waiting);
      say("queued.slots", x.queued.slots, y.queued.slots);
      say("queued.tokens", x.queued.tokens, y.queued.tokens);
      say("admitted", x.admitted_total, y.admitted_total);
      say("admitted_after_wait", x.admitted_after_wait_total, y.admitted_after_wait_total);
      say("rejected", x.rejected_total, y.rejected_total);
      say("expired", x.expired_total, y.expired_total);
      say("shed", x.shed_total, y.shed_total);
      say("cancelled", x.cancelled_total, y.cancelled_total);
      say("preempted", x.preempted_total, y.preempted_total);
      say("reserved", x.reserved_tokens_total, y.reserved_tokens_total);
      say("consumed", x.consumed_tokens_total, y.consumed_tokens_total);
      say("refunded", x.refunded_tokens_total, y.refunded_tokens_total);
      say("overrun", x.overrun_tokens_total, y.overrun_tokens_total);
      say("wasted", x.wasted_tokens_total, y.wasted_tokens_total);
    }
    return text.str();
  }

  reference_model model_;
  admission machine_;
  effects effects_;
  instant armed_ = never;
  std::map<std::uint64_t, request_id> ids_;
  std::map<std::uint64_t, int> answers_;
  complaint trouble_;
  std::uint64_t arrived_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t rejected_ = 0;
  std::uint64_t cancelled_ = 0;
  std::uint64_t preempted_ = 0;
};

}  // namespace sluice::core::testing
