#include "core/budget.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace sluice::core {
namespace {

using amounts = std::array<wide, budget_axis_count>;
constexpr std::array<std::int64_t spending::*, budget_axis_count> axis_members{&spending::tokens, &spending::calls,
                                                                               &spending::tool_calls, &spending::money};

amounts widened(const spending& some) noexcept { return {some.tokens, some.calls, some.tool_calls, some.money}; }

std::int64_t narrowed(wide amount) noexcept {
  return static_cast<std::int64_t>(std::clamp<wide>(amount, -wide{unlimited}, unlimited));
}

std::string number(std::int64_t value) { return value == unlimited ? "unlimited" : std::to_string(value); }
std::string name(run_id id) { return "run " + std::to_string(id.index) + "." + std::to_string(id.generation); }

unexpected<error> wrong(errc code, const std::string& field, const std::string& what) {
  return unexpected<error>(error(code, field + ": " + what));
}

std::string field(const char* of, std::size_t axis) {
  return std::string(of) + "." + std::string(to_string(static_cast<budget_axis>(axis)));
}

std::optional<std::size_t> first_negative(const spending& some) noexcept {
  for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
    if (some.*axis_members[axis] < 0) return axis;
  }
  return std::nullopt;
}

expected<void, error> check_signs(const char* of, const spending& some) {
  const auto axis = first_negative(some);
  if (!axis) return {};
  return wrong(errc::invalid_argument, field(of, *axis),
               "must not be negative, is " + std::to_string(some.*axis_members[*axis]));
}

/// What of a limit reaches a threshold; of a limit of zero, anything at all.
std::int64_t mark_of(std::int64_t limit, std::uint32_t percent) noexcept {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>((wide{limit} * percent + 99) / 100));
}

bool reached(const run_node& which, std::uint32_t percent) noexcept {
  return std::any_of(which.accounts.begin(), which.accounts.end(), [percent](const budget_account& account) {
    return account.limit != unlimited && account.committed >= mark_of(account.limit, percent);
  });
}

void renew_marks(run_node& which) noexcept {
  for (budget_account& account : which.accounts) {
    const bool none_left = account.limit == unlimited || which.told == budget::thresholds.size();
    account.mark = none_left ? unlimited : mark_of(account.limit, budget::thresholds[which.told]);
  }
}

/// What its parent's payers have set aside for a carved run: nothing on an axis on which none of them has a limit.
amounts carved(const run_node& which) noexcept {
  amounts sum{};
  for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
    const std::int64_t limit = which.accounts[axis].limit;
    sum[axis] = limit == unlimited ? 0 : limit;
  }
  return sum;
}

void note_carve(run_node& payer, const amounts& sum, int times) noexcept {
  for (std::size_t axis = 0; axis < budget_axis_count; ++axis) payer.accounts[axis].carved += times * sum[axis];
}

spending limit_of(const run_options& what) noexcept {
  return {what.limit.tokens, what.limit.calls, what.limit.tool_calls, what.limit.money};
}

amounts spent_by(const run_node& which) noexcept {
  amounts sum{};
  for (std::size_t axis = 0; axis < budget_axis_count; ++axis) sum[axis] = which.accounts[axis].spent;
  return sum;
}

}  // namespace

