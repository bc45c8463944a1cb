/// \file
/// `begun_stream`: a stream whose first event has come, and has not been handed out.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/any_client.hpp>
#include <sluice/llm/any_stream.hpp>

#include <asio/awaitable.hpp>

#include <optional>
#include <utility>

namespace sluice::llm::detail {

class begun_stream final : public any_stream::source {
 public:
  begun_stream(any_stream rest, std::optional<stream_event> first) noexcept
      : rest_(std::move(rest)), first_(std::move(first)) {}

  asio::awaitable<expected<std::optional<stream_event>, failure>> next() override {
    return first_ ? give_first() : rest_.next();
  }
  [[nodiscard]] const reply& result() const noexcept override { return rest_.result(); }

 private:
  asio::awaitable<expected<std::optional<stream_event>, failure>> give_first() {
    co_return std::exchange(first_, std::nullopt);
  }

  any_stream rest_;
  std::optional<stream_event> first_;
};

/// Opens a stream, and waits for its first event.
[[nodiscard]] inline asio::awaitable<expected<any_stream, failure>> begin_stream(any_client from, request what,
                                                                                 call_options how) {
  using result = expected<any_stream, failure>;
  auto opened = co_await from.stream(std::move(what), how);
  if (!opened) co_return result(unexpected<failure>(std::move(opened).error()));
  auto first = co_await opened->next();
  if (!first) co_return result(unexpected<failure>(std::move(first).error()));
  co_return result(any_stream(std::make_unique<begun_stream>(*std::move(opened), *std::move(first))));
}

}  // namespace sluice::llm::detail
