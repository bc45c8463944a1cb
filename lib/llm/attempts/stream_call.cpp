#include "llm/attempts/stream_call.hpp"

#include "llm/errors/provider_error.hpp"
#include "llm/errors/quote.hpp"
#include "llm/trimmed.hpp"

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/this_coro.hpp>

#include <cstdio>
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

// A page may come under any content type, and so may an error in JSON; an event never begins like either.
std::string_view without_mark(std::string_view text) noexcept {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return trimmed(text);
}

}  // namespace

stream_call::stream_call(call what, exchange begun)
    : call_(std::move(what)),
      parser_(call_.where().options.max_event),
      limit_(*this, call_.where().options.unread, call_.deadline()) {
  start(std::move(begun));
  limit_.end_reading(call_.where().gate.time());
}

stream_call::~stream_call() {
  limit_.obey(nullptr);
  limit_.stop();
  if (exchange_) call_.abandoned(*exchange_);
}

void stream_call::start(exchange begun) {
  decoder_ = call_.where().format.decoder(call_.where().hidden);
  parser_.reset();
  body_.clear();
  answered_ = false;
  status_ = begun.answer->status();
  request_id_ = request_id_of(begun.answer->headers());
  content_type_ = begun.answer->header_value("content-type");
  exchange_.emplace(std::move(begun));
  limit_.obey(call_.stop());
  decoder_->answer.request_id = request_id_;
  kind_ = begins_with(content_type_, "application/json") ? body_kind::document
          : begins_with(content_type_, "text/html")      ? body_kind::foreign
                                                         : body_kind::unknown;
}

asio::awaitable<expected<std::optional<stream_event>, failure>> stream_call::next() {
  using result = expected<std::optional<stream_event>, failure>;
  const auto seen = limit_.begin_reading();
  if (seen == unread_limit::verdict::stopped) {
    broken_ = with_partial(unread(seen));
  } else if (seen != unread_limit::verdict::in_time && !failed_) {
    give_up(unread(seen));
  }
  for (;;) {
    try {
      if (broken_ && (!handed_out_ || given_ == ready_.size())) {
        co_await recover();
        continue;
      }
      if (given_ < ready_.size()) {
        handed_out_ = true;
        if (exchange_) limit_.end_reading(call_.where().gate.time());
        co_return result(std::move(ready_[given_++]));
      }
      if (failed_) co_return result(unexpected<failure>(*failed_));
      if (done_) co_return result(std::nullopt);
      ready_.clear();
      given_ = 0;
      co_await advance();
    } catch (...) {
      // Cancelled between two awaits, as a rule. What was seen is charged now, not when the stream is destroyed.
      if (!failed_) give_up(failure(errc::cancelled, "the stream was cancelled", call_phase::answering));
      throw;
    }
    if (rest_) {
      const auto executor = co_await asio::this_coro::executor;
      asio::co_spawn(executor, read_to_end(std::move(rest_)), asio::detached);
    }
  }
}

asio::awaitable<void> stream_call::advance() {
  if (!exchange_) {
    auto begun = co_await call_.begin();
    if (begun) {
      start(*std::move(begun));
    } else {
      broken_ = with_partial(std::move(begun).error());
    }
    co_return;
  }
  auto piece = co_await call_.read(*exchange_);
  if (!piece) {
    fail(std::move(piece).error());
  } else if (piece->empty()) {
    end_of_body();
  } else {
    take(*piece);
  }
}

// Only text can be gone on with: thoughts and calls that were begun cannot be told to have been said.
bool stream_call::can_go_on() const noexcept {
  const reply& part = decoder_->answer;
  const std::size_t said = part.text.size() + part.reasoning.size() + part.refusal.size();
  return call_.where().options.retry.continue_partial && !broken_->is(errc::preempted) && !result().text.empty() &&
         result().refusal.empty() && decoder_->produced_bytes() <= static_cast<std::int64_t>(said);
}

asio::awaitable<void> stream_call::recover() {
  const bool goes_on = handed_out_ && can_go_on();
  failure why = *std::exchange(broken_, std::nullopt);
  if (!call_.again(why, !handed_out_ || goes_on)) {
    failed_ = std::move(why);
    co_return;
  }
  if (goes_on) {
    if (!joined_) joined_.emplace(decoder_->answer);
    joined_->add_part();
    if (auto prepared = call_.go_on_from(joined_->whole()); !prepared) {
      failed_ = with_partial(std::move(prepared).error());
      failed_->usage = why.usage;
      co_return;
    }
  } else {
    ready_.clear();
    given_ = 0;
  }
  decoder_ = call_.where().format.decoder(call_.where().hidden);
  const bool waited = co_await call_.wait();
  if (!waited) failed_ = with_partial(call_.cancelled());
}

