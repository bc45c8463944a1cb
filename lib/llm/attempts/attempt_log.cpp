#include "llm/attempts/attempt_log.hpp"

#include "llm/attempts/redacted.hpp"
#include "llm/errors/provider_error.hpp"
#include "llm/errors/quote.hpp"

#include <utility>

namespace sluice::llm::detail {

void attempt_log::begin(const request& what, const call_options& how, const reservation& reserved,
                        const std::string& body, bool streamed, attempt kind) {
  tell(std::nullopt);
  const client_options& rules = where_->options;
  if (!rules.observer) return;
  if (call_ == 0) call_ = where_->calls.fetch_add(1, std::memory_order_relaxed) + 1;
  record_ = std::make_unique<attempt_record>();
  record_->call = call_;
  record_->number = ++number_;
  record_->kind = kind;
  record_->streamed = streamed;
  record_->spoken = rules.spoken;
  record_->model = what.model;
  record_->workload = how.workload;
  record_->tenant = how.tenant;
  record_->run = how.run;
  record_->reserved_input = reserved.input_tokens;
  record_->reserved_output = reserved.asked.output_tokens;
  record_->phase = call_phase::queued;
  if (rules.record_bodies) record_->request_body = redacted(body, where_->hidden, attempt_record::most_recorded);
  answer_.clear();
  over_ = false;
  note(&attempt_record::queued);
}

void attempt_log::note(instant attempt_record::*what) {
  if (!record_ || (*record_).*what != never) return;
  last_ = where_->gate.now();
  (*record_).*what = last_;
}

void attempt_log::head(const http::response& answer) {
  if (!record_) return;
  const http::exchange_times times = answer.times();
  record_->connected = times.connected;
  record_->first_byte = times.first_byte;
  note(&attempt_record::first_byte);
  record_->status = answer.status();
  record_->request_id = quote(request_id_of(answer.headers()), where_->hidden);
}

void attempt_log::received(std::string_view bytes) {
  if (!record_ || !where_->options.record_bodies) return;
  const std::size_t most = attempt_record::most_recorded + where_->hidden.longest();
  if (answer_.size() < most) answer_ += bytes.substr(0, most - answer_.size());
}

void attempt_log::end(const token_usage& taken, const failure* why) {
  if (record_ && !over_) end(taken, why, where_->gate.now());
}

void attempt_log::end(const token_usage& taken, const failure* why, instant now) {
  if (!record_ || over_) return;
  record_->ended = now;
  over_ = true;
  record_->usage = taken;
  record_->phase = call_phase::answering;
  if (why == nullptr) return;
  record_->code = why->code();
  record_->error = why->message();
  record_->phase = why->phase;
  if (why->status != 0) record_->status = why->status;
  if (!why->request_id.empty()) record_->request_id = why->request_id;
}

void attempt_log::abandon(const token_usage& taken) noexcept {
  if (!record_ || over_) return;
  over_ = true;
  record_->ended = last_;
  record_->usage = taken;
  record_->phase = record_->admitted == never     ? call_phase::queued
                   : record_->first_byte == never ? call_phase::sent
                                                  : call_phase::answering;
  record_->code = make_error_code(errc::cancelled);
  record_->error = "the caller left";
}

void attempt_log::tell(std::optional<duration> again_in) noexcept {
  if (!record_) return;
  abandon({});
  const std::unique_ptr<attempt_record> told = std::move(record_);
  told->again_in = again_in;
  const client_options& rules = where_->options;
  if (rules.record_bodies) told->answer_body = redacted(answer_, where_->hidden, attempt_record::most_recorded);
  rules.observer(*told);
}

}  // namespace sluice::llm::detail