expected<run_id, error> budget::open(const run_options& what, std::uint64_t rank) {
  start_event();
  const spending limit = limit_of(what);
  if (auto signs = check_signs("limit", limit); !signs) return unexpected<error>(signs.error());
  if (auto signs = check_signs("finalise_reserve", what.finalise_reserve); !signs) {
    return unexpected<error>(signs.error());
  }
  const auto parent = find_parent(what);
  if (!parent) return unexpected<error>(parent.error());
  const bool is_root = *parent == no_run;
  const bool is_carved = !is_root && what.funding == run_funding::carve;
  if (is_carved) {
    if (auto could = could_carve(*parent, limit); !could) return unexpected<error>(could.error());
  }

  const std::uint32_t index = nodes_.take();
  run_node& made = nodes_[index];
  const std::uint32_t generation = made.generation;
  made = run_node{};
  made.index = index;
  made.generation = generation;
  made.tag = what.tag;
  made.parent = *parent;
  made.kept = made.open = true;
  if (is_root) {
    made.rank = rank;
    made.top = &made;
    made.depth = 1;
  } else {
    run_node& above = nodes_[*parent];
    ++above.children;
    made.rank = above.rank;
    made.top = above.top;
    made.payer = is_carved ? nullptr : &above;
    made.depth = static_cast<std::uint8_t>(above.depth + 1);
    made.funding = what.funding;
  }
  if (is_root || what.funding != run_funding::share) {
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
      made.accounts[axis].limit = limit.*axis_members[axis];
      made.accounts[axis].finalise_reserve = what.finalise_reserve.*axis_members[axis];
    }
  }
  renew_marks(made);
  if (is_carved) {
    set_aside(nodes_[*parent], carved(made));
    for (run_node* payer = &nodes_[*parent]; payer != nullptr; payer = payer->payer)
      note_carve(*payer, carved(made), 1);
  }
  ++kept_;
  return id_of(index);
}

expected<std::uint32_t, error> budget::find_parent(const run_options& what) const {
  if (what.parent == run_id{}) {
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
      const std::int64_t limit = limit_of(what).*axis_members[axis];
      const std::int64_t reserve = what.finalise_reserve.*axis_members[axis];
      if (reserve > limit) {
        return wrong(errc::invalid_argument, field("finalise_reserve", axis),
                     number(reserve) + " is above the limit of " + number(limit) + "; lower it or raise " +
                         field("limit", axis));
      }
    }
    return no_run;
  }
  const std::uint32_t parent = find(what.parent);
  if (parent == no_run) {
    return wrong(errc::invalid_argument, "parent", name(what.parent) + " is not open, or a run above it is not");
  }
  for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
    const std::int64_t reserve = what.finalise_reserve.*axis_members[axis];
    if (reserve == 0) continue;
    return wrong(errc::invalid_argument, field("finalise_reserve", axis),
                 number(reserve) + " asked below " + name(what.parent) + "; only a root run can have one");
  }
  if (nodes_[parent].depth == most_depth) {
    return wrong(errc::invalid_argument, "parent",
                 name(what.parent) + " is at depth " + std::to_string(most_depth) + ", the greatest that is allowed");
  }
  return parent;
}

expected<void, error> budget::could_carve(std::uint32_t parent, const spending& limit) const {
  spending asked;
  for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
    const std::int64_t amount = limit.*axis_members[axis];
    if (amount != unlimited) {
      asked.*axis_members[axis] = amount;
      continue;
    }
    for (const run_node* payer = &nodes_[parent]; payer != nullptr; payer = payer->payer) {
      const std::int64_t held = payer->accounts[axis].limit;
      if (held == unlimited) continue;
      return wrong(errc::refused, field("limit", axis),
                   "unlimited cannot be carved out of the " + number(held) + " of " + name(id_of(payer->index)) +
                       "; set a limit");
    }
  }
  const budget_verdict found = check(parent, asked, false);
  if (found.what == budget_verdict::kind::ok) return {};
  const auto axis = static_cast<std::size_t>(found.axis);
  return wrong(errc::refused, field("limit", axis),
               number(asked.*axis_members[axis]) + " asked, " + name(id_of(found.node)) + " has " +
                   number(found.available) + " left to set aside of " + number(found.limit) +
                   "; lower the limit or extend that run");
}

