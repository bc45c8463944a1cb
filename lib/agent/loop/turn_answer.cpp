#include "agent/loop/turn_answer.hpp"

#include <sluice/llm/any_stream.hpp>
#include <sluice/llm/stream_event.hpp>

#include <asio/error.hpp>

#include <exception>
#include <optional>
#include <system_error>
#include <utility>

namespace sluice::agent::detail {

namespace {

using result = expected<llm::reply, llm::failure>;

void report_event(const llm::stream_event& event, loop_report& report) {
  switch (event.type) {
    case llm::stream_event::kind::text:
    case llm::stream_event::kind::refusal: return report.text(event.text);
    case llm::stream_event::kind::reasoning: return report.reasoning(event.text);
    case llm::stream_event::kind::tool_call:
    case llm::stream_event::kind::usage:
    case llm::stream_event::kind::done: return;
  }
}

asio::awaitable<result> read(llm::any_stream& from, loop_report& report) {
  for (;;) {
    auto event = co_await from.next();
    if (!event) co_return result(unexpected<llm::failure>(std::move(event).error()));
    if (!*event) co_return result(from.result());
    report_event(**event, report);
  }
}

}  // namespace

llm::failure failure_of(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::system_error& why) {
    if (why.code() == asio::error::operation_aborted) {
      return llm::failure(errc::cancelled, "the call was cancelled", llm::call_phase::sent);
    }
    return llm::failure(error(why.code(), why.what()));
  } catch (const std::exception& why) {
    return llm::failure(errc::invalid_argument, std::string("the call threw: ") + why.what());
  } catch (...) {
    return llm::failure(errc::invalid_argument, "the call threw something that is no std::exception");
  }
}

asio::awaitable<result> ask_streamed(llm::any_client model, llm::request what, llm::call_options how,
                                     loop_report& report) {
  llm::any_stream from;
  std::exception_ptr thrown;
  try {
    auto opened = co_await model.stream(std::move(what), how);
    if (!opened) co_return result(unexpected<llm::failure>(std::move(opened).error()));
    from = *std::move(opened);
    co_return co_await read(from, report);
  } catch (...) {
    thrown = std::current_exception();
  }
  llm::failure why = failure_of(std::move(thrown));
  why.partial = from.result();
  co_return result(unexpected<llm::failure>(std::move(why)));
}

}  // namespace sluice::agent::detail
