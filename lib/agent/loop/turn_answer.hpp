/// \file
/// `turn_answer`: one answer of the model, whole or as it comes.
#pragma once

#include "agent/loop/loop_report.hpp"

#include <sluice/core/expected.hpp>
#include <sluice/llm/any_client.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>

#include <asio/awaitable.hpp>

#include <exception>

namespace sluice::agent::detail {

/// Asks, and reports texts: those of a stream as they come, others at once. No permit is held any more when it completes.
/// Never throws: a cancellation between two waits is `errc::cancelled`, with what had come, and so is whatever else is
/// thrown a failure, by its words.
[[nodiscard]] asio::awaitable<expected<llm::reply, llm::failure>> ask_model(llm::any_client model, llm::request what,
                                                                            llm::call_options how, bool streamed,
                                                                            loop_report& report);

/// What was thrown, as a failure: `errc::cancelled` for an operation that was aborted.
[[nodiscard]] llm::failure failure_of(std::exception_ptr thrown);

}  // namespace sluice::agent::detail
