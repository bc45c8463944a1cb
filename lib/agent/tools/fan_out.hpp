/// \file
/// `fan_out`: how many tool handlers really run at once in the tree of one root run.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace sluice::agent::detail {

/// The bound of one run, and of all below it: of a root, or a narrower one of a run further down.
///
/// Each handler that runs holds a `unit` of it and of all bounds above. A handler that waits for the calls of a `batch`
/// below its own run does not really run: its unit serves one of those calls at a time. So a batch always gets on by
/// one call at least, however deep it lies and however full the tree is; more run at once while the root has units
/// over. Units that become free go to the batches that wait, in their order, one at a time.
///
/// Thread safety: all members of all classes here; one mutex for the tree of a root, taken before none other.
/// Complexity: O(bounds above); a unit that becomes free is offered to the batches that wait only when one of them can
/// have it, unless a run below the root has a narrower bound.
class fan_out {
 public:
  class unit;
  class batch;

  [[nodiscard]] static std::shared_ptr<fan_out> of_root(std::int64_t width);
  /// Of a run below: at most `width` of those that `above` lets run.
  [[nodiscard]] static std::shared_ptr<fan_out> below(std::shared_ptr<fan_out> above, std::int64_t width);

  fan_out(std::shared_ptr<fan_out> above, std::int64_t width);
  fan_out(const fan_out&) = delete;
  fan_out& operator=(const fan_out&) = delete;

  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  /// Handlers that run under this bound, without those whose units serve others.
  [[nodiscard]] std::int64_t running() const noexcept;
  /// Batches of the whole tree that wait for units.
  [[nodiscard]] std::int64_t waiting() const noexcept;

 private:
  struct line;

  [[nodiscard]] bool has_room(const fan_out* until) const noexcept;
  void add(std::int64_t much, const fan_out* until) noexcept;

  std::shared_ptr<fan_out> above_;
  std::shared_ptr<line> line_;
  std::int64_t width_;
  std::int64_t used_ = 0;
};

/// What one call holds while its handler runs. It must live, at the place where it was filled, until it has been given
/// back and no batch names it as its lender.
class fan_out::unit {
 public:
  unit() = default;
  unit(const unit&) = delete;
  unit& operator=(const unit&) = delete;

  /// The handler has ended, or does not count any more. Harmless when it is empty.
  void give_back() noexcept;

 private:
  friend class fan_out;

  void end() noexcept;

  /// Null when it is empty.
  std::shared_ptr<fan_out> of_;
  /// Whose unit this one is a part of.
  std::shared_ptr<unit> lender_;
  /// Of a lender: whether it serves a call of some batch, and whether its own handler has ended meanwhile.
  bool lent_ = false;
  bool ended_ = false;
  /// Batches that wait and have this for a lender.
  std::int64_t awaited_ = 0;
};

/// The calls of one turn. Derived from by who carries them out, and calls `rest` in the destructor.
class fan_out::batch {
 public:
  /// `lender`: of the handler that waits for these calls, if there is one.
  batch(std::shared_ptr<fan_out> of, std::shared_ptr<unit> lender) noexcept;
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;
  virtual ~batch();

  /// Fills `into`, so that one more handler may run. False when there is no unit: the batch then waits for one, which
  /// is set aside for it and told by `room`.
  [[nodiscard]] bool take(unit& into);
  /// It wants none any more. What was set aside goes to others.
  void rest() noexcept;

 protected:
  /// A unit was set aside. Under the mutex of the tree: must neither wait nor come back.
  virtual void room() noexcept = 0;

 private:
  friend class fan_out;

  [[nodiscard]] bool fill(unit& into);
  void leave_line() noexcept;

  std::shared_ptr<fan_out> of_;
  std::shared_ptr<unit> lender_;
  unit aside_;
  bool waits_ = false;
  std::list<batch*>::iterator place_{};
};

}  // namespace sluice::agent::detail
