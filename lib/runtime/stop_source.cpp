#include <sluice/runtime/detail/guard.hpp>

#include <asio/post.hpp>

#include <string>

namespace sluice::detail {

void stop_source::preempt() {
  preempted_.store(true, std::memory_order_release);
  emit();
}

void stop_source::cancel() { emit(); }

// Always through the strand, even from it: the work may be in the middle of starting the operation to be cancelled.
void stop_source::emit() {
  asio::post(strand_, [self = shared_from_this()] { self->signal_.emit(asio::cancellation_type::terminal); });
}

error preempted_error() {
  return {errc::preempted,
          "preempted: the capacity was lent, and its owner needs it back; ask again with permit::age() to keep the place"};
}

error empty_permit_error(const char* what) {
  return {errc::invalid_argument,
          std::string(what) + ": the permit is empty; it was released, settled or moved from before"};
}

}  // namespace sluice::detail
