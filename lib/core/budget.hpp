/// \file
/// `budget`: the tree of runs, and what each may spend, has spent and has set aside, with all that is below it.
#pragma once

#include "core/slab.hpp"
#include "core/wide.hpp"

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/run.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice::core {

/// No run, in the place of its index.
inline constexpr std::uint32_t no_run = 0xffff'ffff;

/// Whether a run can pay.
struct budget_verdict {
  enum class kind : std::uint8_t {
    /// It and all that pay with it can set it aside now.
    ok,
    /// Not now, but it could if what is set aside now were not spent.
    wait,
    /// Not any more, unless a limit is raised.
    exhausted,
  };
  kind what = kind::ok;
  /// The lowest run that cannot pay, and the first axis on which it cannot.
  budget_axis axis = budget_axis::tokens;
  std::uint32_t node = no_run;
  /// Of that run: its limit for this request; how much of it was there, never negative; how much more would have done.
  std::int64_t limit = 0;
  std::int64_t available = 0;
  std::int64_t shortfall = 0;
};

/// A run has spent or set aside `percent` of its limit on some axis.
struct budget_crossing {
  std::uint64_t tag = 0;
  std::uint32_t percent = 0;
  run_id who{};
};

/// One run's account on one axis.
struct budget_account {
  std::int64_t limit = unlimited;
  /// Of the limit, what only finalising requests may spend.
  std::int64_t finalise_reserve = 0;
  /// Spent and set aside together, at which the next threshold is crossed.
  std::int64_t mark = unlimited;
  wide spent = 0;
  /// Spent and set aside: kept together, because each step asks for the sum.
  wide committed = 0;
  /// Of what is set aside, what is carved runs'.
  wide carved = 0;

  [[nodiscard]] wide reserved() const noexcept { return committed - spent; }
};

/// One run.
struct run_node {
  std::array<budget_account, budget_axis_count> accounts{};
  /// The next payer above; none for a root or a carved run. Cells do not move, and every step from index to cell
  /// counts.
  run_node* payer = nullptr;
  run_node* top = nullptr;
  std::uint64_t tag = 0;
  std::uint64_t rank = 0;
  std::uint32_t index = 0;
  std::uint32_t generation = 1;
  /// `no_run` for a root.
  std::uint32_t parent = no_run;
  /// For whoever uses the tree: the lane of those that wait for this run to be able to pay. `no_run` when it opens.
  std::uint32_t parked = no_run;
  /// The same: requests of its own, and of a root the newest request in its tree. `no_run` when it opens.
  std::uint32_t requests = 0;
  std::uint32_t newest = no_run;
  /// Runs right below it that are still kept, and reservations of its own that have not ended.
  std::uint32_t children = 0;
  std::uint32_t in_flight = 0;
  /// Of a root: how many runs of its tree are closed and still kept.
  std::uint32_t closed_kept = 0;
  /// Of a root: reservations in its tree that have not ended.
  std::uint32_t under_way = 0;
  /// The next free cell, when it is nobody's.
  std::uint32_t link = 0;
  std::uint8_t depth = 0;
  /// How many thresholds have been told of.
  std::uint8_t told = 0;
  run_funding funding = run_funding::share;
  /// Whether it is somebody's, and whether it may still be charged as far as it is concerned.
  bool kept = false;
  bool open = false;
  /// Whether its account is kept for somebody who has yet to let go of it.
  bool held = false;
  /// Of a root: whether anything was ever started in its tree.
  bool started = false;
};

/// The runs. A run's *payers* are itself and the runs above it, up to and including the first carved one: what a carved
/// run may spend has been set aside above it already. A reservation is made on all payers at once.
///
/// The events reserve, release, settle, charge, open, extend and close leave behind what they brought about beside,
/// until the next of them: `crossings` and `eased`.
///
/// Every operation is O(depth), at most 64. Nothing is allocated while the number of runs kept reaches no new maximum.
/// Accounts do not overflow: they are 128 bits wide inside and stop at `unlimited` in what is told of them.
class budget {
 public:
  static constexpr std::uint8_t most_depth = 64;
  /// Percent of a limit, in rising order. Each is told once a run, and again only when an extension has led below it.
  static constexpr std::array<std::uint32_t, 4> thresholds{50, 80, 95, 100};

  /// Opens a run; `rank` is its tree's when it is a root, and ignored else. Setting a carve aside may cross thresholds.
  /// Errors: `errc::invalid_argument` for a negative limit or reserve, a parent that is unknown or closed or below a
  /// closed run, a finalise reserve below a root or above its limit, and a depth beyond 64; `errc::refused` for a carve
  /// that one of the parent's payers cannot fund now. A carve without a limit on an axis needs payers without one.
  [[nodiscard]] expected<run_id, error> open(const run_options& what, std::uint64_t rank);

  /// Raises limits; `unlimited` lifts one. A run without a limit on an axis keeps none. When a limit has risen,
  /// thresholds that are no longer reached can be crossed again.
  /// Errors: `errc::invalid_argument` for an unknown or closed run, a negative amount, or a carved run.
  expected<void, error> extend(run_id id, const spending& more);

  /// Nothing may be charged to it any more, nor to what is below it. It is kept until its reservations have ended and
  /// no run below it is kept, and, with `hold`, until it is closed once more without; then a carve is settled above it.
  /// False when it is unknown, or has been closed and is not held, or is and would be once more.
  bool close(run_id id, bool hold = false);

  /// The index of a run that may be charged: it and all runs above it are open. Else `no_run`.
  [[nodiscard]] std::uint32_t find(run_id id) const noexcept;

  /// The index of an open run, whatever is above it. Else `no_run`.
  [[nodiscard]] std::uint32_t find_open(run_id id) const noexcept;

  /// The index of a closed run that is held. Else `no_run`.
  [[nodiscard]] std::uint32_t find_held(run_id id) const noexcept;

  /// The account of a run that is open or held.
  [[nodiscard]] std::optional<run_balance> balance(run_id id) const noexcept;

  /// Whether all payers of a run can set `asked` aside. Exhausted at one of them goes before waiting for a lower one.
  /// The finalise reserve of a root counts for `finalising` alone. A run that has overspent pays for nothing, not even
  /// for what asks nothing on that axis. Precondition: `node` is kept, `asked` is not negative.
  [[nodiscard]] budget_verdict check(std::uint32_t node, const spending& asked, bool finalising) const noexcept;

  /// Sets `asked` aside at all payers. Precondition: `check` said ok, or it is to be let through all the same.
  void reserve(std::uint32_t node, const spending& asked) noexcept;
  /// Undoes a reservation of which nothing was spent. The run may be known no longer afterwards.
  void release(std::uint32_t node, const spending& asked) noexcept { settle(node, asked, {}); }
  /// Ends a reservation: `used`, less or more, has been spent. The run may be known no longer afterwards.
  void settle(std::uint32_t node, const spending& reserved, const spending& used) noexcept;

  /// Spends `what` at all payers, or at none. Never from the finalise reserve.
  /// Errors: see `charge_refusal`.
  expected<void, charge_refusal> charge(run_id id, const spending& what);

  /// The thresholds that the last event has crossed: each run's in rising order.
  [[nodiscard]] std::span<const budget_crossing> crossings() const noexcept { return {crossings_.data(), crossed_}; }
  /// The open runs where the last event has ended something or raised a limit, and where somebody is parked, a lower
  /// one before a higher. Who waits there can be paid now, or never will be, or waits on.
  [[nodiscard]] std::span<const std::uint32_t> eased() const noexcept { return {eased_.data(), eased_count_}; }

  /// What was reserved has started.
  void start(std::uint32_t node) noexcept { nodes_[node].top->started = true; }
  /// Whether anything was ever started for the task, the tree, that a run is a part of.
  [[nodiscard]] bool started(std::uint32_t node) const noexcept { return nodes_[node].top->started; }
  /// Whether a reservation of it has not ended.
  [[nodiscard]] bool under_way(std::uint32_t node) const noexcept { return nodes_[node].top->under_way != 0; }
  [[nodiscard]] std::uint32_t root_of(std::uint32_t node) const noexcept { return nodes_[node].top->index; }
  /// The number with which its root was opened.
  [[nodiscard]] std::uint64_t root_rank(std::uint32_t node) const noexcept { return nodes_[node].rank; }
  [[nodiscard]] std::uint64_t tag(std::uint32_t node) const noexcept { return nodes_[node].tag; }
  [[nodiscard]] run_id id_of(std::uint32_t node) const noexcept { return {node, nodes_[node].generation}; }
  /// The next payer above, or `no_run`.
  [[nodiscard]] std::uint32_t payer_above(std::uint32_t node) const noexcept {
    const run_node* const above = nodes_[node].payer;
    return above == nullptr ? no_run : above->index;
  }
  [[nodiscard]] std::uint32_t& parked(std::uint32_t node) noexcept { return nodes_[node].parked; }
  [[nodiscard]] std::uint32_t& requests(std::uint32_t node) noexcept { return nodes_[node].requests; }
  [[nodiscard]] std::uint32_t& newest_in_tree(std::uint32_t node) noexcept { return nodes_[node].top->newest; }
  /// Whether a run that is kept may still be charged: it and all above it are open. O(1) while no run of its tree is
  /// closed and kept.
  [[nodiscard]] bool chargeable(std::uint32_t node) const noexcept;

  /// How many runs are kept, closed ones included.
  [[nodiscard]] std::size_t size() const noexcept { return kept_; }
  /// All cells, those not `kept` included, for checks from scratch.
  [[nodiscard]] std::uint32_t cells() const noexcept { return nodes_.size(); }
  [[nodiscard]] const run_node& operator[](std::uint32_t node) const noexcept { return nodes_[node]; }

 private:
  using amounts = std::array<wide, budget_axis_count>;

  void start_event() noexcept { crossed_ = eased_count_ = 0; }
  [[nodiscard]] expected<std::uint32_t, error> find_parent(const run_options& what) const;
  [[nodiscard]] expected<void, error> could_carve(std::uint32_t parent, const spending& limit) const;
  void set_aside(run_node& lowest, const amounts& asked) noexcept;
  void pay(run_node& lowest, const amounts& reserved, const amounts& used) noexcept;
  void tell_thresholds(run_node& which) noexcept;
  void collect(std::uint32_t node) noexcept;

  slab<run_node, &run_node::link> nodes_;
  std::size_t kept_ = 0;
  std::size_t crossed_ = 0;
  std::size_t eased_count_ = 0;
  std::array<budget_crossing, most_depth * thresholds.size()> crossings_;
  std::array<std::uint32_t, most_depth> eased_;
};

}  // namespace sluice::core
