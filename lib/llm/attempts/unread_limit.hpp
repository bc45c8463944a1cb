/// \file
/// `unread_limit`: closes a stream that nobody reads.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/runtime/time_source.hpp>

#include <mutex>

namespace sluice::llm::detail {

/// The time between two calls of `next`, and the deadline in it. One thread reads; the clock's thread may come in
/// between, and never at the same time.
class unread_limit final : public time_source::entry {
 public:
  /// Whose stream it is.
  class owner {
   public:
    /// Nobody has read for too long, or the deadline has passed while nobody did. Called under the limit's lock, on a
    /// thread of the time source, once.
    virtual void left_unread(bool deadline_passed, instant now) noexcept = 0;

   protected:
    ~owner() = default;
  };
  enum class verdict {
    in_time,
    unread,
    too_late,
  };

  /// `length`: zero for none; `deadline`: `never` for none.
  unread_limit(owner& whose, duration length, instant deadline) noexcept
      : owner_(whose), length_(length), deadline_(deadline) {}
  ~unread_limit() override { stop(); }

  /// Somebody reads. Tells what has happened meanwhile, each time.
  verdict begin_reading();
  /// Nobody reads, from now on.
  void end_reading(time_source& time);
  /// There is nothing to read any more. Waits for a call that is under way.
  void stop() noexcept;

 private:
  void due(instant now) noexcept override;
  void dropped() noexcept override;
  [[nodiscard]] instant end() const noexcept;

  owner& owner_;
  const duration length_;
  const instant deadline_;
  std::mutex mutex_;
  /// Null when it is armed nowhere.
  time_source* time_ = nullptr;
  instant read_at_ = never;
  bool reading_ = true;
  verdict verdict_ = verdict::in_time;
};

}  // namespace sluice::llm::detail
