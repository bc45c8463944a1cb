/// \file
/// `run_tree`: a tree of runs for tests in which tokens alone are limited.
#pragma once

#include "core/budget.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::core::testing {

constexpr spending tokens(std::int64_t amount) { return {.tokens = amount}; }
constexpr run_limits at_most(std::int64_t amount) { return {.tokens = amount}; }

class run_tree {
 public:
  run_id open(const run_options& what) {
    const auto opened = all.open(what, 0);
    REQUIRE(opened.has_value());
    return *opened;
  }
  run_id root(std::int64_t limit, std::uint64_t tag = 0) { return open({.limit = at_most(limit), .tag = tag}); }
  run_id child(run_id parent, run_funding funding = run_funding::share, std::int64_t limit = unlimited,
               std::uint64_t tag = 0) {
    return open({.parent = parent, .funding = funding, .limit = at_most(limit), .tag = tag});
  }

  /// The error of an opening that is refused.
  error refusal(const run_options& what) {
    const std::size_t before = all.size();
    const auto opened = all.open(what, 0);
    REQUIRE(!opened.has_value());
    CHECK(all.size() == before);
    return opened.error();
  }

  budget_verdict::kind check(run_id id, std::int64_t asked, bool finalising = false) const {
    return all.check(id.index, tokens(asked), finalising).what;
  }
  void reserve(run_id id, std::int64_t asked) { all.reserve(id.index, tokens(asked)); }
  void release(run_id id, std::int64_t asked) { all.release(id.index, tokens(asked)); }
  void settle(run_id id, std::int64_t reserved, std::int64_t used) {
    all.settle(id.index, tokens(reserved), tokens(used));
  }

  std::int64_t spent(run_id id) const { return all.balance(id).value().spent.tokens; }
  std::int64_t reserved(run_id id) const { return all.balance(id).value().reserved.tokens; }
  std::int64_t remaining(run_id id) const { return all.balance(id).value().remaining.tokens; }

  /// Of the last event: tags with percents, and the runs where somebody is parked.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> crossings() const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> told;
    for (const budget_crossing& each : all.crossings()) told.emplace_back(each.tag, each.percent);
    return told;
  }
  std::vector<std::uint32_t> eased() const { return {all.eased().begin(), all.eased().end()}; }

  budget all;
};

}  // namespace sluice::core::testing
