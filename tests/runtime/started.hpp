/// \file
/// `started`: a coroutine that a test has started and watches.
#pragma once

#include <asio/cancellation_signal.hpp>

#include <exception>
#include <optional>

namespace sluice::test {

/// A coroutine under way: its result comes in `value`, or what it threw in `thrown`. It must outlive its coroutine.
template <typename T>
struct started {
  std::optional<T> value;
  std::exception_ptr thrown;
  bool ended = false;
  asio::cancellation_signal cancel;
};

}  // namespace sluice::test
