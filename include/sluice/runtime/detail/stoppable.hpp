/// \file
/// `stoppable`: what the gate needs of work that it may have to stop. Not for users.
#pragma once

#include <asio/execution_context.hpp>

#include <cstdint>

namespace sluice {

/// Why running work is stopped from outside.
enum class stop_cause : std::uint8_t {
  /// It is not.
  none,
  /// The capacity was lent, and its owner needs it back.
  preempted,
  /// The run that pays for it was closed, or one above that.
  run_closed,
};

}  // namespace sluice

namespace sluice::detail {

/// Thread-safe.
class stoppable {
 public:
  /// Stops the work; the first cause holds, and to repeat it is harmless.
  virtual void stop(stop_cause why) noexcept = 0;
  [[nodiscard]] virtual stop_cause stopped() const noexcept = 0;
  /// The execution context without which it must not be kept; null when there is none.
  [[nodiscard]] virtual asio::execution_context* context() const noexcept = 0;

 protected:
  ~stoppable() = default;
};

}  // namespace sluice::detail
