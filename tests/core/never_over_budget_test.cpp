// Trees of runs under all that can happen to them at a gate: nobody is ever over a limit, and nothing is left over.
#include <sluice/core/admission.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;

namespace {

constexpr std::array<std::int64_t spending::*, budget_axis_count> axes{&spending::tokens, &spending::calls,
                                                                       &spending::tool_calls, &spending::money};

void add(spending& to, const spending& more) {
  for (const auto axis : axes) to.*axis += more.*axis;
}

policy little_room() {
  policy made({10, 300});
  made.feasibility.enabled = false;
  made.overload.enabled = false;
  made.max_waiting = 30;
  for (class_policy& each : made.classes) each.elastic = {};
  made[interactive].restore_within = std::chrono::milliseconds(1);
  made.prices.emplace_back("large");
  made.prices.back().input_per_million = 300'000;
  made.prices.back().output_per_million = 1'500'000;
  made.explain_records = 0;
  return made;
}

/// Some trees at one gate. What is used is never more than what was reserved, so that nothing may ever be over.
class forest {
 public:
  explicit forest(std::uint64_t seed) : draw_(seed), machine_(little_room()) {}

  void step() {
    now_ += duration(below(200'000));
    out_.clear();
    const std::int64_t dice = below(1'000);
    if (runs_.empty() || dice < 12)
      open();
    else if (dice < 480)
      arrive();
    else if (dice < 840)
      finish();
    else if (dice < 860)
      cancel();
    else if (dice < 870)
      machine_.tick(now_, out_);
    else if (dice < 960)
      charge();
    else if (dice < 972)
      report();
    else if (dice < 985)
      extend();
    else
      close(pick(runs_.size()));
    take_in();
    check_touched();
    if (++events_ % 1'000 == 0) check_all();
  }

  /// Ends all that is under way, and all runs but the roots; then those.
  void end() {
    while (machine_.in_flight() != 0 || machine_.waiting() != 0) {
      out_.clear();
      if (machine_.in_flight() != 0)
        finish();
      else
        cancel();
      take_in();
      check_touched();
    }
    out_.clear();
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (runs_[run].parent) close(run);
    }
    check_all();
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const auto told = machine_.balance(runs_[run].id);
      if (!told) continue;
      REQUIRE(!runs_[run].parent);
      REQUIRE(told->reserved == spending{});
      REQUIRE(told->spent == runs_[run].spent_in_all);
      close(run);
    }
    const sluice::statistics all = machine_.statistics();
    REQUIRE(all.runs == 0);
    REQUIRE(all.all.held == capacity{});
    REQUIRE(all.all.queued == capacity{});
    REQUIRE(!machine_.broken_invariant());
  }

  struct counts {
    std::uint64_t reserved = 0;
    std::uint64_t charged = 0;
    std::uint64_t carved = 0;
    std::uint64_t refused = 0;
    std::uint64_t waited = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t failed = 0;
    std::uint64_t retried = 0;
    std::uint64_t checked = 0;
    std::uint64_t full = 0;
  };
  [[nodiscard]] const counts& seen() const { return seen_; }

 private:
  struct member {
    run_id id{};
    std::optional<std::size_t> parent;
    std::size_t root = 0;
    /// Of a root: what all in its tree has spent, by the test's own reckoning.
    spending spent_in_all{};
  };
  struct work {
    request asked{};
    request_id id{};
    std::size_t run = 0;
    usage so_far{};
    bool stopping = false;
  };

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(draw_() % static_cast<std::uint64_t>(bound));
  }
  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(draw_() % count); }
  std::int64_t limit(std::int64_t most) { return below(4) == 0 ? unlimited : 1 + below(most); }

