#include "agent/pools/wait_graph.hpp"

#include <sluice/core/cost.hpp>

#include <algorithm>
#include <utility>

namespace sluice::agent::detail {

namespace {

template <typename T>
void take_out(std::vector<T*>& from, const T* which) noexcept {
  // What came last goes first most often.
  const auto found = std::find(from.rbegin(), from.rend(), which);
  if (found == from.rend()) return;
  *found = from.back();
  from.pop_back();
}

constexpr std::size_t named_holders = 3;
constexpr std::size_t named_links = 6;

}  // namespace

wait_graph& wait_graph::of_process() {
  // Never destroyed: runs may end after static objects have.
  static auto* const graph = new wait_graph;
  return *graph;
}

template <typename Visit>
void wait_graph::visit_needs(const run& from, Visit visit) {
  for (run* each : from.children_) visit(*each);
  for (const batch* each : from.awaits_) {
    for (run* member : each->members_) visit(*member);
  }
  for (const place* each : from.wanted_) {
    for (const place* other : each->pool_.held_) visit(other->run_);
  }
}

bool wait_graph::could_come(const place& wanted) {
  const pool& in = wanted.pool_;
  std::int64_t lost = 0;
  std::int64_t lost_of_class = 0;
  for (const place* each : in.held_) {
    if (each->run_.live_) continue;
    ++lost;
    if (each->class_ == wanted.class_) ++lost_of_class;
  }
  // None is lost: then it waits for something else than a circle, a pool without places for instance.
  const std::int64_t most = in.most_.at(wanted.class_.index());
  return lost == 0 || (lost < in.places_ && (lost_of_class == 0 || lost_of_class < most));
}

bool wait_graph::could_come(const batch& awaited) {
  std::size_t coming = 0;
  for (const run* member : awaited.members_) coming += member->live_ ? 1 : 0;
  if (coming != 0 || awaited.members_.empty()) coming += awaited.not_begun_;
  return coming >= std::min(awaited.needed_, awaited.members_.size() + awaited.not_begun_);
}

bool wait_graph::could_end(const run& which) {
  return std::all_of(which.children_.begin(), which.children_.end(), [](const run* each) { return each->live_; }) &&
         std::all_of(which.awaits_.begin(), which.awaits_.end(), [](const batch* each) { return could_come(*each); }) &&
         std::all_of(which.wanted_.begin(), which.wanted_.end(), [](const place* each) { return could_come(*each); });
}

bool wait_graph::plainly_live(const run& which) {
  return which.children_.empty() && which.awaits_.empty() && which.wanted_.empty();
}

bool wait_graph::live(run& from) {
  const std::uint64_t look = ++looks_;
  seen_.clear();
  const auto see = [this, look](run& each) {
    if (std::exchange(each.look_, look) == look) return;
    each.live_ = plainly_live(each);
    each.leads_back_ = false;
    seen_.push_back(&each);
  };
  see(from);
  for (std::size_t next = 0; next < seen_.size(); ++next) {
    if (!seen_[next]->live_) visit_needs(*seen_[next], see);
  }
  // What is needed comes after what needs it, where there is no circle: so one round from the back is enough most
  // often.
  for (bool more = true; more && !from.live_;) {
    more = false;
    for (auto each = seen_.rbegin(); each != seen_.rend(); ++each) {
      if ((*each)->live_ || !could_end(**each)) continue;
      (*each)->live_ = true;
      more = true;
    }
  }
  return from.live_;
}

void wait_graph::check(run& changed) {
  if (wanted_ == 0) return;
  while (!live(changed)) {
    place* const latest = latest_in_circle(changed);
    if (latest == nullptr) return;
    refuse(*latest);
  }
}

wait_graph::place* wait_graph::latest_in_circle(run& of) {
  // All runs were live before this one changed, so that every circle leads through it.
  of.leads_back_ = true;
  for (bool more = true; more;) {
    more = false;
    for (auto each = seen_.rbegin(); each != seen_.rend(); ++each) {
      if ((*each)->live_ || (*each)->leads_back_) continue;
      visit_needs(**each, [&](const run& need) {
        if (need.live_ || !need.leads_back_) return;
        (*each)->leads_back_ = true;
        more = true;
      });
    }
  }
  place* latest = nullptr;
  for (const run* each : seen_) {
    if (each->live_ || !each->leads_back_) continue;
    for (place* wanted : each->wanted_) {
      if (could_come(*wanted)) continue;
      const bool in_circle = std::any_of(wanted->pool_.held_.begin(), wanted->pool_.held_.end(),
                                         [](const place* held) { return !held->run_.live_ && held->run_.leads_back_; });
      if (in_circle && (latest == nullptr || wanted->number_ > latest->number_)) latest = wanted;
    }
  }
  return latest;
}

void wait_graph::refuse(place& wanted) {
  error why(errc::refused, describe(wanted));
  wanted.forget();
  if (wanted.asking_) {
    wanted.answer_.emplace(std::move(why));
  } else {
    wanted.refused(std::move(why));
  }
}

std::string wait_graph::describe(const place& wanted) {
  const run& waiter = wanted.run_;
  const pool& in = wanted.pool_;
  std::vector<run*> holders;
  std::size_t lost = 0;
  for (const place* each : in.held_) {
    if (each->run_.live_) continue;
    ++lost;
    if (std::find(holders.begin(), holders.end(), &each->run_) == holders.end()) holders.push_back(&each->run_);
  }
  std::string said = "would wait for ever: " + waiter.path() + " needs a run's place, and " +
                     (lost == 1 ? std::string("the only one is") : "all " + std::to_string(lost) + " are") +
                     " held by ";
  for (std::size_t each = 0; each < holders.size(); ++each) {
    if (each == named_holders) {
      said += ", and " + std::to_string(holders.size() - each) + " more";
      break;
    }
    if (each != 0) said += ", and ";
    said +=
        holders[each] == &waiter ? waiter.path() + " itself" : holders[each]->path() + chain(*holders[each], waiter);
  }
  return said +
         "; let those that wait give theirs back meanwhile (run_permit::suspended_while), or raise the pool's slots";
}

std::string wait_graph::chain(run& from, const run& to) {
  // The shortest way, from its end to its beginning.
  const std::uint64_t look = ++looks_;
  std::vector<run*> reached{&from};
  from.look_ = look;
  from.towards_ = nullptr;
  const run* found = nullptr;
  for (std::size_t next = 0; next < reached.size() && found == nullptr; ++next) {
    run& at = *reached[next];
    visit_needs(at, [&](run& need) {
      if (need.live_ || found != nullptr || std::exchange(need.look_, look) == look) return;
      need.towards_ = &at;
      reached.push_back(&need);
      if (&need == &to) found = &need;
    });
  }
  if (found == nullptr) return ", which waits as well";
  std::vector<const run*> way;
  for (const run* each = found; each != nullptr; each = each->towards_) way.push_back(each);
  std::string said;
  for (std::size_t link = way.size() - 1; link > 0; --link) {
    const run& at = *way[link];
    const run& need = *way[link - 1];
    const bool below = need.member_of_ != nullptr ? &need.member_of_->owner_ == &at : need.parent_ == &at;
    said += below ? ", which waits for " : ", which needs a place held by ";
    if (link == 1) return said + "it";
    if (way.size() - link == named_links) return said + need.path() + ", and so on, to one that waits for it";
    said += need.path();
  }
  return said;
}

wait_graph::run::run(wait_graph& graph, const std::string& name, run* parent, bool awaited)
    : graph_(graph), name_(name), parent_(parent), awaited_(awaited && parent != nullptr) {
  if (!awaited_) return;
  const std::lock_guard lock(graph_.mutex_);
  parent_->children_.push_back(this);
}

wait_graph::run::~run() {
  const std::lock_guard lock(graph_.mutex_);
  if (awaited_) take_out(parent_->children_, this);
  if (member_of_ != nullptr) take_out(member_of_->members_, this);
}

void wait_graph::run::close() noexcept {
  const std::lock_guard lock(graph_.mutex_);
  if (std::exchange(awaited_, false)) take_out(parent_->children_, this);
}

std::string wait_graph::run::path() const { return parent_ == nullptr ? name_ : parent_->path() + "/" + name_; }

wait_graph::place::place(run& whose, pool& in, workload as) : graph_(in.graph_), run_(whose), pool_(in), class_(as) {}

wait_graph::place::~place() { leave(); }

std::optional<error> wait_graph::place::want() {
  const std::lock_guard lock(graph_.mutex_);
  if (phase_ != phase::idle) return std::nullopt;
  phase_ = phase::wanted;
  number_ = ++graph_.asked_;
  run_.wanted_.push_back(this);
  ++graph_.wanted_;
  asking_ = true;
  graph_.check(run_);
  asking_ = false;
  return std::exchange(answer_, std::nullopt);
}

void wait_graph::place::hold() {
  const std::lock_guard lock(graph_.mutex_);
  forget();
  phase_ = phase::held;
  pool_.held_.push_back(this);
  // Runs that it waits for may be waiting for a place, which it now keeps from them.
  graph_.check(run_);
}

void wait_graph::place::leave() noexcept {
  const std::lock_guard lock(graph_.mutex_);
  forget();
}

void wait_graph::place::forget() noexcept {
  if (phase_ == phase::wanted) {
    take_out(run_.wanted_, this);
    --graph_.wanted_;
  } else if (phase_ == phase::held) {
    take_out(pool_.held_, this);
  }
  phase_ = phase::idle;
}

wait_graph::batch::batch(run& owner) : graph_(owner.graph_), owner_(owner) {}

wait_graph::batch::~batch() {
  end();
  const std::lock_guard lock(graph_.mutex_);
  for (run* each : members_) each->member_of_ = nullptr;
}

void wait_graph::batch::add(run& member) {
  const std::lock_guard lock(graph_.mutex_);
  members_.push_back(&member);
  member.member_of_ = this;
}

void wait_graph::batch::remove(run& member) noexcept {
  const std::lock_guard lock(graph_.mutex_);
  if (member.member_of_ != this) return;
  member.member_of_ = nullptr;
  take_out(members_, &member);
}

void wait_graph::batch::wait_for(std::size_t needed, std::size_t not_begun) noexcept {
  const std::lock_guard lock(graph_.mutex_);
  needed_ = needed;
  not_begun_ = not_begun;
  if (!std::exchange(awaited_, true)) owner_.awaits_.push_back(this);
  graph_.check(owner_);
}

void wait_graph::batch::end() noexcept {
  const std::lock_guard lock(graph_.mutex_);
  if (std::exchange(awaited_, false)) take_out(owner_.awaits_, this);
}

}  // namespace sluice::agent::detail