expected<void, error> budget::extend(run_id id, const spending& more) {
  start_event();
  if (auto signs = check_signs("more", more); !signs) return signs;
  const std::uint32_t node = find_open(id);
  if (node == no_run) return unexpected<error>(error(errc::invalid_argument, name(id) + " is not open"));
  run_node& extended = nodes_[node];
  if (extended.funding == run_funding::carve) {
    return unexpected<error>(
        error(errc::invalid_argument, name(id) + " is carved: its limit stays as it was set aside"));
  }
  bool raised = false;
  for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
    std::int64_t& limit = extended.accounts[axis].limit;
    const std::int64_t before = limit;
    limit = narrowed(wide{limit} + more.*axis_members[axis]);
    raised = raised || limit != before;
  }
  if (!raised) return {};
  while (extended.told != 0 && !reached(extended, thresholds[extended.told - 1U])) --extended.told;
  renew_marks(extended);
  if (extended.parked != no_run) eased_[eased_count_++] = node;
  return {};
}

bool budget::close(run_id id, bool hold) {
  start_event();
  std::uint32_t node = find_open(id);
  if (node != no_run) {
    nodes_[node].open = false;
    ++nodes_[node].top->closed_kept;
  } else {
    node = find_held(id);
    if (node == no_run || hold) return false;
  }
  nodes_[node].held = hold;
  collect(node);
  return true;
}

std::uint32_t budget::find_open(run_id id) const noexcept {
  if (id.index >= nodes_.size()) return no_run;
  const run_node& named = nodes_[id.index];
  return named.generation == id.generation && named.open ? id.index : no_run;
}

std::uint32_t budget::find_held(run_id id) const noexcept {
  if (id.index >= nodes_.size()) return no_run;
  const run_node& named = nodes_[id.index];
  return named.generation == id.generation && named.held ? id.index : no_run;
}

std::uint32_t budget::find(run_id id) const noexcept {
  const std::uint32_t found = find_open(id);
  return found != no_run && chargeable(found) ? found : no_run;
}

bool budget::chargeable(std::uint32_t node) const noexcept {
  if (nodes_[node].top->closed_kept == 0) return true;
  while (node != no_run && nodes_[node].open) node = nodes_[node].parent;
  return node == no_run;
}

std::optional<run_balance> budget::balance(run_id id) const noexcept {
  std::uint32_t node = find_open(id);
  if (node == no_run) node = find_held(id);
  if (node == no_run) return std::nullopt;
  run_balance told;
  for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
    const auto member = axis_members[axis];
    const budget_account& own = nodes_[node].accounts[axis];
    told.limit.*member = own.limit;
    told.spent.*member = narrowed(own.spent);
    told.reserved.*member = narrowed(own.reserved());
    wide least = unlimited;
    wide least_later = unlimited;
    for (const run_node* payer = &nodes_[node]; payer != nullptr; payer = payer->payer) {
      const budget_account& account = payer->accounts[axis];
      if (account.limit == unlimited) continue;
      const wide limit = wide{account.limit} - account.finalise_reserve;
      least = std::min(least, limit - account.committed);
      least_later = std::min(least_later, limit - account.spent - account.carved);
    }
    told.remaining.*member = narrowed(std::max<wide>(least, 0));
    told.payable.*member = narrowed(std::max<wide>(least_later, 0));
  }
  if (nodes_[node].told != 0) told.crossed = thresholds[nodes_[node].told - 1U];
  return told;
}

budget_verdict budget::check(std::uint32_t node, const spending& asked, bool finalising) const noexcept {
  const amounts wanted = widened(asked);
  budget_verdict found;
  for (const run_node* payer = &nodes_[node]; payer != nullptr; payer = payer->payer) {
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
      const budget_account& account = payer->accounts[axis];
      if (account.limit == unlimited) continue;
      const std::int64_t limit = account.limit - (finalising ? 0 : account.finalise_reserve);
      const wide free = limit - account.committed;
      if (free >= wanted[axis]) continue;
      const bool exhausted = limit - account.spent < wanted[axis];
      if (!exhausted && found.what != budget_verdict::kind::ok) continue;
      found = {exhausted ? budget_verdict::kind::exhausted : budget_verdict::kind::wait,
               static_cast<budget_axis>(axis),
               payer->index,
               limit,
               narrowed(std::max<wide>(free, 0)),
               narrowed(wanted[axis] - free)};
      if (exhausted) return found;
    }
  }
  return found;
}

