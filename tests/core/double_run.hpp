/// \file
/// Random policies and random events, put to the state machine and to the reference model at once.
#pragma once

#include "core/paired_machine.hpp"
#include "core/random_policy.hpp"

#include <sluice/core/admission.hpp>

#include <algorithm>
#include <chrono>
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

class double_run {
 public:
  using complaint = paired_machine::complaint;

  double_run(std::uint64_t seed, flavour kind, std::size_t class_count)
      : draw_(seed),
        kind_(kind),
        on_(random_features(draw_, kind)),
        both_(random_policy(draw_, kind, on_, class_count, 1)) {}

  /// Puts the event to both. Says what is wrong, or nothing.
  complaint step(const raw_event& one) {
    pass_time(one);
    // Now and then the caller's clock is behind.
    const instant when = one.d % 64 == 63 && now_ > instant{} + ms(5) ? now_ - ms(5) : now_;
    const std::uint32_t kind = one.kind % 100;
    if (kind < 36) return arrive(one, when, kind < 7);
    if (kind < 42) return both_.cancel(pick(one.b % 16 == 15 ? running() : waiting(), one.a), when);
    if (kind < 47) return both_.tick(when);
    if (kind < 57) return report(one, when);
    if (kind < 66) return both_.set_stoppable(pick(running(), one.a), one.b % 16 != 0, when);
    if (kind < 87) return finish(one, when);
    if (kind < 94) return on_.runs ? change_runs(one, kind, when) : finish(one, when);
    if (kind < 96) return both_.signal(static_cast<provider_signal>(one.a % 3), when);
    if (kind == 96 && one.a % 4 == 0 && on_.pauses) return both_.pause(when + ms(one.b % 12), when);
    if (kind == 98 && on_.reports) return report_limits(one, when);
    if (kind == 97 && one.a % 2 == 0) return reconfigure(when);
    if (kind == 99 && one.c % 300 == 0) return both_.close(when);
    return both_.tick(when);
  }

  /// Ends everything that runs and waits; then nothing may be held.
  complaint drain() {
    while (!waiting().empty() || !running().empty()) {
      const complaint wrong = running().empty() ? both_.cancel(waiting().front().asked.tag, now_)
                                                : both_.finish(running().front().asked.tag, ending::released, {}, now_);
      if (wrong) return wrong;
    }
    if (auto wrong = both_.check_empty()) return wrong;
    return both_.check_replay();
  }

  [[nodiscard]] const paired_machine& both() const { return both_; }

 private:
  using pieces = std::vector<piece>;
  [[nodiscard]] const pieces& waiting() const { return both_.model().waiting; }
  [[nodiscard]] const pieces& running() const { return both_.model().holding; }
  [[nodiscard]] const std::vector<plain_run>& runs() const { return both_.model().runs.all; }

  static duration ms(std::int64_t many) { return std::chrono::milliseconds(many); }

  static std::uint64_t pick(const pieces& among, std::uint32_t number) {
    return among.empty() ? 0 : among[number % among.size()].asked.tag;
  }

  void pass_time(const raw_event& one) {
    now_ += ms(one.d % 4);
    if (one.d / 64 % 64 == 0) now_ += duration(one.d % 1000);
    if (one.d / 64 % 256 == 1) now_ += ms(60);
    if (one.d / 64 % 2048 == 2) now_ += std::chrono::seconds(12);
  }

  complaint arrive(const raw_event& one, instant when, bool at_once) {
    request what;
    what.tag = ++tags_;
    const std::size_t classes = both_.model().rules().classes.size();
    what.workload = workload(static_cast<std::uint8_t>(one.a % classes));
    what.cost.slots = one.a / 16 % 16 < 12 ? 1 : one.a / 16 % 4;
    what.cost.tokens = one.b % 24;
    what.cost.output_tokens = one.b / 32 % 4 == 0 ? 0 : one.b / 128 % (one.b % 24 + 1);
    what.may_wait = one.c % 8 != 0;
    if (one.c / 8 % 2 == 0) what.deadline = now_ + ms(one.c / 16 % 60);
    if (on_.tenants) what.tenant = tenant(std::uint64_t{one.a / 256 % 6});
    if (on_.models && one.a / 2048 % 2 == 0) what.model = model(one.a / 4096 % 2 == 0 ? "small" : "large");
    if (on_.runs && !runs().empty() && one.a / 8192 % 4 != 0) {
      what.run = runs()[runs().size() - 1 - one.b / 4096 % std::min<std::size_t>(runs().size(), 12)].id;
      what.finalising = one.a / 32768 % 4 == 0;
    }
    if (on_.retries && one.a / 131072 % 3 == 0) what.kind = static_cast<attempt>(1 + one.a / 262144 % 2);
    if (one.c % 256 == 255) what.workload = workload(200);
    if (one.c % 256 == 254) what.cost.tokens = -1;
    if (one.c % 256 == 253) what.cost.output_tokens = what.cost.tokens + 1;
    if (at_once) return both_.arrive_at_once(what, when);
    if (!ages_.empty() && one.c % 3 == 0) {
      what.age = ages_.back();
      ages_.pop_back();
    }
    return one.b / 8192 % 4 == 0 ? both_.arrive_as_foretold(what, when) : both_.arrive(what, when);
  }

