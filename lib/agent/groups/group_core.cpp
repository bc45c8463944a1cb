#include "agent/groups/group_core.hpp"

#include <algorithm>
#include <utility>

namespace sluice::agent::detail {

group_core::group_core(const group_options& how) : how_(how) { how_.width = std::max<std::size_t>(how_.width, 1); }

group_core::steps group_core::add(std::optional<std::string_view> key) {
  steps then;
  const std::size_t number = started_++;
  const auto which = tasks_.emplace(number, task{}).first;
  task& added = which->second;
  added.turn = ++turns_;
  ++open_;
  if (key) {
    auto found = lines_.find(*key);
    if (found == lines_.end()) found = lines_.emplace(std::string(*key), line{}).first;
    added.key = found;
    if (const auto former = found->second.latest) replace(*former, added, then);
    found->second.latest = number;
  }
  if (verdict_ != verdict::open) {
    conclude(which, task_ending::cancelled, then);
    which->second.now = phase::ended;
    return then;
  }
  queue_.emplace(added.turn, number);
  judge(then);
  begin_more(then);
  return then;
}

void group_core::replace(std::size_t former, task& by, steps& then) {
  const auto which = tasks_.find(former);
  task& old = which->second;
  --open_;
  if (old.now == phase::queued) {
    // The key keeps its turn: otherwise one that is replaced often would never have it.
    by.turn = old.turn;
    queue_.erase(old.turn);
    ++counts_.cancelled;
    ++counts_.replaced;
    then.drop.push_back(former);
    tasks_.erase(which);
    return;
  }
  if (verdict_ == verdict::open) then.cancel.push_back(former);
  retire(which, then);
}

void group_core::retire(tasks::iterator which, steps& then) {
  task& of = which->second;
  of.key.reset();
  if (of.now == phase::ended) {
    then.drop.push_back(which->first);
    tasks_.erase(which);
    return;
  }
  of.replaced = true;
  --active_;
  ++leftover_;
}

void group_core::conclude(tasks::iterator which, task_ending how, steps& then) {
  task& of = which->second;
  --open_;
  of.how = how;
  of.counted = true;
  switch (how) {
    case task_ending::succeeded: ++counts_.succeeded; break;
    case task_ending::failed: ++counts_.failed; break;
    case task_ending::cancelled: ++counts_.cancelled; break;
  }
  if (!of.key) return;
  line& own = (*of.key)->second;
  own.latest.reset();
  if (const auto before = std::exchange(own.answer, which->first)) retire(tasks_.find(*before), then);
}

group_core::steps group_core::finished(std::size_t number, task_ending how) {
  steps then;
  const auto found = tasks_.find(number);
  if (found == tasks_.end() || found->second.now != phase::running) return then;
  found->second.now = phase::leaving;
  if (found->second.replaced) return then;
  if (verdict_ != verdict::open && how == task_ending::failed) how = task_ending::cancelled;
  conclude(found, how, then);
  if (how == task_ending::failed && how_.rule == group_rule::fail_fast) decide(verdict::failed, then);
  judge(then);
  return then;
}

group_core::steps group_core::gone(std::size_t number) {
  steps then = finished(number, task_ending::cancelled);
  const auto found = tasks_.find(number);
  if (found == tasks_.end() || found->second.now != phase::leaving) return then;
  if (found->second.replaced) {
    --leftover_;
    if (!found->second.counted) {
      ++counts_.cancelled;
      ++counts_.replaced;
    }
    then.drop.push_back(number);
    tasks_.erase(found);
  } else {
    --active_;
    found->second.now = phase::ended;
  }
  begin_more(then);
  return then;
}

group_core::steps group_core::wait() {
  steps then;
  waited_for_ = true;
  judge(then);
  return then;
}

std::size_t group_core::needed() const noexcept {
  if (verdict_ != verdict::open) return 0;
  return how_.rule == group_rule::quorum ? how_.quorum - counts_.succeeded : open_;
}

void group_core::judge(steps& then) {
  if (verdict_ != verdict::open) return;
  if (how_.rule == group_rule::quorum) {
    if (counts_.succeeded >= how_.quorum) return decide(verdict::met, then);
    if (waited_for_ && open_ < how_.quorum - counts_.succeeded) return decide(verdict::out_of_reach, then);
  } else if (waited_for_ && open_ == 0) {
    decide(verdict::met, then);
  }
}

group_core::steps group_core::decide(verdict why) {
  steps then;
  if (verdict_ == verdict::open) decide(why, then);
  return then;
}

void group_core::decide(verdict why, steps& then) {
  if (verdict_ != verdict::open) return;
  verdict_ = why;
  for (const auto& [turn, number] : std::exchange(queue_, {})) {
    const auto found = tasks_.find(number);
    found->second.now = phase::ended;
    conclude(found, task_ending::cancelled, then);
  }
  for (const auto& [number, each] : tasks_) {
    if (each.now == phase::running && !each.replaced) then.cancel.push_back(number);
  }
}

void group_core::begin_more(steps& then) {
  while (!queue_.empty() && active_ < how_.width && active_ + leftover_ < 2 * how_.width) {
    const std::size_t number = queue_.begin()->second;
    queue_.erase(queue_.begin());
    tasks_.at(number).now = phase::running;
    ++active_;
    then.begin.push_back(number);
  }
}

std::vector<std::size_t> group_core::abandon() {
  std::vector<std::size_t> left;
  steps dropped;
  for (auto each = tasks_.begin(); each != tasks_.end();) {
    const auto which = each++;
    task& of = which->second;
    if (of.now == phase::ended) continue;
    // One whose work has ended gave its result: it only has yet to stop what it started.
    const bool works = of.now == phase::running;
    left.push_back(which->first);
    of.now = phase::ended;
    of.given_up = works;
    if (works) ++(how_.wait_for == group_wait::verdict ? counts_.stopping : counts_.abandoned);
    if (!of.replaced) {
      if (works) conclude(which, task_ending::cancelled, dropped);
      continue;
    }
    if (!of.counted) {
      ++counts_.cancelled;
      ++counts_.replaced;
    }
    tasks_.erase(which);
  }
  active_ = 0;
  leftover_ = 0;
  return left;
}

std::optional<group_core::answer> group_core::take(std::string_view key) {
  const auto found = lines_.find(key);
  if (found == lines_.end() || !found->second.answer) return std::nullopt;
  const auto which = tasks_.find(*std::exchange(found->second.answer, std::nullopt));
  const answer given{which->first, which->second.how, which->second.now == phase::leaving};
  steps then;
  retire(which, then);
  if (!found->second.latest) lines_.erase(found);
  return given;
}

bool group_core::pending(std::string_view key) const {
  const auto found = lines_.find(key);
  return found != lines_.end() && found->second.latest;
}

std::optional<task_ending> group_core::ending(std::size_t number) const {
  const auto found = tasks_.find(number);
  if (found == tasks_.end() || found->second.now == phase::queued || found->second.now == phase::running)
    return std::nullopt;
  return found->second.how;
}

bool group_core::given_up(std::size_t number) const {
  const auto found = tasks_.find(number);
  return found != tasks_.end() && found->second.given_up;
}

std::vector<std::size_t> group_core::outcomes() const {
  std::vector<std::size_t> with;
  for (const auto& [number, each] : tasks_) {
    if (!each.replaced && (each.now == phase::leaving || each.now == phase::ended)) with.push_back(number);
  }
  return with;
}

}  // namespace sluice::agent::detail
