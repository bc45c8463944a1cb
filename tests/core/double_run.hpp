/// \file
/// Random policies and random events, put to the state machine and to the reference model at once.
#pragma once

#include "core/paired_machine.hpp"

#include <sluice/core/admission.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace sluice::core::testing {

/// One event, as numbers that mean something only to `double_run`, so that any numbers will do.
struct raw_event {
  std::uint32_t kind = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t d = 0;
};

inline std::ostream& operator<<(std::ostream& to, const raw_event& one) {
  return to << '{' << one.kind << ',' << one.a << ',' << one.b << ',' << one.c << ',' << one.d << '}';
}

/// What the policies of a run are like.
enum class flavour {
  /// Anything valid, with small numbers, so that everything is scarce.
  any,
  /// High classes with floors, low ones that borrow them and can be stopped.
  lending,
};

inline policy random_policy(std::mt19937_64& draw, flavour kind, std::size_t class_count, std::uint64_t revision) {
  const auto upto = [&draw](std::int64_t most) {
    return static_cast<std::int64_t>(draw() % (static_cast<std::uint64_t>(most) + 1));
  };
  const bool lending = kind == flavour::lending;
  capacity total = lending ? capacity{3 + upto(9), 80 + upto(120)} : capacity{upto(9), upto(60)};
  if (total.tokens != 0) total.tokens = std::max(total.tokens, total.slots);
  policy made(total);
  if (!lending && upto(9) == 0) made.total.slots = 0;
  while (made.classes.size() < class_count) made.add_class(class_policy("class" + std::to_string(made.classes.size())));
  capacity left = made.total;
  for (class_policy& each : made.classes) {
    each.priority = static_cast<int>(upto(3));
    each.floor = upto(2) == 0 ? capacity{} : capacity{upto(left.slots), upto(left.tokens)};
    if (lending)
      each.floor =
          each.priority > 1 ? capacity{left.slots - left.slots / 4, left.tokens - left.tokens / 4} : capacity{};
    if (each.floor.slots == 0 || each.floor.tokens == 0) each.floor = {};
    left = {left.slots - each.floor.slots, left.tokens - each.floor.tokens};
    each.ceiling = lending || upto(1) == 0 ? capacity{unlimited, unlimited}
                                           : capacity{each.floor.slots + upto(5), each.floor.tokens + upto(40)};
    each.preemptible = lending || upto(1) == 0;
    each.restore_within = duration(upto(12));
    if (upto(3) == 0) each.max_waiting = static_cast<std::size_t>(upto(4));
  }
  made.max_waiting = upto(1) == 0 ? static_cast<std::size_t>(upto(12)) : 10'000;
  made.max_preemptions = static_cast<int>(upto(2));
  made.revision = revision;
  return made;
}

class double_run {
 public:
  using complaint = paired_machine::complaint;

  double_run(std::uint64_t seed, flavour kind, std::size_t class_count)
      : draw_(seed), kind_(kind), both_(random_policy(draw_, kind_, class_count, 1)) {}

  /// Puts the event to both. Says what is wrong, or nothing.
  complaint step(const raw_event& event) {
    now_ += duration(event.d % 4);
    // Now and then the caller's clock is behind.
    const instant when = event.d % 64 == 63 && now_ > instant{} + duration(5) ? now_ - duration(5) : now_;
    const std::uint32_t kind = event.kind % 100;
    if (kind < 40) return arrive(event, when, kind < 8);
    if (kind < 50) return both_.cancel(pick(event.b % 16 == 15 ? running() : waiting(), event.a), when);
    if (kind < 55) return both_.tick(when);
    if (kind < 65) return report(event, when);
    if (kind < 78) return both_.set_stoppable(pick(running(), event.a), event.b % 16 != 0, when);
    if (kind < 97) return finish(event, when);
    if (kind == 98) return reconfigure(when);
    if (kind == 99 && event.c % 400 == 0) return both_.close(when);
    return both_.tick(when);
  }

  /// Ends everything that runs and waits; then nothing may be held.
  complaint drain() {
    while (!waiting().empty() || !running().empty()) {
      const complaint wrong = running().empty() ? both_.cancel(waiting().front().asked.tag, now_)
                                                : both_.finish(running().front().asked.tag, ending::released, {}, now_);
      if (wrong) return wrong;
    }
    return both_.check_empty();
  }

  [[nodiscard]] const paired_machine& both() const { return both_; }

 private:
  using pieces = std::vector<reference_model::piece>;
  [[nodiscard]] const pieces& waiting() const { return both_.model().waiting; }
  [[nodiscard]] const pieces& running() const { return both_.model().holding; }

  static std::uint64_t pick(const pieces& among, std::uint32_t number) {
    return among.empty() ? 0 : among[number % among.size()].asked.tag;
  }

  complaint arrive(const raw_event& event, instant when, bool at_once) {
    request what;
    what.tag = ++tags_;
    what.workload = workload(static_cast<std::uint8_t>(event.a % both_.model().rules().classes.size()));
    what.cost.slots = event.a / 16 % 16 < 12 ? 1 : event.a / 16 % 4;
    what.cost.tokens = event.b % 24;
    what.cost.output_tokens = event.b / 32 % 4 == 0 ? 0 : event.b / 128 % (event.b % 24 + 1);
    what.may_wait = event.c % 8 != 0;
    if (event.c / 8 % 2 == 0) what.deadline = now_ + duration(event.c / 16 % 40);
    if (event.c % 256 == 255) what.workload = workload(200);
    if (event.c % 256 == 254) what.cost.tokens = -1;
    if (event.c % 256 == 253) what.cost.output_tokens = what.cost.tokens + 1;
    if (at_once) return both_.arrive_at_once(what, when);
    if (!ages_.empty() && event.c % 3 == 0) {
      what.age = ages_.back();
      ages_.pop_back();
    }
    return both_.arrive(what, when);
  }

  complaint report(const raw_event& event, instant when) {
    progress how_far{event.b / 16 % 16, event.b / 256 % 24, static_cast<std::int64_t>(event.c % 24) - 4,
                     event.c / 32 % 8};
    if (event.c / 256 % 16 == 0) how_far.input_tokens = -1;
    if (event.c / 256 % 16 == 1) how_far.margin = -1;
    return both_.report(pick(event.b % 16 == 15 ? waiting() : running(), event.a), how_far, when);
  }

  complaint finish(const raw_event& event, instant when) {
    const pieces& among = event.b % 16 == 15 ? waiting() : running();
    const std::uint64_t tag = pick(among, event.a);
    const bool stopping = !among.empty() && among[event.a % among.size()].stopping;
    const ending how = stopping && event.b % 4 != 0 ? ending::preempted : ending::released;
    std::optional<usage> used;
    if (event.c % 3 != 0) used = usage{event.c / 4 % 16, event.c / 64 % 24};
    if (how == ending::preempted) {
      if (const auto kept = both_.age_when_preempted(tag)) ages_.push_back(*kept);
    }
    return both_.finish(tag, how, used, when);
  }

  complaint reconfigure(instant when) {
    const std::uint64_t revision = both_.model().rules().revision + (draw_() % 8 == 0 ? 0 : 1);
    return both_.reconfigure(random_policy(draw_, kind_, both_.model().rules().classes.size(), revision), when);
  }

  std::mt19937_64 draw_;
  flavour kind_;
  paired_machine both_;
  instant now_{};
  std::uint64_t tags_ = 0;
  std::vector<age> ages_;
};

}  // namespace sluice::core::testing
