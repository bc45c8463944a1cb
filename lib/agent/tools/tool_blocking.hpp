/// \file
/// A tool's plain code that blocks, on a pool of threads.
#pragma once

#include <sluice/agent/toolbox.hpp>

#include <asio/any_io_executor.hpp>

namespace sluice::agent::detail {

/// The same as a handler that waits while `work` runs on `pool`. It is not interrupted: a cancelled call ends when the
/// code has returned, with what that gave. A pool that drops work unrun gives an error.
[[nodiscard]] tool_handler on_pool(asio::any_io_executor pool, blocking_handler work);

}  // namespace sluice::agent::detail
