/// \file
/// `turn_answer`: one answer of the model, as it comes.
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

/// Asks for a streamed answer, and reports its texts as they come. No permit is held any more when it completes.
/// Never throws: what is thrown is a failure, with what had come.
[[nodiscard]] asio::awaitable<expected<llm::reply, llm::failure>> ask_streamed(llm::any_client model, llm::request what,
                                                                               llm::call_options how,
                                                                               loop_report& report);

/// What was thrown, as a failure: `errc::cancelled` for an operation that was aborted.
[[nodiscard]] llm::failure failure_of(std::exception_ptr thrown);

}  // namespace sluice::agent::detail
