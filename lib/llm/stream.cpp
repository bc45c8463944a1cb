#include <sluice/llm/stream.hpp>

#include "llm/attempts/stream_call.hpp"

#include <utility>

namespace sluice::llm {

namespace {

asio::awaitable<expected<std::optional<stream_event>, failure>> empty_stream() {
  using result = expected<std::optional<stream_event>, failure>;
  co_return result(
      unexpected<failure>(failure(errc::invalid_argument, "next: the stream is empty; it was moved from")));
}

}  // namespace

stream::stream() noexcept = default;
stream::stream(stream&&) noexcept = default;
stream& stream::operator=(stream&&) noexcept = default;
stream::~stream() = default;
stream::stream(std::unique_ptr<detail::stream_call> call) noexcept : call_(std::move(call)) {}

asio::awaitable<expected<std::optional<stream_event>, failure>> stream::next() {
  return call_ ? call_->next() : empty_stream();
}

const reply& stream::result() const noexcept {
  static const reply nothing;
  return call_ ? call_->result() : nothing;
}

}  // namespace sluice::llm
