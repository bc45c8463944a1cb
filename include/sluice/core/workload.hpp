/// \file
/// `workload`: the class of the work, which decides what capacity it deserves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

/// How many classes a policy may have. Fixed, so that every decision costs the same and no metric's labels grow.
inline constexpr std::size_t max_workloads = 16;

/// Names one class of a policy by its place there. Get more of them from `policy::add_class` or `policy::find`;
/// `interactive` and `batch` are in every policy. One that the policy does not have is refused as `unknown_class`.
class workload {
 public:
  constexpr workload() noexcept = default;
  constexpr explicit workload(std::uint8_t index) noexcept : index_(index) {}
  [[nodiscard]] constexpr std::uint8_t index() const noexcept { return index_; }
  friend constexpr bool operator==(workload, workload) noexcept = default;

 private:
  std::uint8_t index_ = 0;
};

/// Somebody is waiting for the answer.
inline constexpr workload interactive{0};
/// Nobody is waiting: it may be held back, and interrupted when it has borrowed.
inline constexpr workload batch{1};

}  // namespace sluice
