#include "core/tenant_table.hpp"

namespace sluice::core {

tenant_table::tenant_table(fair_queue& flows) : flows_(flows), settings_{{1, {}}} {
  static_cast<void>(make(0, instant{}));
  static_cast<void>(make(0, instant{}));
}

const tenant_table::setting& tenant_table::setting_of(std::uint64_t key) const noexcept {
  const std::uint32_t own = named_.find(key);
  return own == key_table::none ? settings_.back() : settings_[own];
}

void tenant_table::prepare(tenant_cell& made, std::uint64_t key, instant now) const noexcept {
  const setting& own = setting_of(key);
  made = tenant_cell{};
  made.key = key;
  made.flows.fill(nowhere);
  made.weight = own.weight;
  made.rates.configure(own.rates, now);
}

std::uint32_t tenant_table::make(std::uint64_t key, instant now) {
  const std::uint32_t index = cells_.take();
  prepare(cells_[index], key, now);
  cells_[index].known = true;
  return index;
}

std::uint32_t tenant_table::look(tenant who, instant now) {
  if (who.key() == 0) return nobody;
  if (const std::uint32_t found = keys_.find(who.key()); found != key_table::none) return found;
  if (keys_.size() >= most_ && !may_forget_one(now)) return shared;
  if (scratch_ == nowhere) scratch_ = cells_.take();
  prepare(cells_[scratch_], who.key(), now);
  return scratch_;
}

void tenant_table::configure(const policy& rules, instant now) {
  named_ = key_table{};
  settings_.clear();
  for (const tenant_policy& each : rules.tenants) {
    named_.insert(tenant(each.name).key(), static_cast<std::uint32_t>(settings_.size()));
    settings_.push_back({each.weight, each.rates});
  }
  settings_.push_back({rules.other_tenants.weight, rules.other_tenants.rates});
  most_ = rules.max_tenants;
  for (std::uint32_t index = 0; index < cells_.size(); ++index) {
    tenant_cell& each = cells_[index];
    if (!each.known) continue;
    const setting& own = setting_of(each.key);
    each.weight = own.weight;
    each.rates.configure(own.rates, now);
    for (const std::uint32_t flow : each.flows) {
      if (flow != nowhere) flows_.set_weight(flow, own.weight);
    }
  }
}

std::uint32_t tenant_table::add(std::uint64_t key, instant now) {
  if (keys_.size() >= most_ && !forget_one(now)) return shared;
  const std::uint32_t index = make(key, now);
  keys_.insert(key, index);
  link_newest(index);
  return index;
}

// Only the one idle for longest is looked at: when even that one still has something to drain, so have the others.
bool tenant_table::forget_one(instant now) {
  if (!may_forget_one(now)) return false;
  const std::uint32_t index = oldest_idle_;
  tenant_cell& gone = cells_[index];
  unlink(index);
  keys_.erase(gone.key);
  for (const std::uint32_t flow : gone.flows) {
    if (flow != nowhere) flows_.close(flow);
  }
  gone.known = false;
  cells_.give(index);
  return true;
}

std::uint32_t tenant_table::open_flow(std::uint32_t index, std::size_t c) {
  const std::uint32_t made = flows_.open(c, index, cells_[index].weight);
  cells_[index].flows[c] = made;
  return made;
}

void tenant_table::link_newest(std::uint32_t index) noexcept {
  tenant_cell& which = cells_[index];
  which.older = newest_idle_;
  which.newer = nowhere;
  (newest_idle_ == nowhere ? oldest_idle_ : cells_[newest_idle_].newer) = index;
  newest_idle_ = index;
}

void tenant_table::unlink(std::uint32_t index) noexcept {
  tenant_cell& which = cells_[index];
  (which.older == nowhere ? oldest_idle_ : cells_[which.older].newer) = which.newer;
  (which.newer == nowhere ? newest_idle_ : cells_[which.newer].older) = which.older;
}

}  // namespace sluice::core
