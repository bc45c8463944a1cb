#include "agent/runs/run_state.hpp"

#include "agent/loop/what_is_left.hpp"
#include "agent/runs/run_departure.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace sluice::agent::detail {

namespace {

constexpr std::int64_t usual_width = 8;

// Of a child never more than its parent's; zero is not said.
std::int64_t width_of(std::int64_t own, std::int64_t parents) noexcept {
  if (parents == 0) return own == 0 ? usual_width : own;
  return own == 0 ? parents : std::min(own, parents);
}

error wrong(const run_settings& how, const std::string& what) {
  return {errc::invalid_argument, "run " + how.name + ": " + what};
}

}  // namespace

run_state::run_state(bulkhead& gate, run_settings&& how, asio::any_io_executor executor,
                     std::shared_ptr<run_state> parent, bool awaited)
    : gate_(&gate),
      hold_(gate),
      executor_(std::move(executor)),
      parent_(std::move(parent)),
      root_(parent_ ? parent_->root_ : this),
      name_(std::move(how.name)),
      deadline_(parent_ ? std::min(parent_->working_deadline(), how.deadline) : how.deadline),
      finalise_time_(how.finalise_time),
      grace_(how.grace),
      workload_(how.workload.value_or(parent_ ? parent_->workload_ : interactive)),
      tenant_(how.tenant.value_or(parent_ ? parent_->tenant_ : sluice::tenant())),
      width_(width_of(how.width, parent_ ? parent_->width_ : 0)),
      waits_(wait_graph::of_process(), name_, parent_ ? &parent_->waits_ : nullptr, awaited) {}

run_state::~run_state() {
  if (parent_ != nullptr) parent_->remove(*this);
  // A scope that a task was to open may never have come to be.
  close_account();
}

expected<std::shared_ptr<run_state>, error> run_state::open(bulkhead& gate, run_settings how,
                                                            asio::any_io_executor executor) {
  if (!executor) executor = gate.get_executor();
  return begin(gate, std::move(how), std::move(executor), nullptr, false);
}

expected<std::shared_ptr<run_state>, error> run_state::open_child(run_settings how, bool awaited) {
  return begin(*gate_, std::move(how), executor_, shared_from_this(), awaited);
}

expected<std::shared_ptr<run_state>, error> run_state::begin(bulkhead& gate, run_settings how,
                                                             asio::any_io_executor executor,
                                                             std::shared_ptr<run_state> parent, bool awaited) {
  if (how.width < 0)
    return unexpected<error>(wrong(how, "width is " + std::to_string(how.width) + "; it is not negative"));
  if (how.grace < duration::zero()) return unexpected<error>(wrong(how, "grace is negative"));
  if (how.finalise_time < duration::zero()) return unexpected<error>(wrong(how, "finalise_time is negative"));

  run_options account{.limit = how.limits, .finalise_reserve = how.finalise_reserve};
  if (parent != nullptr) {
    account.parent = parent->id_;
    account.funding = how.funding;
  }
  auto listener = std::move(how.on_threshold);
  const std::shared_ptr<run_state> made(
      new run_state(gate, std::move(how), std::move(executor), std::move(parent), awaited));
  if (const instant now = gate.now(); made->working_deadline() <= now) {
    std::string words = "run " + made->path() + ": its deadline has passed already";
    if (made->deadline_ > now) {
      words = "run " + made->path() + ": its deadline is in " + rounded(made->deadline_ - now) +
              ", all of which is kept for the last answer (finalise_time = " + rounded(made->finalise_time_) +
              "); keep less, or give it more time";
    }
    return unexpected<error>(error(errc::deadline_exceeded, std::move(words)));
  }
  if (made->parent_ != nullptr && !made->parent_->add(*made)) {
    return unexpected<error>(made->parent_->closed_error("open a run in"));
  }
  auto opened = listener ? gate.open_run(account, std::move(listener)) : gate.open_run(account);
  if (!opened && made->cancelled()) return unexpected<error>(made->parent_->closed_error("open a run in"));
  if (!opened) {
    return unexpected<error>(error(opened.error().code(), "run " + made->path() + ": " + opened.error().message()));
  }
  const std::lock_guard lock(made->mutex_);
  made->id_ = *opened;
  made->account_ = account::open;
  return made;
}

std::string run_state::path() const { return parent_ == nullptr ? name_ : parent_->path() + "/" + name_; }

instant run_state::working_deadline() const noexcept {
  if (deadline_ == never) return never;
  // Long ago stays long ago.
  return deadline_ < instant::min() + finalise_time_ ? instant::min() : deadline_ - finalise_time_;
}

error run_state::closed_error(const char* verb) const {
  return {errc::cancelled, std::string("cannot ") + verb + " run " + path() + ": it was cancelled or closed"};
}

expected<void, error> run_state::charge(const spending& what) {
  if (cancelled()) return unexpected<error>(closed_error("charge"));
  const auto charged = gate_->charge_run(id_, what);
  if (charged) return {};
  const charge_refusal& why = charged.error();
  // Cancelled meanwhile.
  if (why.why == charge_refusal::cause::not_open && cancelled()) return unexpected<error>(closed_error("charge"));
  const run_state* who = this;
  while (who != nullptr && who->id_ != why.who) who = who->parent();
  if (who == nullptr) return unexpected<error>(why.to_error());
  return unexpected<error>(error(why.code(), why.explain("run " + who->path())));
}

