/// \file
/// Tenants and their turns: start tags and finish tags in lists that are scanned.
#pragma once

#include "core/reference/rates.hpp"

#include <sluice/core/policy.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::core::testing {

/// What one tenant asks of one class.
struct plain_flow {
  std::size_t tenant = 0;
  std::size_t workload = 0;
  std::int64_t weight = 1;
  std::uint64_t start = 0;
  std::uint64_t finish = 0;
  /// Something of it waits; the order in which those that do came to their turn.
  bool waits = false;
  std::uint64_t number = 0;
  bool paused = false;
  instant until{};
};

/// Whose turn it is. Virtual time is counted in 2^-16 tokens of weight 1.
class plain_turns {
 public:
  [[nodiscard]] plain_flow& of(std::size_t tenant, std::size_t c, std::int64_t weight = 1) {
    for (plain_flow& each : all_) {
      if (each.tenant == tenant && each.workload == c) return each;
    }
    all_.push_back({});
    all_.back().tenant = tenant;
    all_.back().workload = c;
    all_.back().weight = weight;
    return all_.back();
  }
  void forget(std::size_t tenant) {
    std::erase_if(all_, [tenant](const plain_flow& one) { return one.tenant == tenant; });
  }
  void set_weight(std::size_t tenant, std::int64_t weight) {
    for (plain_flow& each : all_) {
      if (each.tenant == tenant) each.weight = weight;
    }
  }

  void enter(plain_flow& which) {
    which.waits = true;
    which.paused = false;
    which.start = std::max(now_[which.workload], which.finish);
    which.number = ++entries_;
  }
  void leave(plain_flow& which) { which.waits = which.paused = false; }
  void pause(plain_flow& which, instant until) {
    which.paused = true;
    which.until = until;
    which.number = ++entries_;
  }
  /// The pauses that have ended by then end, the earliest first.
  void resume(instant by) {
    for (;;) {
      plain_flow* first = nullptr;
      for (plain_flow& each : all_) {
        if (!each.paused || each.until > by) continue;
        if (first == nullptr || std::pair(each.until, each.number) < std::pair(first->until, first->number))
          first = &each;
      }
      if (first == nullptr) return;
      enter(*first);
    }
  }
  [[nodiscard]] instant next_resume() const {
    instant next = never;
    for (const plain_flow& each : all_) {
      if (each.paused) next = std::min(next, each.until);
    }
    return next;
  }

  void serve(plain_flow& which, std::int64_t tokens) {
    std::uint64_t& now = now_[which.workload];
    const bool has_turn = which.waits && !which.paused;
    const std::uint64_t start = has_turn ? which.start : std::max(now, which.finish);
    now = std::max(now, start);
    which.finish = start + charge(which, tokens);
    if (!has_turn) return;
    which.start = which.finish;
    which.number = ++entries_;
  }
  void correct(plain_flow& which, std::int64_t reserved, std::int64_t used) {
    const std::uint64_t before = which.finish;
    const std::int64_t believed = std::max<std::int64_t>(1'048'576, 16 * std::min(reserved, std::int64_t{1} << 40));
    used = std::min(used, believed);
    const auto moved = wide{before} + charge(which, used) - charge(which, reserved);
    which.finish = moved < 0 ? 0 : static_cast<std::uint64_t>(moved);
    if (which.waits && !which.paused && which.start == before) which.start = which.finish;
  }

  /// All that decides about turns to come: ages and numbers matter by their order alone.
  [[nodiscard]] std::vector<std::int64_t> numbers() const {
    std::vector<std::int64_t> told;
    for (const plain_flow& each : all_) {
      const auto before = [&each](const plain_flow& other) { return other.number < each.number; };
      const std::uint64_t now = now_[each.workload];
      told.push_back(static_cast<std::int64_t>(each.tenant * max_workloads + each.workload));
      told.push_back(each.finish > now ? static_cast<std::int64_t>(each.finish - now) : 0);
      if (!each.waits) continue;
      told.push_back(static_cast<std::int64_t>(each.start) - static_cast<std::int64_t>(now));
      told.push_back(each.paused ? each.until.time_since_epoch().count() : -1);
      told.push_back(std::count_if(all_.begin(), all_.end(), before));
    }
    return told;
  }