  void open() {
    run_options what;
    member made;
    what.tag = made.root = runs_.size();
    const bool child = !runs_.empty() && below(6) != 0;
    if (child) {
      made.parent = runs_.size() - 1 - pick(std::min<std::size_t>(runs_.size(), 40));
      made.root = runs_[*made.parent].root;
      what.parent = runs_[*made.parent].id;
      what.funding = static_cast<run_funding>(below(3));
      what.limit = {limit(3'000), limit(80), limit(40), limit(2'000)};
    } else {
      what.limit = {2'000 + below(20'000), limit(600), limit(300), limit(15'000)};
      what.finalise_reserve = {.tokens = below(200), .calls = below(2)};
      if (what.limit.calls < what.finalise_reserve.calls) what.finalise_reserve.calls = 0;
    }
    const auto opened = machine_.open_run(what, now_);
    if (!opened) return;
    if (child && what.funding == run_funding::carve) ++seen_.carved;
    made.id = *opened;
    runs_.push_back(made);
    touched_.push_back(runs_.size() - 1);
  }

  void arrive() {
    request what;
    const std::size_t run = runs_.size() - 1 - pick(std::min<std::size_t>(runs_.size(), 40));
    what.run = runs_[run].id;
    what.tag = ++tags_;
    what.cost.tokens = 1 + below(60);
    what.cost.output_tokens = below(what.cost.tokens + 1);
    what.workload = below(3) == 0 ? batch : interactive;
    what.may_wait = below(4) != 0;
    if (below(8) == 0) what.deadline = now_ + duration(below(3'000'000));
    if (below(2) == 0) what.model = model("large");
    what.finalising = !runs_[run].parent && below(20) == 0;
    if (!again_.empty() && below(3) == 0) {
      what.kind = attempt::retry;
      what.age = again_.back();
      again_.pop_back();
      ++seen_.retried;
    }
    touched_.push_back(run);
    if (below(4) == 0) {
      const request_id id = machine_.enter(what, now_);
      if (id != request_id{}) {
        ++seen_.reserved;
        return running_.push_back({what, id, run});
      }
    }
    const request_id id = machine_.arrive(what, now_, out_);
    if (id != request_id{}) waiting_.push_back({what, id, run});
  }

  void finish() {
    if (running_.empty()) return;
    const std::size_t which = pick(running_.size());
    const work ended = running_[which];
    running_[which] = running_.back();
    running_.pop_back();
    const cost& asked = ended.asked.cost;
    const std::int64_t input = asked.tokens - asked.output_tokens;
    spending spent{.tokens = asked.tokens, .calls = 1, .money = price(ended.asked, input, asked.output_tokens)};
    std::optional<usage> used;
    const std::int64_t dice = below(10);
    // What has been reported stays spent.
    usage known = ended.so_far;
    if (dice != 0) {
      known = {std::max(ended.so_far.input_tokens, below(input + 1)),
               std::max(ended.so_far.output_tokens, below(asked.output_tokens + 1))};
      used = known;
    }
    if (used || known.input_tokens + known.output_tokens > 0) {
      spent.tokens = known.input_tokens + known.output_tokens;
      spent.money = price(ended.asked, known.input_tokens, known.output_tokens);
    }
    const ending how = ended.stopping ? ending::preempted : dice < 3 ? ending::abandoned : ending::released;
    if (how == ending::abandoned) {
      ++seen_.failed;
      if (auto age = machine_.age_of(ended.id)) again_.push_back(*age);
    }
    REQUIRE(machine_.finish(ended.id, how, used, now_, out_));
    add(runs_[runs_[ended.run].root].spent_in_all, spent);
    touched_.push_back(ended.run);
  }

  [[nodiscard]] static std::int64_t price(const request& of, std::int64_t input, std::int64_t output) {
    if (of.model != model("large")) return 0;
    return (input * 300'000 + output * 1'500'000 + 999'999) / 1'000'000;
  }

  void report() {
    if (running_.empty()) return;
    work& which = running_[pick(running_.size())];
    const std::int64_t input = which.asked.cost.tokens - which.asked.cost.output_tokens;
    const progress far{std::max(which.so_far.input_tokens, below(input + 1)),
                       std::max(which.so_far.output_tokens, below(which.asked.cost.output_tokens + 1)), -1, 0};
    REQUIRE(machine_.report(which.id, far, now_, out_));
    which.so_far = {far.input_tokens, far.output_tokens};
    machine_.set_stoppable(which.id, true, now_, out_);
    touched_.push_back(which.run);
  }

  void cancel() {
    if (waiting_.empty()) return;
    const work& which = waiting_[pick(waiting_.size())];
    touched_.push_back(which.run);
    REQUIRE(machine_.cancel(which.id, now_, out_));
    ++seen_.cancelled;
    std::erase_if(waiting_, [id = which.id](const work& each) { return each.id == id; });
  }

  void charge() {
    const std::size_t run = runs_.size() - 1 - pick(std::min<std::size_t>(runs_.size(), 40));
    const spending what{.tokens = below(6), .tool_calls = below(3), .money = below(12)};
    touched_.push_back(run);
    if (machine_.charge_run(runs_[run].id, what, now_, out_)) {
      ++seen_.charged;
      add(runs_[runs_[run].root].spent_in_all, what);
    } else {
      ++seen_.refused;
    }
  }

  void extend() {
    const std::size_t run = pick(runs_.size());
    touched_.push_back(run);
    static_cast<void>(machine_.extend_run(runs_[run].id, {below(900), below(30), below(10), below(500)}, now_, out_));
  }

  void close(std::size_t run) {
    if (!runs_[run].parent && machine_.in_flight() + machine_.waiting() != 0) return;
    machine_.close_run(runs_[run].id, now_, out_);
    touched_.push_back(run);
  }

  void take_in() {
    for (const effect& each : out_.list) {
      const bool refused = each.what == effect::kind::rejected;
      const auto is_it = [&each](const work& one) { return one.asked.tag == each.tag; };
      if (each.what == effect::kind::preempt) {
        std::ranges::find_if(running_, is_it)->stopping = true;
      }
      if (!refused && each.what != effect::kind::granted) continue;
      const auto place = std::ranges::find_if(waiting_, is_it);
      if (refused) ++seen_.refused;
      // One that is refused as it comes has no place.
      if (place == waiting_.end()) continue;
      touched_.push_back(place->run);
      if (!refused) {
        ++seen_.reserved;
        // The last one that has come may have come now.
        if (each.tag != tags_) ++seen_.waited;
        running_.push_back(*place);
        running_.back().id = each.id;
      }
      *place = waiting_.back();
      waiting_.pop_back();
    }
  }

  void check(std::size_t run) {
    const auto told = machine_.balance(runs_[run].id);
    if (!told) return;
    ++seen_.checked;
    for (const auto axis : axes) {
      const bool sound = told->spent.*axis >= 0 && told->reserved.*axis >= 0 && told->remaining.*axis >= 0;
      // Not by one.
      const std::int64_t limit = told->limit.*axis;
      const bool within = limit == unlimited || told->spent.*axis + told->reserved.*axis <= limit;
      if (!sound || !within) FAIL("event " << events_ << ": run " << run << " is over its limit or below zero");
      if (limit != unlimited && told->spent.*axis + told->reserved.*axis == limit) ++seen_.full;
    }
  }

  /// What an event was about, and all above it.
  void check_touched() {
    for (const std::size_t each : touched_) {
      for (std::optional<std::size_t> at = each; at; at = runs_[*at].parent) check(*at);
    }
    touched_.clear();
  }

  void check_all() {
    for (std::size_t run = 0; run < runs_.size(); ++run) check(run);
    if (const auto broken = machine_.broken_invariant()) FAIL("event " << events_ << ": " << *broken);
  }

  std::mt19937_64 draw_;
  admission machine_;
  instant now_{};
  effects out_;
  std::uint64_t tags_ = 0;
  std::uint64_t events_ = 0;
  std::vector<member> runs_;
  std::vector<work> waiting_;
  std::vector<work> running_;
  std::vector<age> again_;
  std::vector<std::size_t> touched_;
  counts seen_;
};

}  // namespace

TEST_CASE("in a million reservations no run is ever over a limit, not by one token, and nothing is left over") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t wanted = 50'000;
#else
  constexpr std::uint64_t wanted = 1'000'000;
#endif
  forest::counts all;
  const auto reserved = [&all] { return all.reserved + all.charged + all.carved; };
  std::uint64_t forests = 0;
  for (; reserved() < wanted; ++forests) {
    forest some(forests);
    for (int event = 0; event < 3'000; ++event) some.step();
    some.end();
    const forest::counts& seen = some.seen();
    all.reserved += seen.reserved;
    all.charged += seen.charged;
    all.carved += seen.carved;
    all.refused += seen.refused;
    all.waited += seen.waited;
    all.cancelled += seen.cancelled;
    all.failed += seen.failed;
    all.retried += seen.retried;
    all.checked += seen.checked;
    all.full += seen.full;
  }
  MESSAGE(forests << " forests: " << all.reserved << " requests let in, " << all.charged << " charges and "
                  << all.carved << " carves; of the requests " << all.waited << " had waited; " << all.refused
                  << " refused, " << all.cancelled << " cancelled, " << all.failed << " failed, " << all.retried
                  << " tried again; " << all.checked << " accounts looked at, " << all.full
                  << " of them full to the last unit");
  CHECK(reserved() >= wanted);
  // They came through everything, and to the limit itself.
  CHECK(all.charged > wanted / 50);
  CHECK(all.carved > wanted / 1'000);
  CHECK(all.refused > wanted / 10);
  CHECK(all.waited > wanted / 200);
  CHECK(all.cancelled > wanted / 200);
  CHECK(all.failed > wanted / 50);
  CHECK(all.retried > wanted / 200);
  CHECK(all.full > wanted / 100);
}
