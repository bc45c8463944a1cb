// What stops running work: under guard, or by a signal, until its grant ends.
#include "runtime/gate_aftermath.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::detail {

std::shared_ptr<stoppable> gate::set_stop(core::request_id id, const std::shared_ptr<stoppable>& stop,
                                          aftermath& left) {
  if (stops_.size() <= id.index) stops_.resize(std::size_t{id.index} + 1);
  std::shared_ptr<stoppable> former = std::exchange(stops_[id.index], stop);
  core_.set_stoppable(id, true, clock(), effects_);
  if (core_.in_closed_run(id)) left.add(stop, stop_cause::run_closed);
  apply(left);
  return former;
}

void gate::begin_guard(core::request_id id, const std::shared_ptr<stoppable>& stop) {
  // What it takes the place of, if anything: not to be freed under the mutex.
  std::shared_ptr<stoppable> former;
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    watch_context(*stop->context());
    ++busy_;
    former = set_stop(id, stop, left);
  }
  left.carry_out();
}

void gate::end_guard(core::request_id id, const stoppable& stop) noexcept {
  std::shared_ptr<stoppable> gone;
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    // The permit may have ended under guard, and its place may be another's by now.
    if (stops_[id.index].get() == &stop) gone.swap(stops_[id.index]);
    core_.set_stoppable(id, false, clock(), effects_);
    apply(left);
    --busy_;
    left.check_unused();
  }
  left.carry_out();
}

void gate::stop_by(core::request_id id, const std::shared_ptr<stoppable>& stop) {
  std::shared_ptr<stoppable> former;
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    former = set_stop(id, stop, left);
  }
  left.carry_out();
}

void gate::finish_signalled(core::request_id id, core::ending how, const std::optional<usage>& used) noexcept {
  std::shared_ptr<stoppable> gone;
  std::unique_lock lock(mutex_);
  gone.swap(stops_[id.index]);
  // Work that is settled has come to its end in spite of it.
  const bool settled = how == core::ending::released && used;
  if (!settled && gone && gone->stopped() == stop_cause::preempted) how = core::ending::preempted;
  finish_among_others(std::move(lock), id, how, used);
}

stop_cause gate::stopped(core::request_id id) const noexcept {
  const std::lock_guard lock(mutex_);
  const bool known = id.index < stops_.size() && stops_[id.index];
  return known ? stops_[id.index]->stopped() : stop_cause::none;
}

void gate::stop_with(run_id which, const std::shared_ptr<stoppable>& stop) {
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    if (!core_.may_charge(which)) {
      left.add(stop, stop_cause::run_closed);
    } else {
      if (with_runs_.size() >= enough_with_runs_) {
        std::erase_if(with_runs_, [](const auto& each) { return each.second.expired(); });
        enough_with_runs_ = std::max<std::size_t>(16, 2 * with_runs_.size());
      }
      with_runs_.emplace_back(which, stop);
    }
  }
  left.carry_out();
}

void gate::stop_in_closed_runs(aftermath& left) {
  std::erase_if(with_runs_, [&](const auto& each) {
    auto stop = each.second.lock();
    if (stop == nullptr) return true;
    if (core_.may_charge(each.first)) return false;
    left.add(std::move(stop), stop_cause::run_closed);
    return true;
  });
}

bool gate::could_be_stopped(core::request_id id) const noexcept {
  const std::lock_guard lock(mutex_);
  return core_.could_be_stopped(id);
}

}  // namespace sluice::detail
