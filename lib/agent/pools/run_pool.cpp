#include <sluice/agent/run_pool.hpp>

#include "agent/pools/run_hold.hpp"
#include "agent/runs/run_state.hpp"

#include <utility>

namespace sluice::agent {

run_permit::run_permit() noexcept = default;
run_permit::run_permit(std::shared_ptr<detail::run_hold> hold) noexcept : hold_(std::move(hold)) {}
run_permit::run_permit(run_permit&&) noexcept = default;

run_permit& run_permit::operator=(run_permit&& other) noexcept {
  if (this != &other) {
    release();
    hold_ = std::move(other.hold_);
  }
  return *this;
}

run_permit::~run_permit() { release(); }

run_permit::operator bool() const noexcept { return hold_ != nullptr && hold_->alive(); }

void run_permit::release() noexcept {
  if (const auto hold = std::exchange(hold_, nullptr)) hold->release();
}

run_pool::run_pool(asio::any_io_executor executor, const policy& rules)
    : state_(std::make_shared<detail::run_pool_state>(executor, rules, nullptr)) {}

run_pool::run_pool(asio::any_io_executor executor, const policy& rules, time_source& time)
    : state_(std::make_shared<detail::run_pool_state>(executor, rules, &time)) {}

run_pool::~run_pool() { state_->end(); }

asio::awaitable<expected<run_permit, error>> run_pool::admit(run_scope& who) {
  using result = expected<run_permit, error>;
  const auto hold = std::make_shared<detail::run_hold>(state_, detail::run_state::of(who));
  auto taken = co_await hold->take();
  if (!taken) co_return result(unexpected<error>(std::move(taken).error()));
  co_return result(run_permit(hold));
}

std::size_t run_pool::held() const { return state_->held(); }
std::size_t run_pool::waiting() const { return state_->waiting(); }
void run_pool::close() { state_->close(); }

namespace detail {

suspension::suspension(std::shared_ptr<run_hold> of) noexcept : of_(std::move(of)) {
  if (of_) of_->suspend();
}

suspension::~suspension() {
  if (of_) of_->give_up();
}

asio::awaitable<expected<void, error>> suspension::end() {
  const auto hold = std::exchange(of_, nullptr);
  if (!hold) co_return expected<void, error>();
  auto back = co_await hold->resume();
  co_return back;
}

error cancelled_while_suspended() { return {errc::cancelled, "cancelled while the run's place was given back"}; }

}  // namespace detail

}  // namespace sluice::agent
