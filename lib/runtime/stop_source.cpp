#include <sluice/runtime/detail/guard.hpp>

#include <asio/post.hpp>

#include <string>

namespace sluice::detail {

void stop_source::preempt() {
  preempted_.store(true, std::memory_order_release);
  emit();
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

error preempted_error() {
  return {
      errc::preempted,
      "preempted: the capacity was lent, and its owner needs it back; ask again with permit::age() to keep the place"};
}

error empty_permit_error(const char* what) {
  return {errc::invalid_argument,
          std::string(what) + ": the permit is empty; it was released, settled or moved from before"};
}

}  // namespace sluice::detail
