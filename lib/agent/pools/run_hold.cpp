#include "agent/pools/run_hold.hpp"

#include "agent/pools/run_admission.hpp"

#include <asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace sluice::agent::detail {

namespace {

wait_graph::pool::ceilings ceilings_of(const policy& rules) {
  wait_graph::pool::ceilings most;
  most.fill(unlimited);
  const std::size_t known = std::min(rules.classes.size(), most.size());
  for (std::size_t each = 0; each < known; ++each) most[each] = rules.classes[each].ceiling.slots;
  return most;
}

/// A class that the pool does not have is refused by its gate.
workload known_class(workload which) {
  return which.index() < max_workloads ? which : workload(static_cast<std::uint8_t>(max_workloads - 1));
}

}  // namespace

run_pool_state::run_pool_state(const asio::any_io_executor& executor, const policy& rules, time_source* time)
    : places_(wait_graph::of_process(), rules.observe ? unlimited : rules.total.slots, ceilings_of(rules)) {
  if (time != nullptr) {
    gate_.emplace(executor, rules, *time);
  } else {
    gate_.emplace(executor, rules);
  }
}

void run_pool_state::admit(const std::shared_ptr<run_admission>& who, const admit_request& what) {
  const std::lock_guard lock(mutex_);
  if (gate_) return who->begin(*gate_, what);
  who->turn_away(error(errc::refused, "refused (closed): the pool of runs is gone"));
}

void run_pool_state::close() {
  const std::lock_guard lock(mutex_);
  if (gate_) gate_->close();
}

void run_pool_state::end() noexcept {
  const std::lock_guard lock(mutex_);
  gate_.reset();
}

std::size_t run_pool_state::held() const {
  const std::lock_guard lock(mutex_);
  return gate_ ? static_cast<std::size_t>(gate_->statistics().all.in_flight) : 0;
}

std::size_t run_pool_state::waiting() const {
  const std::lock_guard lock(mutex_);
  return gate_ ? static_cast<std::size_t>(gate_->statistics().all.waiting) : 0;
}

class run_hold::taking {
 public:
  explicit taking(run_hold& by) noexcept : by_(by) {}
  taking(const taking&) = delete;
  taking& operator=(const taking&) = delete;
  ~taking() {
    permit unwanted;
    const std::lock_guard lock(by_.mutex_);
    by_.taking_ = false;
    if (!by_.permit_) {
      by_.place_.leave();
      // While others are away, the last of them tries again.
      if (by_.away_ == 0) by_.over_ = true;
    } else if (by_.over_ || by_.away_ > 0) {
      unwanted = by_.let_go();
    }
  }

 private:
  run_hold& by_;
};

run_hold::run_hold(std::shared_ptr<run_pool_state> in, std::shared_ptr<run_state> who)
    : pool_(std::move(in)),
      who_(std::move(who)),
      place_(who_->waits(), pool_->places(), known_class(who_->workload())) {}

run_hold::~run_hold() { release(); }

void run_hold::place::refused(error why) noexcept {
  if (const auto waits = waiter.lock()) waits->stop(std::move(why));
}

asio::awaitable<expected<void, error>> run_hold::take() {
  using result = expected<void, error>;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto waiter = std::make_shared<run_admission>(executor, who_);
  const taking until_it_ends(*this);
  if (!waiter->watch_run()) {
    co_return result(unexpected<error>(error(errc::cancelled, "run " + who_->path() + ": it was cancelled or closed")));
  }
  if (auto unwanted = begin_to_wait(waiter)) co_return result(unexpected<error>(*std::move(unwanted)));
  if (auto circle = place_.want()) co_return result(unexpected<error>(*std::move(circle)));
  admit_request what{.cost = {.slots = 1}, .workload = who_->workload()};
  what.options.deadline = who_->working_deadline();
  what.options.tenant = who_->tenant();
  what.options.age = age_;
  pool_->admit(waiter, what);
  auto granted = co_await waiter->ended();
  if (!granted) co_return result(unexpected<error>(std::move(granted).error()));
  const std::lock_guard lock(mutex_);
  permit_ = std::move(*granted);
  place_.hold();
  co_return result();
}

std::optional<error> run_hold::begin_to_wait(const std::shared_ptr<run_admission>& by) {
  const std::lock_guard lock(mutex_);
  if (!turned_away_) place_.waiter = by;
  return turned_away_;
}

void run_hold::turn_away(error why) {
  std::shared_ptr<run_admission> waits;
  {
    const std::lock_guard lock(mutex_);
    turned_away_ = why;
    waits = place_.waiter.lock();
  }
  if (waits) waits->stop(std::move(why));
}

permit run_hold::let_go() noexcept {
  age_ = permit_ ? permit_.age() : age_;
  // Before the permit ends: somebody else may have its place at once.
  place_.leave();
  return std::move(permit_);
}

void run_hold::release() noexcept {
  permit given;
  const std::lock_guard lock(mutex_);
  over_ = true;
  if (!taking_) given = let_go();
}

bool run_hold::alive() const noexcept {
  const std::lock_guard lock(mutex_);
  return !over_;
}

void run_hold::suspend() noexcept {
  permit given;
  const std::lock_guard lock(mutex_);
  if (++away_ == 1 && permit_) given = let_go();
}

bool run_hold::begin_to_resume() noexcept {
  const std::lock_guard lock(mutex_);
  if (--away_ > 0 || over_ || taking_) return false;
  taking_ = true;
  return true;
}

asio::awaitable<expected<void, error>> run_hold::resume() {
  if (!begin_to_resume()) co_return expected<void, error>();
  auto taken = co_await take();
  co_return taken;
}

void run_hold::give_up() noexcept {
  const std::lock_guard lock(mutex_);
  if (--away_ == 0 && !taking_) over_ = true;
}

}  // namespace sluice::agent::detail
