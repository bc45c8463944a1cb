/// \file
/// `manual_time_source`: a clock that stands still until the test moves it. With it, code that waits is tested
/// without waiting.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/runtime/time_source.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace sluice::testing {

/// A `time_source` driven by hand. Nothing is ever woken on its own: entries fire inside `advance` and `advance_to`,
/// on the thread that calls them.
///
/// It starts at one hour after `instant{}`, so that `instant{}` and its neighbourhood lie in the past.
///
/// Thread safety: all members may be called from any thread. While one thread advances, another one's advance waits
/// for it to end.
/// Lifetime: entries that are still armed when it is destroyed are dropped.
class manual_time_source final : public time_source {
 public:
  manual_time_source() = default;
  /// Starts at `start`.
  explicit manual_time_source(instant start) noexcept : now_(start) {}
  ~manual_time_source() override;

  /// The present: during a call of `entry::due`, the instant that entry was armed for (or the present at that time,
  /// if it was armed for the past).
  [[nodiscard]] instant now() const noexcept override;

  /// As the base says. An instant that has passed, or is just now, fires in the next `advance` (even by zero), or
  /// later in the one that is running. O(log n).
  void arm(entry& who, instant when) override;

  /// As the base says: it waits for a `due` of that entry which another thread is running. O(log n).
  void disarm(entry& who) noexcept override;

  /// Moves the time on by `length` and fires, in order of their instants, all entries due until then; those armed for
  /// the same instant in order of arming. What is armed meanwhile fires as well when it is due by then. A negative
  /// length counts as zero. Called from within `due`, it stretches the advance that is running and returns at once.
  void advance(duration length);

  /// The same, up to `when`; an instant in the past counts as now.
  void advance_to(instant when);

  /// The earliest instant for which an entry is armed; `never` when there is none.
  [[nodiscard]] instant next() const noexcept;

  /// How many entries are armed.
  [[nodiscard]] std::size_t armed() const noexcept;

 private:
  // Instants first, then order of arming.
  using key = std::pair<instant, std::uint64_t>;

  void run_until(std::unique_lock<std::mutex>& lock, instant when);
  void take_out(entry& who) noexcept;

  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::map<key, entry*> queue_;
  std::map<std::uint64_t, instant> instants_;
  instant now_ = instant{} + std::chrono::hours(1);
  instant target_ = instant::min();
  std::uint64_t armings_ = 0;
  entry* running_ = nullptr;
  bool advancing_ = false;
  std::thread::id driver_;
};

}  // namespace sluice::testing
