#include <sluice/runtime/detail/guard.hpp>

#include <asio/post.hpp>

#include <string>

namespace sluice::detail {

void stop_source::stop(stop_cause why) noexcept {
  stop_cause none = stop_cause::none;
  if (cause_.compare_exchange_strong(none, why, std::memory_order_acq_rel)) emit();
}

void stop_source::cancel() { emit(); }

void stop_source::obey(asio::cancellation_slot callers) {
  if (!callers.is_connected()) return;
  // Weakly: the slot keeps what it was given, perhaps for longer than the context lives.
  callers.assign([weak = weak_from_this()](asio::cancellation_type) {
    if (const auto running = weak.lock()) running->cancel();
  });
}

// Always through the strand, even from it: the work may be in the middle of starting the operation to be cancelled.
void stop_source::emit() {
  asio::post(strand_, [self = shared_from_this()] { self->signal_.emit(asio::cancellation_type::terminal); });
}

error stopped_error(stop_cause why) {
  if (why == stop_cause::run_closed) {
    return {errc::cancelled, "cancelled: the work's run, or one above it, was closed (cancelled, or left) meanwhile"};
  }
  return {
      errc::preempted,
      "preempted: the capacity was lent, and its owner needs it back; ask again with permit::age() to keep the place"};
}

error empty_permit_error(const char* what) {
  return {errc::invalid_argument,
          std::string(what) + ": the permit is empty; it was released, settled or moved from before"};
}

}  // namespace sluice::detail
