/// \file
/// The run tree as a list of runs and a list of live reservations; each account is added up anew.
#pragma once

#include "core/budget.hpp"
#include "core/reference/piece.hpp"
#include "core/wide.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::core::testing {

using plain_amounts = std::array<wide, budget_axis_count>;

inline plain_amounts amounts_of(const run_limits& some) {
  return {some.tokens, some.calls, some.tool_calls, some.money};
}
inline plain_amounts amounts_of(const spending& some) { return {some.tokens, some.calls, some.tool_calls, some.money}; }

struct plain_run {
  run_id id{};
  std::uint64_t tag = 0;
  std::uint64_t rank = 0;
  std::optional<std::size_t> parent;
  std::size_t depth = 0;
  bool carved = false;
  plain_amounts limit{unlimited, unlimited, unlimited, unlimited};
  plain_amounts finalise{};
  plain_amounts spent_here{};
  bool open = true;
  /// Closed, and kept for somebody who has yet to let go of it.
  bool held = false;
  bool started = false;
  std::size_t told = 0;
};

class plain_runs {
 public:
  struct reservation {
    std::uint64_t tag = 0;
    std::size_t run = 0;
    plain_amounts amount{};
  };
  struct verdict {
    budget_verdict::kind what = budget_verdict::kind::ok;
    std::size_t axis = 0;
    std::size_t run = 0;
  };

  std::vector<plain_run> all;
  std::vector<reservation> live;
  /// All thresholds that were ever crossed, in their order.
  std::vector<seen_threshold> crossed;

  /// The run of that name, if it and all above it are open.
  [[nodiscard]] std::optional<std::size_t> find(run_id id) const {
    const auto run = find_open(id);
    for (auto at = run; at; at = all[*at].parent) {
      if (!all[*at].open) return std::nullopt;
    }
    return run;
  }
  [[nodiscard]] std::optional<std::size_t> find_open(run_id id) const {
    for (std::size_t run = 0; run < all.size(); ++run) {
      if (all[run].id == id && all[run].open) return run;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> find_held(run_id id) const {
    for (std::size_t run = 0; run < all.size(); ++run) {
      if (all[run].id == id && all[run].held) return run;
    }
    return std::nullopt;
  }

  /// The run itself and those above it, up to and including the first carved one.
  [[nodiscard]] std::vector<std::size_t> payers(std::size_t run) const {
    std::vector<std::size_t> found{run};
    while (!all[run].carved && all[run].parent) {
      run = *all[run].parent;
      found.push_back(run);
    }
    return found;
  }
  [[nodiscard]] bool pays(std::size_t run, std::size_t below) const {
    const std::vector<std::size_t> found = payers(below);
    return std::find(found.begin(), found.end(), run) != found.end();
  }

  [[nodiscard]] bool kept(std::size_t run) const {
    if (all[run].open || all[run].held) return true;
    for (const reservation& each : live) {
      if (each.run == run) return true;
    }
    for (std::size_t child = run + 1; child < all.size(); ++child) {
      if (all[child].parent == run && kept(child)) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t kept_count() const {
    std::size_t count = 0;
    for (std::size_t run = 0; run < all.size(); ++run) count += kept(run) ? 1U : 0U;
    return count;
  }

  [[nodiscard]] wide reserved(std::size_t run, std::size_t axis) const {
    wide sum = 0;
    for (const reservation& each : live) {
      if (pays(run, each.run)) sum += each.amount[axis];
    }
    for (std::size_t child = run + 1; child < all.size(); ++child) {
      if (!all[child].carved || !pays(run, *all[child].parent) || !kept(child)) continue;
      if (all[child].limit[axis] != unlimited) sum += all[child].limit[axis];
    }
    return sum;
  }
  [[nodiscard]] wide spent(std::size_t run, std::size_t axis) const {
    wide sum = 0;
    for (std::size_t below = run; below < all.size(); ++below) {
      if (pays(run, below)) sum += all[below].spent_here[axis];
      if (below == run || !all[below].carved || !pays(run, *all[below].parent) || kept(below)) continue;
      sum += spent(below, axis);
    }
    return sum;
  }

  [[nodiscard]] verdict check(std::size_t run, const spending& asked, bool finalising) const {
    const plain_amounts wanted = amounts_of(asked);
    verdict found;
    for (const std::size_t payer : payers(run)) {
      for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
        const plain_run& own = all[payer];
        if (own.limit[axis] == unlimited) continue;
        const wide limit = own.limit[axis] - (finalising ? 0 : own.finalise[axis]);
        const wide gone = spent(payer, axis);
        if (gone + wanted[axis] > limit) return {budget_verdict::kind::exhausted, axis, payer};
        if (found.what != budget_verdict::kind::ok || gone + reserved(payer, axis) + wanted[axis] <= limit) continue;
        found = {budget_verdict::kind::wait, axis, payer};
      }
    }
    return found;
  }

  /// The place of the new run, or nothing when it may not be opened.
  std::optional<std::size_t> open(const run_options& what, std::uint64_t rank) {
    plain_run made;
    made.tag = what.tag;
    made.rank = rank;
    const plain_amounts limit = amounts_of(what.limit);
    made.finalise = amounts_of(what.finalise_reserve);
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
      if (limit[axis] < 0 || made.finalise[axis] < 0) return std::nullopt;
    }
    if (what.parent == run_id{}) {
      made.limit = limit;
      for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
        if (made.finalise[axis] > limit[axis]) return std::nullopt;
      }
    } else {
      made.parent = find(what.parent);
      if (!made.parent || made.finalise != plain_amounts{}) return std::nullopt;
      made.rank = all[*made.parent].rank;
      made.depth = all[*made.parent].depth + 1;
      made.carved = what.funding == run_funding::carve;
      if (what.funding != run_funding::share) made.limit = limit;
      if (made.carved && !could_carve(*made.parent, limit)) return std::nullopt;
    }
    all.push_back(made);
    tell_thresholds();
    return all.size() - 1;
  }

  bool extend(std::size_t run, const spending& more) {
    const plain_amounts added = amounts_of(more);
    if (all[run].carved || std::any_of(added.begin(), added.end(), [](wide one) { return one < 0; })) return false;
    const plain_amounts before = all[run].limit;
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis)
      all[run].limit[axis] = std::min<wide>(unlimited, all[run].limit[axis] + added[axis]);
    while (all[run].limit != before && all[run].told > 0 && !reached(run, all[run].told - 1)) --all[run].told;
    return true;
  }

