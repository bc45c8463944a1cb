/// \file
/// `stream_call`: what is behind a `stream`.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/core/time.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/sse_parser.hpp>
#include <sluice/llm/stream_event.hpp>

#include "llm/attempts/call.hpp"
#include "llm/attempts/joined_reply.hpp"
#include "llm/attempts/unread_limit.hpp"
#include "llm/dialects/answer_decoder.hpp"

#include <asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::llm::detail {

class stream_call final : private unread_limit::owner {
 public:
  stream_call(call what, exchange begun);
  stream_call(const stream_call&) = delete;
  stream_call& operator=(const stream_call&) = delete;
  ~stream_call();

  asio::awaitable<expected<std::optional<stream_event>, failure>> next();
  [[nodiscard]] const reply& result() const noexcept { return joined_ ? joined_->whole() : decoder_->answer; }

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
  asio::awaitable<void> recover();
  [[nodiscard]] bool can_go_on() const noexcept;

  void take(std::string_view bytes);
  void take_events(std::string_view bytes);
  /// False when the stream goes no further.
  bool take_event(const sse_event& event);
  void end_of_body();
  void finish();
  /// The exchange has failed: it is closed, and its permit ended. Whether another follows is still to be found out.
  void fail(failure why);
  void account();
  void give_up(failure why);
  [[nodiscard]] failure with_partial(failure why) const;

  void left_unread(unread_limit::verdict why, instant now) noexcept override;
  [[nodiscard]] failure unread(unread_limit::verdict why) const;
  [[nodiscard]] failure of_this_exchange(failure why) const;

  call call_;
  std::unique_ptr<answer_decoder> decoder_;
  sse_parser parser_;
  std::optional<exchange> exchange_;
  int status_ = 0;
  std::string request_id_;
  std::string content_type_;
  std::string body_;
  body_kind kind_ = body_kind::unknown;

  std::vector<stream_event> ready_;
  std::size_t given_ = 0;
  bool handed_out_ = false;
  bool answered_ = false;
  bool done_ = false;
  /// Why the last exchange failed, before it is known what follows; and why the stream failed.
  std::optional<failure> broken_;
  std::optional<failure> failed_;
  /// The whole of an answer that was continued.
  std::optional<joined_reply> joined_;
  /// An exchange whose answer is whole, but whose body has not been read to its end.
  std::unique_ptr<http::response> rest_;
  unread_limit limit_;
};

}  // namespace sluice::llm::detail
