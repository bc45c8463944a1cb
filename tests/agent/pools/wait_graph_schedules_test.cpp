#include "agent/pools/wait_graph.hpp"

#include <sluice/core/cost.hpp>
#include <sluice/core/workload.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// Against a reference that tries all schedules.

using sluice::error;
using sluice::interactive;
using sluice::agent::detail::wait_graph;

namespace {

wait_graph::pool::ceilings no_ceilings() {
  wait_graph::pool::ceilings most;
  most.fill(sluice::unlimited);
  return most;
}

class place final : public wait_graph::place {
 public:
  using wait_graph::place::place;
  std::optional<error> told;

 private:
  void refused(error why) noexcept override { told = std::move(why); }
};

/// A small world as plain data. The reference moves only what can move: a run that waits for nothing ends, which gives
/// its places back; a waiter is let in where there is room.
struct model {
  struct run {
    int parent = -1;
    bool awaited = false;
    int batch = -1;
    bool ended = false;
    /// The pool that it waits for, or none; and when it began to.
    int wants = -1;
    std::uint64_t since = 0;
    std::vector<int> holds;
    friend bool operator<(const run& left, const run& right) {
      return std::tie(left.ended, left.wants, left.holds) < std::tie(right.ended, right.wants, right.holds);
    }
  };
  struct group {
    int owner = -1;
    int needed = 0;
    bool awaited = false;
    friend bool operator<(const group& left, const group& right) { return left.needed < right.needed; }
  };
  std::vector<run> runs;
  std::vector<group> groups;
  std::vector<int> sizes;

  friend bool operator<(const model& left, const model& right) {
    return std::tie(left.runs, left.groups) < std::tie(right.runs, right.groups);
  }

  [[nodiscard]] int held(int pool) const {
    int count = 0;
    for (const run& each : runs) count += static_cast<int>(std::count(each.holds.begin(), each.holds.end(), pool));
    return count;
  }
  [[nodiscard]] bool waits(int which) const {
    if (runs[at(which)].wants >= 0) return true;
    for (const run& each : runs) {
      if (!each.ended && each.awaited && each.parent == which) return true;
    }
    return std::any_of(groups.begin(), groups.end(),
                       [which](const group& each) { return each.owner == which && each.awaited && each.needed > 0; });
  }
  void end(int which) {
    run& ending = runs[at(which)];
    ending.ended = true;
    ending.holds.clear();
    if (ending.batch >= 0 && groups[at(ending.batch)].needed > 0) --groups[at(ending.batch)].needed;
  }
  /// Whether some schedule ends all runs of which none is left over.
  [[nodiscard]] bool can_all_end(std::set<model>& tried) const {
    bool all = true;
    for (const run& each : runs) all = all && each.ended;
    if (all) return true;
    if (!tried.insert(*this).second) return false;
    for (int which = 0; which < static_cast<int>(runs.size()); ++which) {
      if (runs[at(which)].ended) continue;
      model next = *this;
      if (const int pool = runs[at(which)].wants; pool >= 0 && held(pool) < sizes[at(pool)]) {
        next.runs[at(which)].wants = -1;
        next.runs[at(which)].holds.push_back(pool);
      } else if (!waits(which)) {
        next.end(which);
      } else {
        continue;
      }
      if (next.can_all_end(tried)) return true;
    }
    return false;
  }
  [[nodiscard]] bool can_all_end() const {
    std::set<model> tried;
    return can_all_end(tried);
  }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
};

/// The same world twice: as the graph sees it, and as plain data.
class twins {
 public:
  explicit twins(std::uint64_t seed) : random_(seed) {
    for (int each = below(2) + 1; each > 0; --each) {
      plain_.sizes.push_back(below(2) + 1);
      pools_.push_back(std::make_unique<wait_graph::pool>(graph_, plain_.sizes.back(), no_ceilings()));
    }
  }
  ~twins() {
    places_.clear();
    batches_.clear();
    while (!runs_.empty()) runs_.pop_back();
  }

  int alarms = 0;
  /// Children that their parent opened and does not wait for.
  int beside = 0;

  void play(int steps) {
    for (int step = 0; step < steps; ++step) {
      one_step();
      settle();
      CAPTURE(step);
      REQUIRE(plain_.can_all_end());
    }
  }

 private:
  struct spot {
    int run;
    int pool;
    std::unique_ptr<place> in;
    bool held;
  };

  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void one_step() {
    const int count = static_cast<int>(plain_.runs.size());
    switch (below(6)) {
      case 0:
        if (count < 6) open();
        break;
      case 1:
      case 2: ask(); break;
      case 3: await_group(); break;
      case 4: end_one(true); break;
      case 5: end_one(false); break;
      default: break;
    }
  }

  [[nodiscard]] std::vector<int> free_runs() const {
    std::vector<int> found;
    for (int each = 0; each < static_cast<int>(plain_.runs.size()); ++each) {
      const model::run& run = plain_.runs[at(each)];
      if (!run.ended && run.wants < 0) found.push_back(each);
    }
    return found;
  }

  void open() {
    const auto parents = free_runs();
    model::run made;
    if (!parents.empty() && below(3) != 0) {
      made.parent = parents[at(below(static_cast<int>(parents.size())))];
      const int kind = below(5);
      made.awaited = kind < 2;
      if (kind == 2 || kind == 3) made.batch = group_of(made.parent);
      if (kind == 4) ++beside;
    }
    names_.push_back("r" + std::to_string(plain_.runs.size()));
    runs_.push_back(std::make_unique<wait_graph::run>(
        graph_, names_.back(), made.parent < 0 ? nullptr : runs_[at(made.parent)].get(), made.awaited));
    if (made.batch >= 0) batches_[at(made.batch)]->add(*runs_.back());
    plain_.runs.push_back(made);
  }

