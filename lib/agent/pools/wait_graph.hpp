/// \file
/// `wait_graph`: which run waits for what, so that a wait that can never end is found when it begins.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/workload.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sluice::agent::detail {

/// Runs, the pools of places that they hold or wait for, and the runs that they wait for.
///
/// A run is *live* when each thing that it waits for can still come: a place in a pool, when the holders that are not
/// live leave one over for its class; so many of a batch of runs, when so many of those that have not ended are live
/// (those that have not begun are, when one that runs is); a child that it opened itself, when that is live. Who waits
/// for nothing is live. It is the least such set: of a circle of runs that wait for each other alone, none is.
///
/// After each change that could take life away the run concerned is looked at. When it is not live, the place that was
/// asked for last, of those in its circle, is refused, with the chain; and so on until it is live again. So between
/// changes all runs are live.
///
/// Thread safety: all members of all classes here; one mutex for all, taken before none other. Lifetime: the graph
/// outlives the rest, and a run's record its children's, its places and the batches that it owns.
/// Complexity: O(1) where nobody waits for a place; else in what can be reached from the run that was changed.
class wait_graph {
 public:
  class run;
  class pool;
  class place;
  class batch;

  wait_graph() = default;
  wait_graph(const wait_graph&) = delete;
  wait_graph& operator=(const wait_graph&) = delete;

  /// The one of all runs of this process: pools, roots and gates may be mixed in any way.
  [[nodiscard]] static wait_graph& of_process();

 private:
  template <typename Visit>
  static void visit_needs(const run& from, Visit visit);
  [[nodiscard]] static bool could_come(const place& wanted);
  [[nodiscard]] static bool could_come(const batch& awaited);
  [[nodiscard]] static bool could_end(const run& which);
  [[nodiscard]] static bool plainly_live(const run& which);

  void check(run& changed);
  /// Fills `seen_` with all that `from` needs, each marked as live or not.
  [[nodiscard]] bool live(run& from);
  [[nodiscard]] place* latest_in_circle(run& of);
  void refuse(place& wanted);
  [[nodiscard]] std::string describe(const place& wanted);
  [[nodiscard]] std::string chain(run& from, const run& to);

  std::mutex mutex_;
  std::uint64_t looks_ = 0;
  std::uint64_t asked_ = 0;
  /// Places that are waited for.
  std::size_t wanted_ = 0;
  std::vector<run*> seen_;
};

/// What the graph knows of one run. A part of its state.
class wait_graph::run {
 public:
  /// `name` must outlive it. `awaited`: its parent opened it itself, and goes on when it has been closed.
  run(wait_graph& graph, const std::string& name, run* parent, bool awaited);
  run(const run&) = delete;
  run& operator=(const run&) = delete;
  ~run();

  /// Nobody waits for it any more.
  void close() noexcept;
  /// The names from the root down to it.
  [[nodiscard]] std::string path() const;

 private:
  friend class wait_graph;

  wait_graph& graph_;
  const std::string& name_;
  run* const parent_;
  bool awaited_;
  std::vector<run*> children_;
  std::vector<place*> wanted_;
  std::vector<batch*> awaits_;
  batch* member_of_ = nullptr;

  std::uint64_t look_ = 0;
  bool live_ = false;
  bool leads_back_ = false;
  run* towards_ = nullptr;
};

/// A pool of places for runs.
class wait_graph::pool {
 public:
  using ceilings = std::array<std::int64_t, max_workloads>;

  /// `most`: of each class; `unlimited` when the pool alone is the bound.
  pool(wait_graph& graph, std::int64_t places, const ceilings& most) : graph_(graph), places_(places), most_(most) {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  /// Nothing holds or waits for a place in it then.
  ~pool() = default;

 private:
  friend class wait_graph;

  wait_graph& graph_;
  std::int64_t places_;
  ceilings most_;
  std::vector<place*> held_;
};

/// One place of a run in a pool: wanted, held, or neither.
class wait_graph::place {
 public:
  place(run& whose, pool& in, workload as);
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  virtual ~place();

  /// The run begins to wait for it: `errc::refused`, and it does not, when it would wait for ever.
  [[nodiscard]] std::optional<error> want();
  /// The run has it.
  void hold();
  /// Neither. Before the place is really given back: otherwise it could be taken for held by a run that is about to
  /// wait.
  void leave() noexcept;

 protected:
  /// A wait that had begun has become one without an end. The run is taken not to wait any more. Under the graph's
  /// mutex: must neither wait nor come back.
  virtual void refused(error why) noexcept = 0;

 private:
  friend class wait_graph;
  enum class phase : std::uint8_t { idle, wanted, held };

  void forget() noexcept;

  wait_graph& graph_;
  run& run_;
  pool& pool_;
  workload class_;
  phase phase_ = phase::idle;
  bool asking_ = false;
  std::uint64_t number_ = 0;
  std::optional<error> answer_;
};

/// Runs of which their owner waits for some.
class wait_graph::batch {
 public:
  explicit batch(run& owner);
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;
  ~batch();

  /// It has begun; it has ended, or does not count any more.
  void add(run& member);
  void remove(run& member) noexcept;
  /// The owner waits until so many more have ended well; of those, `not_begun` wait for their turn. To be said anew
  /// after each change.
  void wait_for(std::size_t needed, std::size_t not_begun) noexcept;
  /// The owner waits for them no longer.
  void end() noexcept;

 private:
  friend class wait_graph;

  wait_graph& graph_;
  run& owner_;
  std::vector<run*> members_;
  std::size_t needed_ = 0;
  std::size_t not_begun_ = 0;
  bool awaited_ = false;
};

}  // namespace sluice::agent::detail
