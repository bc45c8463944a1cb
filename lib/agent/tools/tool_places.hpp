/// \file
/// `tool_places`: how many calls of one tool run at once, and who has a place for good because it does not stop.
#pragma once

#include "agent/pools/run_hold.hpp"

#include <sluice/agent/run_scope.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/time.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::agent::detail {

class tool_places;

/// The place of one call. Its last pointer gives it back.
class tool_place {
 public:
  tool_place(tool_places& in, std::shared_ptr<run_hold> hold) noexcept;
  tool_place(const tool_place&) = delete;
  tool_place& operator=(const tool_place&) = delete;
  ~tool_place();

  /// Its call was told to stop at that instant, has not, and is waited for no longer. It keeps the place. Once.
  void abandon(instant told);

 private:
  friend class tool_places;

  tool_places& in_;
  std::shared_ptr<run_hold> hold_;
  /// Guarded by the mutex of the places.
  bool abandoned_ = false;
};

/// A pool of runs in which nobody waits for calls that will not end: while all places are held by such, who waits is
/// told so, and so is who comes. A place that comes back after all is there for the next.
///
/// Thread safety: all members, from any thread. Lifetime: outlives its places.
class tool_places {
 public:
  /// `tool`: its name, which must outlive it. `gate`: whose executor, clock and classes it uses.
  tool_places(const std::string& tool, bulkhead& gate, std::int64_t count);
  tool_places(const tool_places&) = delete;
  tool_places& operator=(const tool_places&) = delete;
  ~tool_places();

  /// As `run_pool::admit`; also `errc::refused` when all places are held by calls that do not stop.
  [[nodiscard]] asio::awaitable<expected<std::shared_ptr<tool_place>, error>> admit(run_scope& who);

 private:
  friend class tool_place;
  /// A call in the queue.
  class waiting;

  /// Why there is no place for anybody. Under the mutex.
  [[nodiscard]] error none_left() const;

  const std::string& tool_;
  bulkhead& gate_;
  const std::size_t count_;
  const std::shared_ptr<run_pool_state> pool_;
  std::mutex mutex_;
  std::vector<run_hold*> waiting_;
  std::size_t abandoned_ = 0;
  /// When the last of them was told to stop.
  instant last_told_{};
};

}  // namespace sluice::agent::detail