bool run_state::add(run_member& who) noexcept {
  const std::lock_guard lock(mutex_);
  if (cancelled()) return false;
  who.next_ = members_;
  who.previous_ = nullptr;
  if (members_ != nullptr) members_->previous_ = &who;
  members_ = &who;
  who.listed_ = true;
  return true;
}

void run_state::remove(run_member& who) noexcept {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(who.listed_, false)) return;
  (who.previous_ != nullptr ? who.previous_->next_ : members_) = who.next_;
  if (who.next_ != nullptr) who.next_->previous_ = who.previous_;
}

bool run_state::begin_task() noexcept {
  for (run_state* each = this; each != nullptr; each = each->parent()) {
    each->tasks_.fetch_add(1, std::memory_order_acq_rel);
  }
  // After it has been counted: whoever leaves either sees it, or is seen here.
  if (!cancelled()) return true;
  end_task();
  return false;
}

void run_state::end_task() noexcept {
  for (run_state* each = this; each != nullptr; each = each->parent()) {
    if (each->tasks_.fetch_sub(1, std::memory_order_acq_rel) != 1 || !each->cancelled()) continue;
    std::vector<std::shared_ptr<departure>> leaving;
    {
      const std::lock_guard lock(each->mutex_);
      leaving = each->leaving_;
    }
    for (const auto& one : leaving) one->wake();
  }
}

void run_state::cancel() noexcept {
  const std::lock_guard lock(mutex_);
  if (cancelled_.exchange(true, std::memory_order_acq_rel)) return;
  for (run_member* each = members_; each != nullptr; each = each->next_) each->run_cancelled();
}

void run_state::stop() noexcept {
  cancel();
  {
    const std::lock_guard lock(mutex_);
    if (account_ != account::open) return;
    account_ = account::stopped;
  }
  // Exchanges are stopped in this call, by code that knows nothing of runs.
  hold_.close_run(id_, true);
}

void run_state::close() noexcept {
  stop();
  close_account();
  waits_.close();
}

void run_state::close_account() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (account_ == account::none || account_ == account::closed) return;
    run_balance last = hold_.balance(id_).value_or(run_balance{});
    last.remaining = {};
    // Without memory for it, it tells zeros.
    last_.reset(new (std::nothrow) run_balance(last));
    account_ = account::closed;
  }
  hold_.close_run(id_, false);
}

run_balance run_state::balance() const {
  const std::lock_guard lock(mutex_);
  if (account_ == account::none || account_ == account::closed) return last_ ? *last_ : run_balance{};
  run_balance now = hold_.balance(id_).value_or(run_balance{});
  if (cancelled()) now.remaining = {};
  return now;
}

expected<void, error> run_state::extend(const spending& more) {
  if (cancelled()) {
    return unexpected<error>(error(errc::invalid_argument, closed_error("extend").message()));
  }
  return gate_->extend_run(id_, more);
}

asio::awaitable<leave_result> run_state::leave(std::shared_ptr<run_state> self) {
  run_state& own = *self;
  own.stop();
  leave_result left;
  if (own.tasks() != 0) {
    const auto here = std::make_shared<departure>(own.gate_->time());
    {
      const std::lock_guard lock(own.mutex_);
      own.leaving_.push_back(here);
    }
    co_await here->wait_for([&own] { return own.tasks() == 0; }, own.gate_->in(own.grace_));
    left.abandoned = own.tasks();
    const std::lock_guard lock(own.mutex_);
    std::erase(own.leaving_, here);
  }
  own.close();
  co_return left;
}

bool run_state::count_use(const void* what, std::int64_t most) {
  run_state& top = *root_;
  const std::lock_guard lock(top.mutex_);
  const auto known = std::ranges::find(top.uses_, what, &std::pair<const void*, std::int64_t>::first);
  std::int64_t& used = known != top.uses_.end() ? known->second : top.uses_.emplace_back(what, 0).second;
  if (used >= most) return false;
  ++used;
  return true;
}

std::shared_ptr<fan_out> run_state::handlers() {
  if (parent_ != nullptr && parent_->width_ == width_) return parent_->handlers();
  const auto above = parent_ != nullptr ? parent_->handlers() : nullptr;
  const std::lock_guard lock(mutex_);
  if (!handlers_) handlers_ = above ? fan_out::below(above, width_) : fan_out::of_root(width_);
  return handlers_;
}

std::shared_ptr<fan_out::unit> run_state::handler_unit() const noexcept {
  for (const run_state* each = this; each != nullptr; each = each->parent()) {
    if (each->unit_) return each->unit_;
  }
  return nullptr;
}

void run_state::serve_call(std::shared_ptr<fan_out::unit> unit, instant until) noexcept {
  unit_ = std::move(unit);
  deadline_ = std::min(deadline_, until);
}

}  // namespace sluice::agent::detail
