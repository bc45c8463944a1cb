#include "testing/provider_exchange.hpp"

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

wire_answer content_of(const mock_request& request, const mock_reply& reply, const mock_fault& fault) {
  using fault_kind = mock_fault::kind;
  wire_answer content;
  content.number = request.number;
  content.model = request.model;
  content.plan = plan_answer(reply, request);
  content.include_usage = request.include_usage;
  content.encrypted_reasoning = request.encrypted_reasoning;
  if (!request.stop.empty()) content.stop_sequence = request.stop.front();
  content.habits.reasoning_field = fault.field();
  if (fault.has(fault_kind::crlf)) content.habits.line_end = "\r\n";
  content.habits.no_usage = fault.has(fault_kind::no_usage);
  content.habits.usage_in_last_chunk = fault.has(fault_kind::usage_in_last_chunk);
  content.habits.no_finish_reason = fault.has(fault_kind::no_finish_reason);
  content.habits.whole_tool_calls = fault.has(fault_kind::whole_tool_call);
  return content;
}

wire_usage prompt_of(const mock_request& request, const mock_reply& reply) {
  wire_usage prompt;
  prompt.input = request.input_tokens;
  prompt.cached = std::clamp<std::int64_t>(reply.cached_tokens, 0, prompt.input);
  prompt.cache_written = std::clamp<std::int64_t>(reply.cache_written_tokens, 0, prompt.input - prompt.cached);
  return prompt;
}

}  // namespace

provider_exchange::provider_exchange(const mock_request& request, std::uint64_t connection, const mock_reply& reply,
                                     mock_fault fault, std::vector<http::header> headers,
                                     std::unique_ptr<loopback_answer> answer)
    : dialect_(wire_dialect_of(request.dialect)),
      connection_(connection),
      stream_(request.stream),
      fault_(std::move(fault)),
      content_(content_of(request, reply, fault_)),
      prompt_(prompt_of(request, reply)),
      headers_(std::move(headers)),
      answer_(std::move(answer)),
      events_(dialect_.events(content_)) {}

sim::processor_job provider_exchange::job() const noexcept {
  const auto all = static_cast<std::int64_t>(content_.plan.pieces.size());
  const auto until = std::min(all, std::max(fault_.after_tokens(), std::int64_t{0}));
  switch (fault_.what()) {
    case fault_kind::stall: return {prompt_.input, until, false};
    case fault_kind::hang_up:
    case fault_kind::error_event: return {prompt_.input, until, true};
    case fault_kind::html: return {prompt_.input, 0, true};
    default: return {prompt_.input, all, true};
  }
}

int provider_exchange::status() const noexcept {
  return fault_.what() == fault_kind::error_event && !stream_ ? fault_.code() : 200;
}

void provider_exchange::prompt_done() {
  // A stream that is to break before its first token has begun all the same.
  if (stream_ && fault_.after_tokens() == 0) start_stream();
}

void provider_exchange::start_stream() {
  if (std::exchange(begun_, true)) return;
  auto headers = with_type(headers_, "text/event-stream; charset=utf-8");
  headers.emplace_back("cache-control", "no-cache");
  answer_->start(200, headers);
  if (fault_.has(fault_kind::byte_order_mark)) answer_->chunk("\xef\xbb\xbf");
  answer_->chunk(events_->begin(used()));
}

void provider_exchange::send_bad_json() {
  if (fault_.what() != fault_kind::bad_json || std::exchange(spoiled_, true)) return;
  answer_->chunk(events_->bad_json());
}

void provider_exchange::produced(std::int64_t tokens) {
  const auto count = static_cast<std::size_t>(tokens);
  if (stream_) {
    start_stream();
    const auto break_at = static_cast<std::size_t>(std::max(fault_.after_tokens(), std::int64_t{0}));
    if (fault_.what() == fault_kind::bad_json && !spoiled_ && break_at <= count) {
      answer_->chunk(events_->tokens(sent_, break_at));
      sent_ = break_at;
      send_bad_json();
    }
    answer_->chunk(events_->tokens(sent_, count));
  }
  sent_ = count;
}

void provider_exchange::flush() { answer_->flush(); }

bool provider_exchange::finish(loopback_answer::delivered then) {
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

void provider_exchange::finish_stream(loopback_answer::delivered then) {
  start_stream();
  send_bad_json();
  if (fault_.what() == fault_kind::error_event) {
    answer_->chunk(events_->failure(failure()));
  } else {
    answer_->chunk(events_->finish(used()));
    if (!fault_.has(fault_kind::no_done)) answer_->chunk(events_->end_mark(used()));
  }
  answer_->end(std::move(then));
}

void provider_exchange::finish_plain(loopback_answer::delivered then) {
  begun_ = true;
  auto body = plain();
  if (fault_.what() == fault_kind::error_event) {
    const auto wrong = failure();
    body = dialect_.error_body(wrong, "req-" + std::to_string(content_.number));
  }
  if (fault_.what() == fault_kind::bad_json) body.resize(body.size() / 2);
  if (fault_.has(fault_kind::byte_order_mark)) body.insert(0, "\xef\xbb\xbf");
  answer_->whole(status(), with_type(headers_, "application/json"), body, std::move(then));
}

wire_error provider_exchange::failure() const { return dialect_.usual_error(fault_.code(), fault_.message()); }

wire_usage provider_exchange::used() const {
  auto all = prompt_;
  all.output = static_cast<std::int64_t>(sent_);
  all.reasoning = static_cast<std::int64_t>(content_.plan.count_of(answer_piece::kind::reasoning, sent_));
  return all;
}

std::string provider_exchange::plain() const { return dialect_.body(content_, sent_, used()); }

}  // namespace sluice::testing
