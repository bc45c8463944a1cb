/// \file
/// The state machine and the reference model side by side: every event goes to both, and every answer is compared.
#pragma once

#include "core/reference/difference.hpp"
#include "core/reference/exercised.hpp"
#include "core/reference/model.hpp"

#include <sluice/core/admission.hpp>
#include <sluice/core/event.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::core::testing {

/// Each event says what is wrong after it, or nothing. Requests are known by their tags, which must be unique.
class paired_machine {
 public:
  using complaint = std::optional<std::string>;

  /// While a way is gone again that has been checked before, nothing is compared but the effects.
  bool replaying = false;

  explicit paired_machine(const policy& rules) : first_(rules), model_(rules), machine_(rules) {}

  complaint arrive(const request& what, instant now) {
    ++arrived_;
    ids_[what.tag] = {};
    const event_result got = put({now, events::arrive{what}});
    ids_[what.tag] = got.id;
    model_.arrive(what, now);
    return compare(what.tag);
  }

  /// What will become of a request is asked first, when all that is due has been done: nothing changes by it, and it
  /// becomes of it.
  complaint arrive_as_foretold(const request& what, instant now) {
    if (auto wrong = tick(now)) return wrong;
    const sluice::statistics before = machine_.statistics();
    const auto told = machine_.forecast(what, now);
    if (difference_of_statistics(machine_.statistics(), before)) return "a forecast changes the accounts";
    if (auto wrong = arrive(what, now)) return wrong;
    ++seen_.foretold;
    const auto of_it = [&what](const effect& one) {
      return one.tag == what.tag && (one.what == effect::kind::granted || one.what == effect::kind::rejected);
    };
    const auto answer = std::find_if(effects_.list.begin(), effects_.list.end(), of_it);
    const bool refused = answer != effects_.list.end() && answer->what == effect::kind::rejected;
    const bool at_once = answer != effects_.list.end() && !refused;
    if (told && told->at_once == at_once && !refused) return std::nullopt;
    const auto why = refused ? effects_.decisions[answer->detail] : decision{};
    if (!told && refused && told.error().reason == why.reason && told.error().bound == why.bound) return std::nullopt;
    // What is not foretold is what becomes of the others: one who comes may set some of them in motion, who then take
    // what was there, or leave behind what one waits for.
    const auto turned_away = [](reason one) {
      return one == reason::no_room || one == reason::rate_limited || one == reason::infeasible;
    };
    const bool would_wait = told && !told->at_once;
    const bool both_refused = !told && refused && turned_away(told.error().reason) && turned_away(why.reason);
    const bool others_moved = moved_others(what.tag, reason::shed) || moved_others(what.tag, reason::none);
    if (others_moved && (would_wait ? at_once || why.reason == reason::infeasible : both_refused)) {
      ++seen_.passed;
      return std::nullopt;
    }
    return std::to_string(what.tag) + " was foretold " +
           (told ? std::string(told->at_once ? "to start" : "to wait")
                 : std::string(to_string(told.error().reason)) + '/' + std::string(to_string(told.error().bound))) +
           ", and " +
           (refused ? std::string(to_string(why.reason)) + '/' + std::string(to_string(why.bound))
                    : std::string(at_once ? "starts" : "waits"));
  }

  complaint arrive_at_once(const request& what, instant now) {
    const event_result got = put({now, events::enter{what}});
    if (model_.arrive_at_once(what, now) != got.accepted)
      trouble_ = got.accepted ? "should not have been granted" : "should have been granted";
    if (got.accepted) {
      ids_[what.tag] = got.id;
      ++arrived_;
      ++granted_;
      resolve(what.tag);
    }
    return compare(what.tag);
  }

  complaint cancel(std::uint64_t tag, instant now) {
    const event_result got = put({now, events::cancel{id_of(tag)}});
    if (model_.cancel(tag, now) != got.accepted) trouble_ = "cancel answers otherwise";
    if (got.accepted) {
      resolve(tag);
      ++cancelled_;
    }
    return compare(tag);
  }