void stream_call::take(std::string_view bytes) {
  if (kind_ == body_kind::events) return take_events(bytes);
  body_ += bytes;
  if (kind_ == body_kind::unknown) {
    // All that came before is blank, and need not be looked at again.
    if (trimmed(bytes).empty()) {
      const std::size_t most = call_.where().options.max_event;
      if (body_.size() <= most) return;
      return fail(
          failure(errc::too_large,
                  "the stream begins with more than " + std::to_string(most) + " bytes of white space (max_event)",
                  call_phase::answering));
    }
    const std::string_view start = without_mark(body_);
    if (start.empty()) return;
    kind_ = start.front() == '{' ? body_kind::document : start.front() == '<' ? body_kind::foreign : body_kind::events;
    if (kind_ == body_kind::events) {
      const std::string held = std::exchange(body_, {});
      return take_events(held);
    }
  }
  if (kind_ == body_kind::foreign && body_.size() >= most_foreign) {
    fail(failure_of_foreign_body(content_type_, body_, call_.where().hidden));
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
    read = unexpected<failure>(failure(errc::connection_lost,
                                       "the stream ended in the middle of an event; what came before is kept",
                                       call_phase::answering));
  }
  fail(std::move(read).error());
  return false;
}

void stream_call::account() {
  if (!exchange_) return;
  if (decoder_->reported()) exchange_->account.reported(*decoder_->reported());
  exchange_->account.saw(decoder_->answer, decoder_->produced_bytes());
  decoder_->answer.usage = exchange_->account.taken();
  if (joined_) joined_->update(decoder_->answer);
  if (answered_ || ready_.empty()) return;
  answered_ = true;
  call_.answered();
  call_.where().pool.end();
}

void stream_call::end_of_body() {
  if (kind_ == body_kind::unknown && begins_with(content_type_, "text/event-stream")) kind_ = body_kind::events;
  if (kind_ == body_kind::foreign || kind_ == body_kind::unknown) {
    return fail(failure_of_foreign_body(content_type_, body_, call_.where().hidden));
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
  if (joined_) joined_->complete(decoder_->answer);
  rest_ = std::move(exchange_->answer);
  call_.succeeded(*exchange_);
  exchange_.reset();
  limit_.stop();
  for (const tool_call& made : result().tool_calls) ready_.emplace_back(made);
  ready_.emplace_back(result().usage);
  ready_.emplace_back(stream_event::kind::done);
  done_ = true;
}

void stream_call::fail(failure why) {
  account();
  why = with_partial(of_this_exchange(std::move(why)));
  call_.failed(*exchange_, why);
  exchange_.reset();
  limit_.stop();
  broken_ = std::move(why);
}

void stream_call::give_up(failure why) {
  if (exchange_) {
    fail(std::move(why));
  } else {
    broken_ = with_partial(std::move(why));
  }
  failure last = *std::exchange(broken_, std::nullopt);
  static_cast<void>(call_.again(last, false));
  failed_ = std::move(last);
}

failure stream_call::of_this_exchange(failure why) const {
  why.status = status_;
  why.usage = decoder_->answer.usage;
  if (why.request_id.empty()) why.request_id = quote(request_id_, call_.where().hidden);
  return why;
}

failure stream_call::with_partial(failure why) const {
  if (says_anything(result())) why.partial = result();
  return why;
}

void stream_call::left_unread(unread_limit::verdict why, instant now) noexcept {
  if (!exchange_) return;
  // Nobody may wait for an observer here; it is told with the next `next`, or when the stream goes.
  if (why == unread_limit::verdict::stopped) {
    call_.stopped(*exchange_, now);
  } else {
    call_.left(*exchange_, unread(why), now);
  }
  exchange_.reset();
}

failure stream_call::unread(unread_limit::verdict why) const {
  if (why == unread_limit::verdict::stopped) return of_this_exchange(call_.stopped_failure(call_phase::answering));
  if (why == unread_limit::verdict::too_late) {
    return of_this_exchange(
        failure(errc::deadline_exceeded,
                "the deadline passed while nobody read the stream: it was closed, and what came is kept",
                call_phase::answering));
  }
  const double seconds = std::chrono::duration<double>(call_.where().options.unread).count();
  char length[32];
  std::snprintf(length, sizeof length, "%.6g s", seconds);
  return of_this_exchange(failure(errc::idle_timeout,
                                  std::string("nobody read the stream for client_options::unread (") + length +
                                      "): it was closed, so that its permit serves others; what came is kept",
                                  call_phase::answering));
}

}  // namespace sluice::llm::detail
