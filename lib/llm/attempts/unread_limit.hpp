/// \file
/// `unread_limit`: closes a stream that nobody reads, when that lasts, or when it is stopped meanwhile.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/runtime/stop_signal.hpp>
#include <sluice/runtime/time_source.hpp>

#include <memory>
#include <mutex>

namespace sluice::llm::detail {

/// The time between two calls of `next`, the deadline in it, and a signal in it. One thread reads; that of the clock or
/// of whoever stops may come in between, and never at the same time.
class unread_limit final : public time_source::entry {
 public:
  enum class verdict {
    in_time,
    /// Nobody has read for too long.
    unread,
    /// The deadline has passed while nobody did.
    too_late,
    /// It was stopped while nobody did.
    stopped,
  };
  /// Whose stream it is.
  class owner {
   public:
    /// What came of it that nobody read. Called under the limit's lock, on a thread of the time source or of whoever
    /// stops, or within `end_reading`; once an exchange.
    virtual void left_unread(verdict why, instant now) noexcept = 0;

   protected:
    ~owner() = default;
  };

  /// `length`: zero for none; `deadline`: `never` for none.
  unread_limit(owner& whose, duration length, instant deadline) noexcept
      : owner_(whose), length_(length), deadline_(deadline) {}
  ~unread_limit() override;

  /// From now on `signal` stops what is read; null for none.
  void obey(const std::shared_ptr<stop_signal>& signal);
  /// Somebody reads. Tells what has happened meanwhile: each time, but that it was stopped once.
  verdict begin_reading();
  /// Nobody reads, from now on.
  void end_reading(time_source& time);
  /// There is nothing to read any more. Waits for a call of the clock that is under way.
  void stop() noexcept;

 private:
  class watch;

  void due(instant now) noexcept override;
  void dropped() noexcept override;
  [[nodiscard]] instant end() const noexcept;
  [[nodiscard]] bool is_limited() const noexcept { return length_ > duration::zero() || deadline_ != never; }
  /// Under the mutex.
  void leave_unread(verdict why, instant now) noexcept;

  owner& owner_;
  const duration length_;
  const instant deadline_;
  std::mutex mutex_;
  /// Null when it is armed nowhere.
  time_source* time_ = nullptr;
  instant read_at_ = never;
  bool reading_ = true;
  verdict verdict_ = verdict::in_time;
  std::shared_ptr<stop_signal> signal_;
  std::shared_ptr<watch> watch_;
};

}  // namespace sluice::llm::detail