  complaint tick(instant now) {
    armed_ = never;
    put({now, events::tick{}});
    model_.tick(now);
    return compare(0);
  }

  complaint report(std::uint64_t tag, const progress& how_far, instant now) {
    const event_result got = put({now, events::report{id_of(tag), how_far}});
    if (model_.report(tag, how_far, now) != got.accepted) trouble_ = "report answers otherwise";
    return compare(tag);
  }

  complaint set_stoppable(std::uint64_t tag, bool stoppable, instant now) {
    put({now, events::set_stoppable{id_of(tag), stoppable}});
    model_.set_stoppable(tag, stoppable, now);
    return compare(tag);
  }

  complaint finish(std::uint64_t tag, ending how, std::optional<usage> used, instant now) {
    const event_result got = put({now, events::finish{id_of(tag), how, used}});
    if (model_.finish(tag, how, used, now) != got.accepted) trouble_ = "finish answers otherwise";
    effects none;
    if (machine_.finish(id_of(tag), how, used, now, none) || !none.list.empty()) trouble_ = "ended twice";
    return compare(tag);
  }

  complaint reconfigure(const policy& next, instant now) {
    const event_result got = put({now, events::reconfigure{std::make_shared<const policy>(next)}});
    if (model_.reconfigure(next, now) != got.accepted) trouble_ = "reconfigure answers otherwise";
    return compare(next.revision);
  }

  complaint close(instant now) {
    put({now, events::close{}});
    model_.close(now);
    return compare(0);
  }

  complaint signal(provider_signal said, instant now) {
    put({now, events::signal{{}, said}});
    model_.signal(said, now);
    return compare(0);
  }

  complaint pause(instant until, instant now) {
    put({now, events::pause{until}});
    model_.pause(until, now);
    return compare(0);
  }

  complaint report_limits(const provider_limits& said, instant now) {
    put({now, events::report_limits{said}});
    model_.report_limits(said, now);
    return compare(0);
  }

  complaint open_run(const run_options& what, instant now) {
    const event_result got = put({now, events::open_run{what}});
    const auto opened = model_.open_run(what);
    if (opened.has_value() != got.accepted) trouble_ = "open_run answers otherwise";
    if (opened) model_.runs.all[*opened].id = got.run;
    return compare(what.tag);
  }

  complaint extend_run(run_id run, const spending& more, instant now) {
    const event_result got = put({now, events::extend_run{run, more}});
    if (model_.extend_run(run, more, now) != got.accepted) trouble_ = "extend_run answers otherwise";
    return compare(run.index);
  }

  complaint charge_run(run_id run, const spending& what, instant now) {
    const event_result got = put({now, events::charge_run{run, what}});
    if (model_.charge_run(run, what, now) != got.accepted) trouble_ = "charge_run answers otherwise";
    return compare(run.index);
  }