  void reserve(std::size_t run, std::uint64_t tag, const spending& asked) {
    live.push_back({tag, run, amounts_of(asked)});
    tell_thresholds();
  }

  /// Gives the runs that got something back, the lowest first.
  std::vector<std::size_t> settle(std::uint64_t tag, const spending& used) {
    const auto place = std::find_if(live.begin(), live.end(), [tag](const reservation& one) { return one.tag == tag; });
    const std::size_t run = place->run;
    std::vector<bool> before = kept_ones();
    live.erase(place);
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) all[run].spent_here[axis] += amounts_of(used)[axis];
    std::vector<std::size_t> eased = payers(run);
    add_settled_carves(before, eased);
    tell_thresholds();
    return eased;
  }

  /// Whether it is spent, at all who pay or at none.
  bool charge(std::size_t run, const spending& what) {
    const plain_amounts spent_now = amounts_of(what);
    if (std::any_of(spent_now.begin(), spent_now.end(), [](wide one) { return one < 0; })) return false;
    if (check(run, what, false).what != budget_verdict::kind::ok) return false;
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) all[run].spent_here[axis] += spent_now[axis];
    tell_thresholds();
    return true;
  }

  std::vector<std::size_t> close(std::size_t run, bool hold) {
    std::vector<bool> before = kept_ones();
    all[run].open = false;
    all[run].held = hold;
    std::vector<std::size_t> eased;
    add_settled_carves(before, eased);
    tell_thresholds();
    return eased;
  }

  [[nodiscard]] bool is_part_of(std::size_t run, std::size_t whole) const {
    for (std::optional<std::size_t> at = run; at; at = all[*at].parent) {
      if (*at == whole) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t root_of(std::size_t run) const {
    while (all[run].parent) run = *all[run].parent;
    return run;
  }

 private:
  [[nodiscard]] bool could_carve(std::size_t parent, const plain_amounts& limit) const {
    for (const std::size_t payer : payers(parent)) {
      for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
        if (all[payer].limit[axis] == unlimited) continue;
        if (limit[axis] == unlimited) return false;
        const wide free =
            all[payer].limit[axis] - all[payer].finalise[axis] - spent(payer, axis) - reserved(payer, axis);
        if (free < limit[axis]) return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::vector<bool> kept_ones() const {
    std::vector<bool> found;
    for (std::size_t run = 0; run < all.size(); ++run) found.push_back(kept(run));
    return found;
  }

  /// What a carved run did not spend goes back when it is kept no longer.
  void add_settled_carves(const std::vector<bool>& before, std::vector<std::size_t>& eased) const {
    for (std::size_t run = all.size(); run-- > 0;) {
      if (!before[run] || kept(run) || !all[run].carved) continue;
      for (const std::size_t payer : payers(*all[run].parent)) eased.push_back(payer);
    }
  }

  [[nodiscard]] bool reached(std::size_t run, std::size_t threshold) const {
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
      if (all[run].limit[axis] == unlimited) continue;
      const wide gone = spent(run, axis) + reserved(run, axis);
      if (gone > 0 && gone * 100 >= all[run].limit[axis] * budget::thresholds[threshold]) return true;
    }
    return false;
  }

  /// The lowest runs first.
  void tell_thresholds() {
    std::size_t deepest = 0;
    for (const plain_run& each : all) deepest = std::max(deepest, each.depth);
    for (std::size_t depth = deepest + 1; depth-- > 0;) {
      for (std::size_t run = 0; run < all.size(); ++run) {
        if (all[run].depth != depth) continue;
        while (all[run].told < budget::thresholds.size() && reached(run, all[run].told))
          crossed.push_back({all[run].tag, budget::thresholds[all[run].told++]});
      }
    }
  }
};

}  // namespace sluice::core::testing
