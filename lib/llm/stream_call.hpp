/// \file
/// `stream_call`: what is behind a `stream`.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/sse_parser.hpp>
#include <sluice/llm/stream_event.hpp>

#include "llm/answer_decoder.hpp"
#include "llm/call.hpp"

#include <asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::llm::detail {

class stream_call {
 public:
  stream_call(call what, exchange begun);

  asio::awaitable<expected<std::optional<stream_event>, failure>> next();
  [[nodiscard]] const reply& result() const noexcept { return decoder_->answer; }

 private:
  enum class body_kind {
    /// Its first bytes will tell.
    unknown,
    events,
    /// One JSON document, though a stream was asked for.
    document,
    /// Neither: a page of some proxy.
    foreign,
  };

  void start(exchange begun);
  asio::awaitable<void> advance();
  asio::awaitable<void> begin_again();

  void take(std::string_view bytes);
  void take_events(std::string_view bytes);
  /// False when the stream goes no further.
  bool take_event(const sse_event& event);
  void end_of_body();
  void finish();
  void fail(failure why);
  void account();

  call call_;
  std::unique_ptr<answer_decoder> decoder_;
  sse_parser parser_;
  std::optional<exchange> exchange_;
  std::string request_id_;
  std::string content_type_;
  std::string body_;
  body_kind kind_ = body_kind::unknown;

  std::vector<stream_event> ready_;
  std::size_t given_ = 0;
  bool handed_out_ = false;
  bool done_ = false;
  std::optional<failure> failed_;
  /// An exchange whose answer is whole, but whose body has not been read to its end.
  std::unique_ptr<http::response> rest_;
};

}  // namespace sluice::llm::detail