  complaint close_run(run_id run, instant now, bool hold = false) {
    const event_result got = put({now, events::close_run{run, hold}});
    if (model_.close_run(run, hold, now) != got.accepted) trouble_ = "close_run answers otherwise";
    return compare(run.index);
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

  /// The same events again, on a machine that knows nothing: the effects are the same in everything.
  [[nodiscard]] complaint check_replay() const {
    admission again(first_);
    effects out;
    for (std::size_t i = 0; i < log_.size(); ++i) {
      out.clear();
      const event_result got = apply(again, log_[i].what, out);
      const effects& first = log_[i].out;
      const auto both = [](const auto& a, const auto& b) { return same(a, b); };
      if (got != log_[i].result || !std::ranges::equal(out.list, first.list, both) ||
          !std::ranges::equal(out.decisions, first.decisions, both))
        return "I8: event " + std::to_string(i) + " has other effects when it is played again";
    }
    return std::nullopt;
  }

  /// The age of a request that runs, counted as preempted once more.
  std::optional<age> age_when_preempted(std::uint64_t tag) {
    auto kept = machine_.age_of(id_of(tag));
    if (kept) ++kept->preemptions;
    return kept;
  }

  [[nodiscard]] const reference_model& model() const { return model_; }
  [[nodiscard]] const admission& machine() const { return machine_; }
  [[nodiscard]] const exercised& seen() const { return seen_; }
  [[nodiscard]] std::size_t events() const { return log_.size(); }

 private:
  struct played {
    event what;
    event_result result;
    effects out;
  };

  [[nodiscard]] request_id id_of(std::uint64_t tag) const {
    const auto place = ids_.find(tag);
    return place == ids_.end() ? request_id{} : place->second;
  }

  /// To the machine first: the model asks it for the order of those that no rule orders.
  event_result put(const event& one) {
    model_.out.clear();
    model_.named.clear();
    effects_.clear();
    const event_result got = apply(machine_, one, effects_);
    for (const effect& each : effects_.list) {
      const bool in_no_order =
          each.what == effect::kind::rejected || each.what == effect::kind::granted || each.what == effect::kind::stop;
      if (in_no_order) model_.named.push_back(each.tag);
    }
    ++seen_.events[one.what.index()];
    last_ = one;
    if (!replaying) log_.push_back({one, got, effects_});
    return got;
  }

  /// Whether another one than `tag` was turned away for `why`, or has started when that is none.
  [[nodiscard]] bool moved_others(std::uint64_t tag, reason why) const {
    return std::ranges::any_of(effects_.list, [&](const effect& one) {
      if (one.tag == tag) return false;
      return why == reason::none ? one.what == effect::kind::granted
                                 : one.what == effect::kind::rejected && effects_.decisions[one.detail].reason == why;
    });
  }

  void resolve(std::uint64_t tag) {
    if (++resolved_[tag] > 1) trouble_ = "I4: " + std::to_string(tag) + " was answered twice";
  }

  complaint compare(std::uint64_t tag) {
    auto wrong = difference_of_effects();
    if (!wrong && !replaying) wrong = difference_of_state();
    if (!wrong) return std::nullopt;
    const auto now = machine_.now().time_since_epoch().count();
    return std::string(name_of(last_)) + ' ' + std::to_string(tag) + " at " + std::to_string(now) + ": " + *wrong;
  }

  seen_effect judge(const effect& one) {
    seen_effect mine{one.what, one.tag};
    if (one.what == effect::kind::rejected) {
      const decision& why = effects_.decisions.at(one.detail);
      mine = {one.what, one.tag, why.reason, why.bound, why.revision, why.ahead, why.ahead_tokens, why.waited};
      ++seen_.reasons[static_cast<std::size_t>(why.reason)];
      ++seen_.bounds[static_cast<std::size_t>(why.bound)];
      ++rejected_;
      resolve(one.tag);
    } else if (one.what == effect::kind::granted) {
      ids_[one.tag] = one.id;
      ++granted_;
      resolve(one.tag);
    } else if (one.id != id_of(one.tag)) {
      trouble_ = "an effect names another request";
    }
    return mine;
  }

  complaint difference_of_effects() {
    std::vector<seen_effect> seen;
    for (const effect& one : effects_.list) {
      ++seen_.effects[static_cast<std::size_t>(one.what)];
      if (one.what == effect::kind::wake_at) {
        armed_ = one.at;
      } else if (one.what == effect::kind::budget_threshold) {
        thresholds_.push_back({one.tag, one.detail});
        const auto is_it = [&one](const plain_run& each) { return each.id == one.run() && each.tag == one.tag; };
        if (std::ranges::none_of(model_.runs.all, is_it)) trouble_ = "a threshold names another run";
      } else {
        seen.push_back(judge(one));
      }
    }
    if (trouble_) return std::exchange(trouble_, std::nullopt);
    if (seen != model_.out)
      return "effects differ: machine [" + written(seen) + "] model [" + written(model_.out) + ']';
    // Opening a run has no effects: its thresholds are told with the next event that has.
    const auto& crossed = model_.runs.crossed;
    const bool all_told =
        std::holds_alternative<events::arrive>(last_.what) || std::holds_alternative<events::tick>(last_.what);

    if (thresholds_.size() > crossed.size() || !std::equal(thresholds_.begin(), thresholds_.end(), crossed.begin()) ||
        (all_told && thresholds_.size() != crossed.size()))
      return "thresholds differ: " + difference_of_thresholds();
    return std::nullopt;
  }

  [[nodiscard]] std::string difference_of_thresholds() const {
    std::ostringstream text;
    const auto say = [&text](const char* who, const std::vector<seen_threshold>& all) {
      text << who << " has told of " << all.size() << ", at last:";
      for (std::size_t i = all.size() < 4 ? 0 : all.size() - 4; i < all.size(); ++i)
        text << " run " << all[i].tag << " at " << all[i].percent << " %";
    };
    say("machine", thresholds_);
    say("; model", model_.runs.crossed);
    return text.str();
  }

  static std::string written(const std::vector<seen_effect>& some) {
    std::ostringstream text;
    for (const auto& one : some) text << one << ", ";
    return text.str();
  }

  complaint difference_of_state() {
    if (auto broken = machine_.broken_invariant()) return broken;
    if (machine_.waiting() != model_.waiting.size()) return "another number waits";
    if (machine_.in_flight() != model_.holding.size()) return "another number is in flight";
    if (machine_.now() != model_.now()) return "another now";
    const sluice::statistics has = machine_.statistics();
    const sluice::statistics should = model_.statistics();
    if (auto wrong = difference_of_statistics(has, should)) return "statistics differ: " + *wrong;
    if (auto wrong = difference_of_runs(machine_, model_)) return wrong;
    if (auto wrong = difference_of_records()) return wrong;
    if (const instant needed = model_.next_needed(); armed_ > needed) {
      return "a tick is needed at " + std::to_string(needed.time_since_epoch().count()) + ", and was asked for at " +
             std::to_string(armed_.time_since_epoch().count());
    }
    return std::nullopt;
  }

  /// The explain record of one that waits and of one that runs: another one each time.
  complaint difference_of_records() {
    ++turn_;
    if (!model_.waiting.empty()) {
      const piece& one = model_.waiting[turn_ % model_.waiting.size()];
      const auto told = machine_.explain(id_of(one.asked.tag));
      if (!told || told->outcome != outcome::waiting) return "one that waits is not explained";
      const constraint bound = model_.bound_of_waiter(one.asked.tag);
      if (told->bound != bound) {
        return std::to_string(one.asked.tag) + " waits for " + std::string(to_string(told->bound)) + ", should be " +
               std::string(to_string(bound));
      }
      if (told->waited != machine_.now() - one.arrived) return "another wait";
      ++seen_.bounds[static_cast<std::size_t>(bound)];
    }
    if (model_.holding.empty()) return std::nullopt;
    const piece& one = model_.holding[turn_ % model_.holding.size()];
    const auto told = machine_.explain(id_of(one.asked.tag));
    const auto kept = machine_.age_of(id_of(one.asked.tag));
    if (!told || told->outcome != outcome::granted) return "one that runs is not explained";
    if (told->revision != one.revision) return "another revision granted it";
    if (told->observed != one.observed) return "whether it is only observed differs";
    if (one.observed) ++seen_.observed;
    if (!kept || kept->arrived != one.arrived || kept->sequence != one.sequence) return "another age";
    return std::nullopt;
  }

  policy first_;
  reference_model model_;
  admission machine_;
  effects effects_;
  instant armed_ = never;
  std::map<std::uint64_t, request_id> ids_;
  std::map<std::uint64_t, int> resolved_;
  std::vector<seen_threshold> thresholds_;
  complaint trouble_;
  std::uint64_t arrived_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t rejected_ = 0;
  std::uint64_t cancelled_ = 0;
  std::size_t turn_ = 0;
  exercised seen_;
  event last_{};
  std::vector<played> log_;
};

}  // namespace sluice::core::testing
