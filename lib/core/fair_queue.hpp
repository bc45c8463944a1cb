/// \file
/// Start-time fair queueing: whose turn it is among the tenants of a class (Goyal, Vin and Cheng, 1996).
#pragma once

#include "core/dary_heap.hpp"
#include "core/slab.hpp"
#include "core/wide.hpp"

#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// No flow, lane or place.
inline constexpr std::uint32_t nowhere = 0xffff'ffff;

/// What one tenant asks of one class. One cache line, since there are many, and each event touches another one.
struct alignas(64) flow {
  /// When its last piece of work ends in virtual time: `F`. Its next one starts at `S = max(V, F)`.
  std::uint64_t finish = 0;
  /// `S`, while work of it waits.
  std::uint64_t start = 0;
  /// 2^32 over its weight.
  std::uint64_t per_token = std::uint64_t{1} << 32;
  std::uint32_t tenant = 0;
  /// Its place among the flows that wait for their turn, or `nowhere`. The next free cell when nobody uses it.
  std::uint32_t place = nowhere;
  std::uint32_t waiting = 0;
  std::uint8_t workload = 0;
  /// Whether it waits for its tenant's rate instead of for its turn.
  bool paused = false;
  /// What its waiting work asks for.
  std::int64_t slots = 0;
  wide tokens = 0;
};
static_assert(sizeof(flow) == 64);

/// Virtual time of a class is counted in 2^-16 tokens of weight 1, and is the start tag of what was served last. A flow
/// that was idle starts at the present virtual time: it brings no credit.
///
/// While two flows i and j both wait, what they have been served differs, each divided by its weight, by at most
/// `c_max / w_i + c_max / w_j`, where `c_max` is the largest cost of a piece of work. O(log flows); 64 bits last
/// for 2.8e14 tokens of a class.
class fair_queue {
 public:
  fair_queue() noexcept;
  fair_queue(const fair_queue&) = delete;
  fair_queue& operator=(const fair_queue&) = delete;

  /// A new flow, idle.
  [[nodiscard]] std::uint32_t open(std::size_t c, std::uint32_t tenant, std::int64_t weight);
  /// Precondition: nothing of it waits.
  void close(std::uint32_t index) noexcept { flows_.give(index); }
  void set_weight(std::uint32_t index, std::int64_t weight) noexcept {
    flows_[index].per_token = (std::uint64_t{1} << 32) / static_cast<std::uint64_t>(weight);
  }

  [[nodiscard]] flow& operator[](std::uint32_t index) noexcept { return flows_[index]; }
  [[nodiscard]] const flow& operator[](std::uint32_t index) const noexcept { return flows_[index]; }

  /// Work of it waits now, and did not before.
  void enter(std::uint32_t index);
  /// Nothing of it waits any more.
  void leave(std::uint32_t index);
  /// It gives up its turn until `until`. Precondition: it waits for its turn.
  void pause(std::uint32_t index, instant until);
  /// The first of those whose pause has ended waits for its turn again; `nowhere` when there is none.
  [[nodiscard]] std::uint32_t resume_one(instant now);
  [[nodiscard]] bool anybody_paused() const noexcept { return !paused_.empty(); }
  /// When the next pause ends, or `never`.
  [[nodiscard]] instant next_resume() const noexcept { return paused_.empty() ? never : paused_.front().until; }
  /// Work of `tokens` starts, whether it waited or not.
  void serve(std::uint32_t index, std::int64_t tokens);
  /// What was charged as `reserved` has turned out to be `used`; which is believed up to sixteen times what was
  /// reserved or a million tokens (2^20), whichever is more: no piece of work takes as much, and one report that is out
  /// of its mind must not put a tenant behind all others for ever.
  void correct(std::uint32_t index, std::int64_t reserved, std::int64_t used);