  [[nodiscard]] plain_flow* first(std::size_t c) {
    plain_flow* found = nullptr;
    for (plain_flow& each : all_) {
      if (each.workload != c || !each.waits || each.paused) continue;
      if (found == nullptr || std::pair(each.start, each.number) < std::pair(found->start, found->number))
        found = &each;
    }
    return found;
  }

 private:
  [[nodiscard]] static std::uint64_t charge(const plain_flow& which, std::int64_t tokens) {
    const std::uint64_t per_token = (std::uint64_t{1} << 32) / static_cast<std::uint64_t>(which.weight);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(1, tokens)) * per_token >> 16;
  }

  std::vector<plain_flow> all_;
  std::array<std::uint64_t, max_workloads> now_{};
  std::uint64_t entries_ = 0;
};

struct plain_tenant {
  std::uint64_t key = 0;
  bool known = true;
  std::int64_t weight = 1;
  plain_rates rates;
  /// Requests of it that wait or hold something, and when the last one ended.
  std::size_t users = 0;
  std::uint64_t idle_since = 0;
};

/// Who is known. Places are never used again.
class plain_tenants {
 public:
  static constexpr std::size_t nobody = 0;
  static constexpr std::size_t shared = 1;

  plain_tenants() : all_(2) {}

  void configure(const policy& rules, plain_turns& turns, instant now) {
    rules_ = rules;
    for (std::size_t place = 0; place < all_.size(); ++place) {
      put_in_force(all_[place], now);
      turns.set_weight(place, all_[place].weight);
    }
  }

  [[nodiscard]] std::size_t find(tenant who, plain_turns& turns, instant now) {
    if (who.key() == 0) return nobody;
    for (std::size_t place = shared + 1; place < all_.size(); ++place) {
      if (all_[place].known && all_[place].key == who.key()) return place;
    }
    if (known() >= rules_.max_tenants && !forget_one(turns, now)) return shared;
    all_.push_back({});
    all_.back().key = who.key();
    all_.back().idle_since = ++ends_;
    put_in_force(all_.back(), now);
    return all_.size() - 1;
  }

  void use(std::size_t place) { ++all_[place].users; }
  void release(std::size_t place) {
    if (--all_[place].users == 0) all_[place].idle_since = ++ends_;
  }

  [[nodiscard]] plain_tenant& operator[](std::size_t place) { return all_[place]; }
  [[nodiscard]] const plain_tenant& operator[](std::size_t place) const { return all_[place]; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] std::size_t known() const {
    return static_cast<std::size_t>(
        std::count_if(all_.begin() + 2, all_.end(), [](const plain_tenant& one) { return one.known; }));
  }

 private:
  void put_in_force(plain_tenant& which, instant now) const {
    const tenant_policy* own = &rules_.other_tenants;
    for (const tenant_policy& each : rules_.tenants) {
      if (which.key != 0 && tenant(each.name).key() == which.key) own = &each;
    }
    which.weight = own->weight;
    which.rates.configure(own->rates, now);
  }

  [[nodiscard]] bool forget_one(plain_turns& turns, instant now) {
    std::size_t oldest = nobody;
    for (std::size_t place = shared + 1; place < all_.size(); ++place) {
      const plain_tenant& each = all_[place];
      if (!each.known || each.users != 0) continue;
      if (oldest == nobody || each.idle_since < all_[oldest].idle_since) oldest = place;
    }
    if (oldest == nobody || !all_[oldest].rates.idle(now)) return false;
    all_[oldest].known = false;
    turns.forget(oldest);
    return true;
  }

  std::vector<plain_tenant> all_;
  policy rules_{capacity{}};
  std::uint64_t ends_ = 0;
};

}  // namespace sluice::core::testing