void budget::reserve(std::uint32_t node, const spending& asked) noexcept {
  start_event();
  run_node& spender = nodes_[node];
  ++spender.in_flight;
  ++spender.top->under_way;
  set_aside(spender, widened(asked));
}

void budget::settle(std::uint32_t node, const spending& reserved, const spending& used) noexcept {
  start_event();
  run_node& spender = nodes_[node];
  pay(spender, widened(reserved), widened(used));
  --spender.in_flight;
  --spender.top->under_way;
  collect(node);
}

expected<void, charge_refusal> budget::charge(run_id id, const spending& what) {
  start_event();
  charge_refusal why;
  why.who = id;
  if (const auto axis = first_negative(what)) {
    why.why = charge_refusal::cause::negative;
    why.axis = static_cast<budget_axis>(*axis);
    why.asked = what.*axis_members[*axis];
    return unexpected<charge_refusal>(why);
  }
  const std::uint32_t node = find(id);
  if (node == no_run) {
    why.why = charge_refusal::cause::not_open;
    return unexpected<charge_refusal>(why);
  }
  const budget_verdict found = check(node, what, false);
  if (found.what == budget_verdict::kind::ok) {
    pay(nodes_[node], {}, widened(what));
    return {};
  }
  const bool exhausted = found.what == budget_verdict::kind::exhausted;
  why = {exhausted ? charge_refusal::cause::exhausted : charge_refusal::cause::set_aside,
         found.axis,
         id_of(found.node),
         found.limit,
         found.available,
         found.shortfall,
         what.*axis_members[static_cast<std::size_t>(found.axis)]};
  return unexpected<charge_refusal>(why);
}

void budget::set_aside(run_node& lowest, const amounts& asked) noexcept {
  for (run_node* payer = &lowest; payer != nullptr; payer = payer->payer) {
    bool marked = false;
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
      budget_account& account = payer->accounts[axis];
      account.committed += asked[axis];
      marked = marked || account.committed >= account.mark;
    }
    if (marked) tell_thresholds(*payer);
  }
}

void budget::pay(run_node& lowest, const amounts& reserved, const amounts& used) noexcept {
  for (run_node* payer = &lowest; payer != nullptr; payer = payer->payer) {
    bool marked = false;
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
      budget_account& account = payer->accounts[axis];
      account.committed += used[axis] - reserved[axis];
      account.spent += used[axis];
      marked = marked || account.committed >= account.mark;
    }
    if (marked) tell_thresholds(*payer);
    if (payer->open && payer->parked != no_run) eased_[eased_count_++] = payer->index;
  }
}

void budget::tell_thresholds(run_node& which) noexcept {
  while (which.told < thresholds.size() && reached(which, thresholds[which.told])) {
    crossings_[crossed_++] = {which.tag, thresholds[which.told++], id_of(which.index)};
  }
  renew_marks(which);
}

void budget::collect(std::uint32_t node) noexcept {
  while (node != no_run) {
    run_node& ended = nodes_[node];
    if (ended.open || ended.held || ended.in_flight != 0 || ended.children != 0) return;
    const std::uint32_t parent = ended.parent;
    if (ended.funding == run_funding::carve) {
      pay(nodes_[parent], carved(ended), spent_by(ended));
      for (run_node* payer = &nodes_[parent]; payer != nullptr; payer = payer->payer)
        note_carve(*payer, carved(ended), -1);
    }
    if (parent != no_run) --nodes_[parent].children;
    --ended.top->closed_kept;
    ended.kept = false;
    // No run has generation zero: an id left at its default names none.
    if (++ended.generation == 0) ended.generation = 1;
    nodes_.give(node);
    --kept_;
    node = parent;
  }
}

}  // namespace sluice::core
