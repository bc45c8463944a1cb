#include "llm/attempts/attempts.hpp"

#include "runtime/waiting_call.hpp"

#include <sluice/runtime/stop_signal.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace sluice::llm::detail {

namespace {

std::string seconds(duration length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g s", std::chrono::duration<double>(length).count());
  return text;
}

void add(failure& to, const std::string& words) { to.why = error(to.why.code(), to.why.message() + words); }

bool is_worth_another(const failure& why) noexcept {
  if (why.should_retry) return *why.should_retry;
  if (why.code().category() != error_category()) return false;
  switch (static_cast<errc>(why.code().value())) {
    case errc::host_not_found:
    case errc::connect_failed:
    case errc::connect_timeout:
    case errc::first_byte_timeout:
    case errc::idle_timeout:
    case errc::total_timeout:
    case errc::connection_lost:
    case errc::rate_limited:
    case errc::overloaded:
    case errc::provider_failed: return true;
    default: return false;
  }
}

/// One wait for the next attempt.
class backoff_wait final : public sluice::detail::waiting_call, public stop_signal::listener {
 public:
  using waiting_call::waiting_call;

 private:
  bool leave(ending) noexcept override { return true; }
  void on_stop() noexcept override { wake(); }
};

bool is_load(const failure& why) noexcept { return why.is(errc::rate_limited) || why.is(errc::overloaded); }

}  // namespace

attempts::attempts(endpoint& where, const call_options& how) noexcept
    : where_(&where),
      deadline_(how.deadline),
      most_(how.max_attempts > 0 ? how.max_attempts : where.options.retry.max_attempts),
      run_(how.run),
      requeue_(how.requeue_when_preempted),
      kind_(how.kind) {}

void attempts::sent() {
  ++sent_;
  sent_at_ = where_->gate.now();
}

bool attempts::again(failure& why, bool possible) {
  why.attempts = sent_;
  spent_ = spent_ + why.usage;
  why.usage = spent_;
  if (why.is(errc::preempted)) {
    preempted_ = true;
    wake_ = pause_ = instant::min();
    return possible && requeue_;
  }
  preempted_ = false;
  if (why.refusal) {
    if (first_ && !why.is(errc::cancelled)) why = not_admitted(std::move(why));
    return false;
  }
  if (why.is(errc::cancelled)) return false;

  // The others have to know also when this call is at its end.
  const bool under_load = is_load(why);
  const instant pause = under_load ? where_->pool.begin(sent_at_, why.retry_after) : instant::min();
  ++failed_;
  if (possible && is_worth_another(why)) {
    const std::string objection = failed_ < most_ ? this->objection(why, under_load, pause) : std::string();
    if (failed_ < most_ && objection.empty()) {
      if (!first_) first_ = why;
      kind_ = attempt::retry;
      return true;
    }
    add(why, objection);
  }
  if (sent_ > 1) add(why, "; " + std::to_string(sent_) + " attempts were made");
  return false;
}

std::string attempts::objection(const failure& why, bool under_load, instant pause) {
  const retry_policy& rules = where_->options.retry;
  if (why.retry_after && *why.retry_after > rules.max_retry_after) {
    return "; not tried again: the provider asks to wait " + seconds(*why.retry_after) +
           ", longer than retry.max_retry_after (" + seconds(rules.max_retry_after) + ")";
  }
  const instant now = where_->gate.now();
  wake_ = instant::min();
  pause_ = pause;
  if (!under_load && why.retry_after) {
    wake_ = where_->waits.moment(now, after(now, *why.retry_after), where_->waits.added_to(*why.retry_after));
  } else if (!under_load) {
    wake_ = where_->waits.moment(now, now, where_->waits.longest(failed_));
  }
  const instant next = std::max(wake_, pause_);
  if (deadline_ == never || next < deadline_) return {};
  return "; not tried again: the next attempt would start " + seconds(next - now) +
         " from now, and the deadline is in " + seconds(std::max(deadline_ - now, duration::zero()));
}

failure attempts::not_admitted(failure refused) const {
  if (refused.refusal->reason() == reason::unknown_run) {
    return given_up("cancelled: its run was cancelled or closed before there was another attempt");
  }
  failure was = *first_;
  was.attempts = sent_;
  was.usage = spent_;
  if (refused.is(errc::deadline_exceeded)) {
    was.why = error(errc::deadline_exceeded, "the deadline passed while attempt " + std::to_string(failed_ + 1) +
                                                 " waited for admission; the first one failed: " + was.message());
    was.phase = call_phase::queued;
    was.refusal = std::move(refused.refusal);
  } else if (refused.refusal->reason() == reason::retry_budget) {
    add(was, "; not tried again, for want of room for retries: " + refused.message());
  } else {
    add(was, "; not tried again: " + refused.message());
  }
  return was;
}

duration attempts::wait_ahead() const {
  const instant next = std::max(wake_, pause_);
  const instant now = where_->gate.now();
  return next > now ? next - now : duration::zero();
}

asio::awaitable<bool> attempts::wait() {
  if (wake_ == instant::min()) co_return true;
  // What waits here holds nothing at the gate, which so has to be asked to say when the run is closed.
  const auto signal = run_ == run_id{} ? nullptr : std::make_shared<stop_signal>();
  const auto here = std::make_shared<backoff_wait>(where_->gate.time());
  here->prepare();
  if (signal) {
    signal->attach(here);
    where_->gate.stop_with(run_, signal);
  }
  const auto why = co_await here->wait(wake_);
  run_closed_ = signal && signal->stopped() != stop_cause::none;
  co_return why == backoff_wait::ending::late && !run_closed_;
}

failure attempts::cancelled() const {
  return given_up(run_closed_ ? "cancelled: its run was cancelled or closed while it waited for another attempt"
                              : "cancelled while it waited for another attempt");
}

failure attempts::given_up(const char* words) const {
  failure left(errc::cancelled, words, call_phase::queued);
  left.attempts = sent_;
  left.usage = spent_;
  if (first_) {
    add(left, "; the first one failed: " + first_->message());
    left.status = first_->status;
    left.request_id = first_->request_id;
  }
  return left;
}

}  // namespace sluice::llm::detail
