// What is not about one request: runs and what they spend, the provider's signals, and recordings.
#include "runtime/gate_aftermath.hpp"

#include <memory>
#include <string>
#include <utility>

namespace sluice::detail {

expected<run_id, error> gate::open_run(const run_options& what) {
  aftermath left(*this);
  expected<run_id, error> opened;
  {
    const std::lock_guard lock(mutex_);
    opened = core_.open_run(what, core_.now());
    if (!listeners_.empty()) tell_untold(left);
  }
  left.carry_out();
  return opened;
}

expected<run_id, error> gate::open_run(const run_options& what, budget_listener on_threshold) {
  if (!on_threshold) return open_run(what);
  const auto listener = std::make_shared<const budget_listener>(std::move(on_threshold));
  aftermath left(*this);
  expected<run_id, error> opened;
  {
    const std::lock_guard lock(mutex_);
    // Without its executor it could be told nothing.
    const bool heard = home_context_ != nullptr;
    if (heard) listeners_.keep_place(listener);
    opened = core_.open_run(what, core_.now());
    if (heard && opened) listeners_.fill_place(*opened);
    if (heard && !opened) listeners_.give_place_up();
    watched_ = recording_ != nullptr || !listeners_.empty();
    tell_untold(left);
  }
  left.carry_out();
  return opened;
}

void gate::tell_untold(aftermath& left) {
  if (!core_.thresholds_untold()) return;
  core_.tick(clock(), effects_);
  apply(left);
  note_idle(left);
}

void gate::tell_untold() noexcept {
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    tell_untold(left);
  }
  left.carry_out();
}

expected<void, charge_refusal> gate::charge_run(run_id which, const spending& what) {
  aftermath left(*this);
  expected<void, charge_refusal> result;
  {
    const std::lock_guard lock(mutex_);
    result = core_.charge_run(which, what, clock(), effects_);
    apply(left);
    note_idle(left);
  }
  left.carry_out();
  return result;
}

expected<void, error> gate::extend_run(run_id which, const spending& more) {
  aftermath left(*this);
  expected<void, error> result;
  {
    const std::lock_guard lock(mutex_);
    result = core_.extend_run(which, more, clock(), effects_);
    apply(left);
    note_idle(left);
  }
  left.carry_out();
  return result;
}

bool gate::close_run(run_id which, bool hold) {
  budget_listeners::shared listener;
  aftermath left(*this);
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    known = core_.close_run(which, clock(), effects_, hold);
    if (known) stop_in_closed_runs(left);
    listener = listeners_.remove(which);
    if (listener != nullptr) watched_ = recording_ != nullptr || !listeners_.empty();
    apply(left);
    note_idle(left);
  }
  left.carry_out();
  return known;
}

std::optional<run_balance> gate::balance(run_id which) const {
  const std::lock_guard lock(mutex_);
  return core_.balance(which);
}

void gate::pause(duration length) {
  aftermath left(*this);
  const instant now = time_->now();
  {
    const std::lock_guard lock(mutex_);
    core_.pause(after(now, length), now, effects_);
    apply(left);
    note_idle(left);
  }
  left.carry_out();
}

void gate::report_limits(const provider_limits& said) {
  aftermath left(*this);
  const instant now = time_->now();
  {
    const std::lock_guard lock(mutex_);
    core_.report_limits(said, now, effects_);
    needs_time_.store(core_.needs_time(), std::memory_order_relaxed);
    apply(left);
    note_idle(left);
  }
  left.carry_out();
}

expected<sluice::forecast, rejection> gate::forecast(const core::request& what) const {
  const instant now = time_->now();
  const std::lock_guard lock(mutex_);
  const auto told = core_.forecast(what, now);
  if (told) return *told;
  return unexpected<rejection>(refusal(told.error()));
}

void gate::signal(core::request_id id, provider_signal what) {
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    if (alive_) core_.signal(id, what, time_->now(), effects_);
    apply(left);
    note_idle(left);
  }
  left.carry_out();
}

std::vector<decision> gate::recent_decisions() const {
  const std::lock_guard lock(mutex_);
  return core_.recent();
}

void gate::start_recording(std::size_t most_bytes) {
  auto begun = std::make_unique<recording>(most_bytes);
  const std::lock_guard lock(mutex_);
  core_.record(&begun->log);
  // What was under way is freed when the mutex is free again.
  recording_.swap(begun);
  watched_ = true;
  timed_.store(true, std::memory_order_relaxed);
}

std::string gate::take_recording() {
  std::unique_ptr<recording> done;
  {
    const std::lock_guard lock(mutex_);
    core_.record(nullptr);
    done.swap(recording_);
    watched_ = !listeners_.empty();
    timed_.store(false, std::memory_order_relaxed);
  }
  if (done == nullptr) return {};
  done->log.end();
  return std::move(done->text);
}

}  // namespace sluice::detail