  /// Whose turn it is in class `c`; `nowhere` when nobody waits.
  [[nodiscard]] std::uint32_t first(std::size_t c) const noexcept {
    return classes_[c].turns.empty() ? nowhere : classes_[c].turns.front().index;
  }
  /// Whether a flow of class `c` that is idle, `nowhere` for one that is new, would come before whose turn it is.
  [[nodiscard]] bool would_come_first(std::size_t c, std::uint32_t idle) const noexcept {
    const one_class& own = classes_[c];
    const std::uint64_t start = idle == nowhere ? own.now : std::max(own.now, flows_[idle].finish);
    return own.turns.empty() || start < own.turns.front().start;
  }
  /// How many flows wait for their turn.
  [[nodiscard]] std::size_t size(std::size_t c) const noexcept { return classes_[c].turns.size(); }

  /// Whether it may be another one's turn in class `c`, or something else was said to matter, since that was settled.
  [[nodiscard]] bool stirred(std::size_t c) const noexcept { return (stirred_ >> c & 1U) != 0; }
  /// A bit for each class of which that is true.
  [[nodiscard]] std::uint32_t stirred() const noexcept { return stirred_; }
  void stir(std::size_t c) noexcept { stirred_ |= 1U << c; }
  void settle(std::size_t c) noexcept { stirred_ &= ~(1U << c); }

 private:
  struct turn {
    std::uint64_t start;
    std::uint32_t index;
    /// Ties go to who came first.
    std::uint32_t number;
  };
  struct order {
    slab<flow, &flow::place>* flows = nullptr;
    [[nodiscard]] bool before(const turn& a, const turn& b) const noexcept {
      return a.start != b.start ? a.start < b.start : static_cast<std::int32_t>(a.number - b.number) < 0;
    }
    void moved(const turn& which, std::size_t place) const noexcept {
      (*flows)[which.index].place = static_cast<std::uint32_t>(place);
    }
  };
  struct rest {
    instant until;
    std::uint32_t index;
    std::uint32_t number;
  };
  struct rest_order {
    slab<flow, &flow::place>* flows = nullptr;
    [[nodiscard]] bool before(const rest& a, const rest& b) const noexcept {
      return a.until != b.until ? a.until < b.until : static_cast<std::int32_t>(a.number - b.number) < 0;
    }
    void moved(const rest& which, std::size_t place) const noexcept {
      (*flows)[which.index].place = static_cast<std::uint32_t>(place);
    }
  };
  struct one_class {
    std::uint64_t now = 0;
    dary_heap<turn, order> turns;
  };

  [[nodiscard]] static bool has_turn(const flow& which) noexcept { return which.place != nowhere && !which.paused; }

  [[nodiscard]] static std::uint64_t charge(const flow& which, std::int64_t tokens) noexcept {
    return static_cast<std::uint64_t>((wide{std::clamp<std::int64_t>(tokens, 1, largest)} * which.per_token) >> 16);
  }

  static constexpr std::int64_t largest = std::int64_t{1} << 40;
  static constexpr std::int64_t always_believed = std::int64_t{1} << 20;
  static constexpr std::int64_t believed_times = 16;

  slab<flow, &flow::place> flows_;
  std::array<one_class, max_workloads> classes_;
  dary_heap<rest, rest_order> paused_;
  std::uint32_t entries_ = 0;
  std::uint32_t stirred_ = ~std::uint32_t{0};
};

// What happens whenever something waits or starts costs no call.
inline void fair_queue::enter(std::uint32_t index) {
  flow& which = flows_[index];
  one_class& own = classes_[which.workload];
  which.start = std::max(own.now, which.finish);
  own.turns.push({which.start, index, entries_++});
  if (which.place == 0) stir(which.workload);
}

inline void fair_queue::leave(std::uint32_t index) {
  flow& which = flows_[index];
  if (which.paused) {
    paused_.erase(which.place);
  } else {
    if (which.place == 0) stir(which.workload);
    classes_[which.workload].turns.erase(which.place);
  }
  which.paused = false;
  which.place = nowhere;
}

inline void fair_queue::serve(std::uint32_t index, std::int64_t tokens) {
  flow& which = flows_[index];
  one_class& own = classes_[which.workload];
  const bool waits = has_turn(which);
  const std::uint64_t start = waits ? which.start : std::max(own.now, which.finish);
  own.now = std::max(own.now, start);
  which.finish = start + charge(which, tokens);
  if (!waits) return;
  which.start = which.finish;
  stir(which.workload);
  own.turns.update(which.place, {which.start, index, entries_++});
}

}  // namespace sluice::core