  int group_of(int owner) {
    for (std::size_t each = 0; each < plain_.groups.size(); ++each) {
      if (plain_.groups[each].owner == owner && !plain_.groups[each].awaited) return static_cast<int>(each);
    }
    plain_.groups.push_back({owner, 0, false});
    batches_.push_back(std::make_unique<wait_graph::batch>(*runs_[at(owner)]));
    return static_cast<int>(plain_.groups.size()) - 1;
  }

  [[nodiscard]] int members(int group) const {
    return static_cast<int>(std::count_if(plain_.runs.begin(), plain_.runs.end(), [group](const model::run& each) {
      return each.batch == group && !each.ended;
    }));
  }

  void ask() {
    const auto askers = free_runs();
    if (askers.empty()) return;
    const int who = askers[at(below(static_cast<int>(askers.size())))];
    const int pool = below(static_cast<int>(plain_.sizes.size()));
    auto made = std::make_unique<place>(*runs_[at(who)], *pools_[at(pool)], interactive);
    if (plain_.held(pool) < plain_.sizes[at(pool)]) {
      plain_.runs[at(who)].holds.push_back(pool);
      place& taken = *made;
      places_.push_back({who, pool, std::move(made), true});
      taken.hold();
      return;
    }
    model with = plain_;
    with.runs[at(who)].wants = pool;
    const bool fine = with.can_all_end();
    const auto why = made->want();
    CAPTURE(who);
    CAPTURE(pool);
    // Neither a false alarm nor a missed circle.
    REQUIRE(fine == !why.has_value());
    if (why) {
      ++alarms;
      return;
    }
    with.runs[at(who)].since = ++asked_;
    plain_ = with;
    places_.push_back({who, pool, std::move(made), false});
  }

  void await_group() {
    for (int each = 0; each < static_cast<int>(plain_.groups.size()); ++each) {
      model::group& group = plain_.groups[at(each)];
      const int size = members(each);
      if (group.awaited || size == 0 || plain_.runs[at(group.owner)].ended || plain_.runs[at(group.owner)].wants >= 0)
        continue;
      group.awaited = true;
      group.needed = below(size) + 1;
      batches_[at(each)]->wait_for(at(group.needed), 0);
      return;
    }
  }

  void end_one(bool well) {
    for (const int who : free_runs()) {
      if (plain_.waits(who) || below(2) == 0) continue;
      const int group = plain_.runs[at(who)].batch;
      if (well || group < 0) {
        plain_.end(who);
      } else {
        // It has failed: the group still needs as many, unless it cannot have them any more, and is done.
        model::group& of = plain_.groups[at(group)];
        const int needed = of.needed;
        plain_.end(who);
        of.needed = needed > members(group) ? 0 : needed;
      }
      for (auto each = places_.begin(); each != places_.end();) {
        each = each->run == who ? places_.erase(each) : std::next(each);
      }
      runs_[at(who)]->close();
      if (group >= 0) {
        model::group& of = plain_.groups[at(group)];
        batches_[at(group)]->remove(*runs_[at(who)]);
        if (of.awaited && of.needed == 0) batches_[at(group)]->end();
        if (of.awaited && of.needed > 0) batches_[at(group)]->wait_for(at(of.needed), 0);
      }
      let_in();
      return;
    }
  }

  void let_in() {
    for (std::size_t each = 0; each < places_.size(); ++each) {
      spot& next = places_[each];
      if (next.held || next.in->told || plain_.held(next.pool) >= plain_.sizes[at(next.pool)]) continue;
      settle();
      next.held = true;
      plain_.runs[at(next.run)].wants = -1;
      plain_.runs[at(next.run)].holds.push_back(next.pool);
      next.in->hold();
    }
  }

  /// Takes over what the graph has refused in mid-wait: only where there really was a circle.
  void settle() {
    const bool any =
        std::any_of(places_.begin(), places_.end(), [](const spot& each) { return each.in->told.has_value(); });
    if (any) REQUIRE_FALSE(plain_.can_all_end());
    for (auto each = places_.begin(); each != places_.end();) {
      if (!each->in->told) {
        ++each;
        continue;
      }
      ++alarms;
      plain_.runs[at(each->run)].wants = -1;
      each = places_.erase(each);
    }
  }

  std::mt19937_64 random_;
  wait_graph graph_;
  model plain_;
  std::deque<std::string> names_;
  std::deque<std::unique_ptr<wait_graph::run>> runs_;
  std::deque<std::unique_ptr<wait_graph::pool>> pools_;
  std::deque<std::unique_ptr<wait_graph::batch>> batches_;
  std::deque<spot> places_;
  std::uint64_t asked_ = 0;
};

}  // namespace

TEST_CASE("against all schedules: no circle is missed, and none is reported where there is none") {
  int alarms = 0;
  int beside = 0;
  for (std::uint64_t seed = 1; seed <= 4'000; ++seed) {
    CAPTURE(seed);
    twins both(seed);
    both.play(25);
    alarms += both.alarms;
    beside += both.beside;
  }
  // Enough of them that the comparison means something.
  CHECK(alarms > 1'000);
  CHECK(beside > 1'000);
}
