#include "llm/stream_call.hpp"

#include "llm/provider_error.hpp"
#include "llm/trimmed.hpp"

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/this_coro.hpp>

#include <utility>

namespace sluice::llm::detail {

namespace {

// As much of a foreign body as is worth quoting from.
constexpr std::size_t most_foreign = 4 << 10;

bool begins_with(std::string_view type, std::string_view wanted) noexcept {
  if (type.size() < wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const char c = type[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != wanted[i]) return false;
  }
  return true;
}

// A connection can be used again only when the answer on it has been read to its end, which comes right behind the last
// event. Nobody needs to wait for that, and the exchange's own limits end it.
asio::awaitable<void> read_to_end(std::unique_ptr<http::response> rest) {
  for (int i = 0; i < 8; ++i) {
    auto part = co_await rest->read();
    if (!part || part->empty()) co_return;
  }
}

}  // namespace

stream_call::stream_call(call what, exchange begun)
    : call_(std::move(what)), parser_(call_.where().options.max_event) {
  start(std::move(begun));
}

void stream_call::start(exchange begun) {
  decoder_ = call_.where().format.decoder(call_.where().options.api_key);
  parser_.reset();
  body_.clear();
  request_id_ = request_id_of(begun.answer->headers());
  content_type_ = begun.answer->header_value("content-type");
  exchange_.emplace(std::move(begun));
  decoder_->answer.request_id = request_id_;
  kind_ = begins_with(content_type_, "text/event-stream")  ? body_kind::events
          : begins_with(content_type_, "application/json") ? body_kind::document
          : begins_with(content_type_, "text/html")        ? body_kind::foreign
                                                           : body_kind::unknown;
}

asio::awaitable<expected<std::optional<stream_event>, failure>> stream_call::next() {
  using result = expected<std::optional<stream_event>, failure>;
  for (;;) {
    if (given_ < ready_.size()) {
      handed_out_ = true;
      co_return result(std::move(ready_[given_++]));
    }
    if (failed_) co_return result(unexpected<failure>(*failed_));
    if (done_) co_return result(std::nullopt);
    ready_.clear();
    given_ = 0;
    try {
      co_await advance();
    } catch (...) {
      // Cancelled between two awaits, as a rule. What was seen is charged now, not when the stream is destroyed.
      if (!failed_) fail(failure(errc::cancelled, "the stream was cancelled", call_phase::answering));
      throw;
    }
    if (rest_) {
      const auto executor = co_await asio::this_coro::executor;
      asio::co_spawn(executor, read_to_end(std::move(rest_)), asio::detached);
    }
  }
}

asio::awaitable<void> stream_call::advance() {
  if (!exchange_) co_return co_await begin_again();
  auto piece = co_await call_.read(*exchange_);
  if (!piece) {
    if (call_.comes_again(piece.error()) && !handed_out_) {
      exchange_.reset();
    } else {
      fail(std::move(piece).error());
    }
  } else if (piece->empty()) {
    end_of_body();
  } else {
    take(*piece);
  }
}

asio::awaitable<void> stream_call::begin_again() {
  auto begun = co_await call_.begin();
  if (begun) {
    start(*std::move(begun));
  } else if (!call_.comes_again(begun.error())) {
    fail(std::move(begun).error());
  }
}

void stream_call::take(std::string_view bytes) {
  if (kind_ == body_kind::events) return take_events(bytes);
  body_ += bytes;
  if (kind_ == body_kind::unknown) {
    const std::string_view start = trimmed(body_);
    if (start.empty()) return;
    kind_ = start.front() == '{' ? body_kind::document : start.front() == '<' ? body_kind::foreign : body_kind::events;
    if (kind_ == body_kind::events) {
      const std::string held = std::exchange(body_, {});
      return take_events(held);
    }
  }
  if (kind_ == body_kind::foreign && body_.size() >= most_foreign) {
    fail(failure_of_foreign_body(content_type_, body_, call_.where().options.api_key));
  }
}

void stream_call::take_events(std::string_view bytes) {
  parser_.push(bytes);
  for (;;) {
    auto event = parser_.next();
    if (!event) return fail(failure(std::move(event).error(), call_phase::answering));
    if (!*event) break;
    if (!take_event(**event)) return;
  }
  account();
}

bool stream_call::take_event(const sse_event& event) {
  const std::string_view data = trimmed(event.data);
  if (data.empty()) return true;
  auto read = decoder_->event(event, ready_);
  if (read) {
    if (*read) finish();
    return !*read;
  }
  if (event.unterminated && read.error().is(errc::protocol_error)) {
    read = unexpected<failure>(failure(
        errc::connection_lost, "the stream ended in the middle of an event; what came before is kept", call_phase::answering));
  }
  fail(std::move(read).error());
  return false;
}

void stream_call::account() {
  if (!exchange_) return;
  if (decoder_->reported()) exchange_->account.reported(*decoder_->reported());
  exchange_->account.saw(decoder_->answer, decoder_->produced_bytes());
  decoder_->answer.usage = exchange_->account.taken();
}

void stream_call::end_of_body() {
  const std::string_view secret = call_.where().options.api_key;
  if (kind_ == body_kind::foreign || (kind_ == body_kind::unknown && trimmed(body_).empty())) {
    return fail(failure_of_foreign_body(content_type_, body_, secret));
  }
  if (kind_ == body_kind::document) {
    const std::size_t size = body_.size();
    body_.append(sse_parser::padding, '\0');
    auto read = decoder_->document(std::string_view(body_).substr(0, size), ready_);
    if (!read) return fail(std::move(read).error());
    return finish();
  }
  auto last = parser_.finish();
  if (!last) return fail(failure(std::move(last).error(), call_phase::answering));
  if (*last) {
    decoder_->answer.unterminated = true;
    if (!take_event(**last)) return;
  }
  finish();
}

void stream_call::finish() {
  if (decoder_->finished()) exchange_->account.complete();
  account();
  // The only proof that the answer is whole is that the model says why it stopped.
  if (!decoder_->finished()) {
    return fail(failure(errc::connection_lost,
                        "the stream ended without a finish reason: the answer is not whole; what came is kept",
                        call_phase::answering));
  }
  decoder_->complete();
  rest_ = std::move(exchange_->answer);
  exchange_.reset();
  for (const tool_call& made : decoder_->answer.tool_calls) ready_.emplace_back(made);
  ready_.emplace_back(decoder_->answer.usage);
  ready_.emplace_back(stream_event::kind::done);
  done_ = true;
}

void stream_call::fail(failure why) {
  account();
  exchange_.reset();
  if (why.request_id.empty()) why.request_id = request_id_;
  const reply& so_far = decoder_->answer;
  if (!so_far.text.empty() || !so_far.reasoning.empty() || !so_far.refusal.empty()) why.partial = so_far;
  failed_ = std::move(why);
}

}  // namespace sluice::llm::detail
