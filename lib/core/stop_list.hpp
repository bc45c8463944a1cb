/// \file
/// Running work that could be stopped, per class, the newest first: the newest has the least to lose.
#pragma once

#include "core/ticket.hpp"

#include <sluice/core/workload.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// remove: O(1). add: O(1) for the newest, else the number of newer ones.
class stop_list {
 public:
  explicit stop_list(grants& all) : grants_(all) { newest_.fill(no_grant); }
  stop_list(const stop_list&) = delete;
  stop_list& operator=(const stop_list&) = delete;

  void add(std::size_t c, std::uint32_t index) noexcept;
  /// Harmless when it is not listed.
  void remove(std::size_t c, std::uint32_t index) noexcept;

  /// The newest of class `c`, or `no_grant`; `grant::older` leads on.
  [[nodiscard]] std::uint32_t newest(std::size_t c) const noexcept { return newest_[c]; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  grants& grants_;
  std::array<std::uint32_t, max_workloads> newest_{};
  std::size_t size_ = 0;
};

}  // namespace sluice::core
