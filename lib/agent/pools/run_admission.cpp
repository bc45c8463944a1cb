#include "agent/pools/run_admission.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/post.hpp>

#include <utility>

namespace sluice::agent::detail {

namespace {

error error_of(const rejection& why) {
  switch (why.reason()) {
    case reason::deadline_passed:
    case reason::deadline_in_queue: return {errc::deadline_exceeded, why.explain()};
    case reason::cancelled: return {errc::cancelled, why.explain()};
    default: return why.to_error();
  }
}

}  // namespace

run_admission::run_admission(const asio::any_io_executor& executor, std::shared_ptr<run_state> who)
    : waiting_call(who->gate().time()), who_(std::move(who)), strand_(asio::make_strand(executor)) {}

run_admission::~run_admission() { who_->remove(*this); }

bool run_admission::watch_run() noexcept { return who_->add(*this); }

void run_admission::begin(bulkhead& gate, const admit_request& what) {
  prepare();
  auto self = std::static_pointer_cast<run_admission>(shared_from_this());
  auto answered = [self = std::move(self)](expected<permit, rejection> answer) { self->settle(std::move(answer)); };
  const asio::any_io_executor here(strand_);
  gate.async_admit(what, asio::bind_executor(here, asio::bind_cancellation_slot(signal_.slot(), std::move(answered))));
  bool stopped = false;
  {
    const std::lock_guard lock(mutex_);
    begun_ = true;
    stopped = stopped_;
  }
  if (stopped) emit();
}

void run_admission::turn_away(error why) {
  prepare();
  {
    const std::lock_guard lock(mutex_);
    why_ = std::move(why);
  }
  wake();
}

asio::awaitable<expected<permit, error>> run_admission::ended() {
  const ending how = co_await wait(never);
  who_->remove(*this);
  const std::lock_guard lock(mutex_);
  if (how == ending::cancelled)
    why_ = error(errc::cancelled, "run " + who_->path() + ": cancelled while it waited for a place");
  if (granted_ && how != ending::cancelled) co_return std::move(granted_);
  granted_.release();
  co_return unexpected<error>(*why_);
}

void run_admission::settle(expected<permit, rejection> answer) {
  {
    const std::lock_guard lock(mutex_);
    if (answer) {
      granted_ = std::move(*answer);
    } else if (!why_) {
      why_ = error_of(answer.error());
    }
  }
  wake();
}

void run_admission::stop(error why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (why_) return;
    why_ = std::move(why);
  }
  emit();
}

// On the strand, where the gate completes it: the two must not meet.
void run_admission::emit() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (!begun_) return;
  }
  auto self = std::static_pointer_cast<run_admission>(weak_from_this().lock());
  if (!self) return;
  asio::post(strand_, [self = std::move(self)] { self->signal_.emit(asio::cancellation_type::terminal); });
}

void run_admission::run_cancelled() noexcept {
  // Not `stop`: its pointer must not be the last, since the destructor takes the run's mutex, which is held here.
  emit();
}

bool run_admission::leave(ending) noexcept {
  emit();
  return false;
}

}  // namespace sluice::agent::detail