  /// Small numbers, and some that make no sense.
  complaint report_limits(const raw_event& one, instant when) {
    const auto some = [](std::uint32_t from, std::int64_t most) {
      provider_limit said;
      if (from % 3 == 0) said.per_minute = 60 * (1 + from / 4 % (4 * most));
      if (from % 4 != 0) said.remaining = from / 8 % most;
      if (from % 5 < 2) said.reset = ms(from / 16 % 40);
      if (from % 97 == 0) said.remaining = -5;
      if (from % 89 == 0) said.per_minute = -1;
      if (from % 83 == 0) said.reset = std::chrono::hours(30);
      if (from % 79 == 0) said.per_minute = said.remaining = std::int64_t{1} << 40;
      return said;
    };
    return both_.report_limits({some(one.a, 4), some(one.b, 40), some(one.c, 30), some(one.a ^ one.b, 60)}, when);
  }

  complaint report(const raw_event& one, instant when) {
    progress how_far{one.b / 16 % 16, one.b / 256 % 24, static_cast<std::int64_t>(one.c % 24) - 4, one.c / 32 % 8};
    if (one.c / 256 % 16 == 0) how_far.input_tokens = -1;
    if (one.c / 256 % 16 == 1) how_far.margin = -1;
    return both_.report(pick(one.b % 16 == 15 ? waiting() : running(), one.a), how_far, when);
  }

  complaint finish(const raw_event& one, instant when) {
    const pieces& among = one.b % 16 == 15 ? waiting() : running();
    const std::uint64_t tag = pick(among, one.a);
    const bool stopping = !among.empty() && among[one.a % among.size()].stopping;
    ending how = stopping && one.b % 4 != 0 ? ending::preempted : ending::released;
    if (one.b / 16 % 16 == 0) how = ending::abandoned;
    std::optional<usage> used;
    if (one.c % 3 != 0) used = usage{one.c / 4 % 16, one.c / 64 % 24};
    if (how == ending::preempted) {
      if (const auto kept = both_.age_when_preempted(tag)) ages_.push_back(*kept);
    }
    return both_.finish(tag, how, used, when);
  }

  complaint change_runs(const raw_event& one, std::uint32_t kind, instant when) {
    constexpr std::size_t most_runs = 40;
    const auto some = [](std::uint32_t from) -> std::int64_t { return from % 5 == 0 ? unlimited : from / 8 % 160; };
    if (kind >= 90 && !runs().empty()) {
      const run_id named = runs()[one.a % runs().size()].id;
      if (kind == 93) return both_.close_run(named, when, one.b % 3 == 0);
      if (kind == 92) return charge(named, one, when);
      const std::int64_t money = one.b % 64 == 0 ? -1 : 5;
      return both_.extend_run(named, {some(one.b) / 4, some(one.c) / 16, one.c / 64 % 3, money}, when);
    }
    if (runs().size() >= most_runs) return both_.tick(when);
    run_options what;
    what.tag = ++tags_;
    if (!runs().empty() && one.a % 3 != 0) {
      what.parent = runs()[one.a / 4 % runs().size()].id;
      what.funding = static_cast<run_funding>(one.a / 256 % 3);
    }
    what.limit = {some(one.b), some(one.b / 16) / 8, some(one.a / 512) / 16, some(one.c)};
    if (what.funding == run_funding::carve) what.limit.tokens = std::min<std::int64_t>(what.limit.tokens, 30);
    if (one.c % 4 == 0) what.finalise_reserve = {one.c / 8 % 30, one.c / 16 % 2, one.a % 2, one.c / 32 % 20};
    if (one.c % 64 == 1) what.limit.calls = -1;
    return both_.open_run(what, when);
  }

  complaint charge(run_id named, const raw_event& one, instant when) {
    spending what{.tokens = one.b % 12, .tool_calls = one.b / 16 % 3, .money = one.c % 4};
    if (one.c % 16 == 0) what.tokens = one.b / 64 % 80;
    if (one.c % 32 == 1) what.calls = 1;
    if (one.c % 64 == 2) what.money = -1;
    return both_.charge_run(named, what, when);
  }

  complaint reconfigure(instant when) {
    const policy& now = both_.model().rules();
    const std::uint64_t revision = now.revision + (draw_() % 8 == 0 ? 0 : 1);
    return both_.reconfigure(random_policy(draw_, kind_, on_, now.classes.size(), revision), when);
  }

  std::mt19937_64 draw_;
  flavour kind_;
  features on_;
  paired_machine both_;
  instant now_{};
  std::uint64_t tags_ = 0;
  std::vector<age> ages_;
};

}  // namespace sluice::core::testing
