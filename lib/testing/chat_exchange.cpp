#include "testing/chat_exchange.hpp"

#include <algorithm>
#include <utility>

namespace sluice::testing {
namespace {

constexpr std::string_view html_page =
    "<!DOCTYPE html><html><head><title>Please wait</title></head><body><h1>One moment</h1></body></html>\n";

std::vector<http::header> with_type(std::vector<http::header> headers, const char* type) {
  headers.emplace_back("content-type", type);
  return headers;
}

}  // namespace

chat_exchange::chat_exchange(const mock_request& request, std::uint64_t connection, answer_plan plan, mock_fault fault,
                             std::vector<http::header> headers, std::unique_ptr<loopback_answer> answer)
    : connection_(connection),
      stream_(request.stream),
      include_usage_(request.include_usage && fault.what() != fault_kind::no_usage),
      input_(request.input_tokens),
      id_("chatcmpl-" + std::to_string(request.number)),
      model_(request.model),
      plan_(std::move(plan)),
      fault_(std::move(fault)),
      headers_(std::move(headers)),
      answer_(std::move(answer)),
      events_(id_, model_, include_usage_, fault_.what() == fault_kind::crlf ? "\r\n" : "\n") {}

sim::processor_job chat_exchange::job() const noexcept {
  const auto all = static_cast<std::int64_t>(plan_.pieces.size());
  const auto until = std::min(all, std::max(fault_.after_tokens(), std::int64_t{0}));
  switch (fault_.what()) {
    case fault_kind::stall: return {input_, until, false};
    case fault_kind::hang_up:
    case fault_kind::error_event: return {input_, until, true};
    case fault_kind::html: return {input_, 0, true};
    default: return {input_, all, true};
  }
}

int chat_exchange::status() const noexcept { return fault_.what() == fault_kind::error_event && !stream_ ? 500 : 200; }

void chat_exchange::prompt_done() {
  // A stream that is to break before its first token has begun all the same.
  if (stream_ && fault_.after_tokens() == 0) start_stream();
}

void chat_exchange::start_stream() {
  if (std::exchange(begun_, true)) return;
  auto headers = with_type(headers_, "text/event-stream; charset=utf-8");
  headers.emplace_back("cache-control", "no-cache");
  answer_->start(200, headers);
  if (fault_.what() == fault_kind::byte_order_mark) answer_->chunk("\xef\xbb\xbf");
  answer_->chunk(events_.role());
}

void chat_exchange::send_bad_json() {
  if (fault_.what() != fault_kind::bad_json || std::exchange(spoiled_, true)) return;
  answer_->chunk(events_.bad_json());
}

void chat_exchange::produced(std::int64_t tokens) {
  const auto count = static_cast<std::size_t>(tokens);
  if (stream_) {
    start_stream();
    const auto break_at = static_cast<std::size_t>(std::max(fault_.after_tokens(), std::int64_t{0}));
    if (fault_.what() == fault_kind::bad_json && !spoiled_ && break_at <= count) {
      answer_->chunk(events_.tokens(plan_, sent_, break_at));
      sent_ = break_at;
      send_bad_json();
    }
    answer_->chunk(events_.tokens(plan_, sent_, count));
  }
  sent_ = count;
}

void chat_exchange::flush() { answer_->flush(); }

bool chat_exchange::finish(loopback_answer::delivered then) {
  if (fault_.what() == fault_kind::hang_up) {
    if (stream_) {
      start_stream();
    } else {
      begun_ = true;
      const auto body = plain();
      answer_->torn(200, with_type(headers_, "application/json"), std::string_view(body).substr(0, body.size() / 2),
                    body.size());
    }
    answer_->hang_up();
    return false;
  }
  if (fault_.what() == fault_kind::html) {
    begun_ = true;
    answer_->whole(200, with_type(headers_, "text/html; charset=utf-8"), html_page, std::move(then));
  } else if (stream_) {
    finish_stream(std::move(then));
  } else {
    finish_plain(std::move(then));
  }
  return true;
}

void chat_exchange::finish_stream(loopback_answer::delivered then) {
  start_stream();
  send_bad_json();
  if (fault_.what() == fault_kind::error_event) {
    answer_->chunk(events_.failure(usual_error(500)));
  } else {
    answer_->chunk(events_.finish(plan_.finish_reason));
    if (include_usage_) answer_->chunk(events_.usage(used()));
    if (fault_.what() != fault_kind::no_done) answer_->chunk(events_.done());
  }
  answer_->end(std::move(then));
}

void chat_exchange::finish_plain(loopback_answer::delivered then) {
  begun_ = true;
  auto body = plain();
  if (fault_.what() == fault_kind::error_event) body = error_body(usual_error(500));
  if (fault_.what() == fault_kind::bad_json) body.resize(body.size() / 2);
  if (fault_.what() == fault_kind::byte_order_mark) body.insert(0, "\xef\xbb\xbf");
  answer_->whole(status(), with_type(headers_, "application/json"), body, std::move(then));
}

wire_usage chat_exchange::used() const {
  return {input_, static_cast<std::int64_t>(sent_),
          static_cast<std::int64_t>(plan_.count_of(answer_piece::kind::reasoning, sent_))};
}

std::string chat_exchange::plain() const {
  return plain_body(id_, model_, plan_, sent_,
                    fault_.what() == fault_kind::no_usage ? std::nullopt : std::optional(used()));
}

}  // namespace sluice::testing
