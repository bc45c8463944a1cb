/// \file
/// `time_source`: where sluice gets the time from, and is woken by. Injected everywhere, so that the same coroutines
/// run under the steady clock in production and under a clock that jumps in tests and simulations.
#pragma once

#include <sluice/core/time.hpp>

#include <asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice {

/// A clock and its timers.
///
/// Thread safety: all members may be called from any thread.
class time_source {
 public:
  /// Something that wants to be woken once. Owned by its user, who derives from it; it is linked into the time source
  /// while armed, so arming allocates nothing in the steady state.
  class entry {
   public:
    entry() = default;
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

    /// The instant has come. Called once an `arm`, on a thread that runs the time source, without any lock held.
    /// May arm itself again, and may disarm itself or others.
    virtual void due(instant now) noexcept = 0;

    /// The time source goes away, or its context does, while this is armed: `due` will not be called. Called once, on
    /// the destroying thread, without any lock held; the time source may be touched no more after this.
    virtual void dropped() noexcept {}

   protected:
    virtual ~entry() = default;

   private:
    friend class time_source;
    /// For the time source that the entry is armed in: its place there, plus one; zero when it is not armed.
    std::size_t place_ = 0;
  };

  time_source() = default;
  time_source(const time_source&) = delete;
  time_source& operator=(const time_source&) = delete;
  virtual ~time_source() = default;

  /// The present instant.
  [[nodiscard]] virtual instant now() const noexcept = 0;

  /// A present that may lag behind `now()` by one tick of the kernel (at most 10 ms), and costs a fifth of it.
  /// Never ahead of `now()`.
  [[nodiscard]] virtual instant recent() const noexcept { return now(); }

  /// Wakes `who` at `when`, or as soon as possible if that has passed, always later than this call. An entry that is
  /// armed already is moved. `never` takes it out, like `disarm` but without waiting for a `due` that is running.
  /// Allowed under a lock that `due` takes. O(log n) in the number of armed entries.
  virtual void arm(entry& who, instant when) = 0;

  /// Takes `who` out. When this returns, `who.due` is not running and will not be called, unless this is called from
  /// within `due` itself: then only the latter holds. Harmless when it was not armed. O(log n). Do not call it while
  /// holding a lock that `due` takes.
  virtual void disarm(entry& who) noexcept = 0;

 protected:
  /// An implementation's book-keeping in the entry. Zero means not armed.
  [[nodiscard]] static std::size_t& place(entry& who) noexcept { return who.place_; }
};

/// The time source of production: the steady clock, and one `asio::steady_timer` on `executor` for all its entries.
/// Wakes are rounded up to the next millisecond, so that entries close to each other share one.
/// Entries are woken on `executor`'s threads. Pending entries do not keep the context's `run()` from returning when
/// nothing else is left to do only in so far as Asio's timers do: an armed entry counts as work.
///
/// Lifetime: may be destroyed before or after the executor's context; entries that are still armed are dropped.
[[nodiscard]] std::unique_ptr<time_source> make_steady_time_source(asio::any_io_executor executor);

}  // namespace sluice
