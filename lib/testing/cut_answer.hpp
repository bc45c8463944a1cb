/// \file
/// `cut_answer`: an answer whose body goes out in small pieces, at once or one after the other in time.
#pragma once

#include "testing/loopback_server.hpp"

#include <sluice/core/time.hpp>

#include <asio/io_context.hpp>

#include <cstddef>
#include <memory>

namespace sluice::testing {

/// Each piece of `bytes` is a chunk and a write of its own; `every` so often when it is not zero. A plain body comes in
/// chunks as well. `torn` and `hang_up` do not wait.
[[nodiscard]] std::unique_ptr<loopback_answer> make_cut_answer(asio::io_context& context,
                                                               std::unique_ptr<loopback_answer> whole,
                                                               std::size_t bytes, duration every);

}  // namespace sluice::testing
