/// \file
/// The tenants that are known: what each may send, and its flow in each class.
#pragma once

#include "core/fair_queue.hpp"
#include "core/key_table.hpp"
#include "core/rate_cell.hpp"
#include "core/slab.hpp"

#include <sluice/core/policy.hpp>
#include <sluice/core/tenant.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::core {

/// One tenant.
struct tenant_cell {
  std::uint64_t key = 0;
  rate_cells rates;
  std::array<std::uint32_t, max_workloads> flows{};
  std::int64_t weight = 1;
  /// Its requests that wait or hold something.
  std::uint32_t users = 0;
  /// Neighbours among the idle ones, the one idle for longest in front; `older` is the next free cell when nobody's.
  std::uint32_t older = nowhere;
  std::uint32_t newer = nowhere;
  bool known = false;
};

/// At most `max_tenants` are known. Nobody in particular is always known, as cell 0; and cell 1 is shared by all who
/// come when everybody else is busy. find, use, release: O(1) expected. configure: O(tenants).
class tenant_table {
 public:
  static constexpr std::uint32_t nobody = 0;
  static constexpr std::uint32_t shared = 1;

  explicit tenant_table(fair_queue& flows);
  tenant_table(const tenant_table&) = delete;
  tenant_table& operator=(const tenant_table&) = delete;

  /// Puts weights and rates in force, for those known now and those to come.
  void configure(const policy& rules, instant now);

  /// The cell of a tenant, known from now on. Another one's cell may be forgotten for it: of those without any request
  /// that have nothing left to drain, the one idle for longest.
  [[nodiscard]] std::uint32_t find(tenant who, instant now) {
    if (who.key() == 0) return nobody;
    const std::uint32_t found = keys_.find(who.key());
    return found != key_table::none ? found : add(who.key(), now);
  }

  /// The cell that it has, or would have if it were to be known: a new one, which is nobody's, when it would be made
  /// for it.
  [[nodiscard]] std::uint32_t look(tenant who, instant now);

  /// A request of it begins, and ends.
  void use(std::uint32_t index) noexcept {
    if (cells_[index].users++ == 0 && index > shared) unlink(index);
  }
  void release(std::uint32_t index) noexcept {
    if (--cells_[index].users == 0 && index > shared) link_newest(index);
  }

  /// Its flow in class `c`.
  [[nodiscard]] std::uint32_t flow_in(std::uint32_t index, std::size_t c) {
    const std::uint32_t known = cells_[index].flows[c];
    return known != nowhere ? known : open_flow(index, c);
  }

  [[nodiscard]] tenant_cell& operator[](std::uint32_t index) noexcept { return cells_[index]; }
  [[nodiscard]] const tenant_cell& operator[](std::uint32_t index) const noexcept { return cells_[index]; }
  /// How many tenants with a name are known.
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

 private:
  struct setting {
    std::int64_t weight;
    rate_limits rates;
  };

  [[nodiscard]] std::uint32_t add(std::uint64_t key, instant now);
  [[nodiscard]] bool may_forget_one(instant now) const noexcept {
    return oldest_idle_ != nowhere && cells_[oldest_idle_].rates.idle(now);
  }
  [[nodiscard]] bool forget_one(instant now);
  void prepare(tenant_cell& made, std::uint64_t key, instant now) const noexcept;
  [[nodiscard]] std::uint32_t make(std::uint64_t key, instant now);
  [[nodiscard]] std::uint32_t open_flow(std::uint32_t index, std::size_t c);
  [[nodiscard]] const setting& setting_of(std::uint64_t key) const noexcept;
  void link_newest(std::uint32_t index) noexcept;
  void unlink(std::uint32_t index) noexcept;

  fair_queue& flows_;
  slab<tenant_cell, &tenant_cell::older> cells_;
  key_table keys_;
  /// The settings of tenants that have some of their own: keys to places in `settings_`; the last is everybody else's.
  key_table named_;
  std::vector<setting> settings_;
  std::size_t most_ = 0;
  /// What `look` gives for strangers.
  std::uint32_t scratch_ = nowhere;
  std::uint32_t oldest_idle_ = nowhere;
  std::uint32_t newest_idle_ = nowhere;
};

}  // namespace sluice::core
