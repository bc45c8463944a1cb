/// \file
/// `permit`: the right to run one provider exchange. RAII, move-only; losing it cannot lose capacity.
#pragma once

#include <sluice/core/adaptive.hpp>
#include <sluice/core/admission.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/decision.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/request.hpp>
#include <sluice/runtime/detail/gate_access.hpp>

#include <asio/awaitable.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace sluice {

/// Holds a reservation of slots and tokens in a bulkhead until it is settled, released or destroyed. An empty permit
/// (default-constructed, moved from, or ended) holds nothing, and may be used harmlessly.
///
/// Thread safety: distinct permits may be used from distinct threads; one permit, from one at a time.
/// Lifetime: may outlive its bulkhead and the executor.
class [[nodiscard]] permit {
 public:
  permit() noexcept = default;
  permit(permit&& other) noexcept
      : gate_(std::exchange(other.gate_, nullptr)), id_(other.id_), stopped_(std::exchange(other.stopped_, false)) {}
  permit& operator=(permit&& other) noexcept {
    if (this != &other) {
      release();
      gate_ = std::exchange(other.gate_, nullptr);
      id_ = other.id_;
      stopped_ = std::exchange(other.stopped_, false);
    }
    return *this;
  }
  ~permit() { release(); }

  /// Whether it holds anything.
  [[nodiscard]] explicit operator bool() const noexcept { return gate_ != nullptr; }

  /// Corrects the hold while the exchange runs: what it no longer needs goes to waiters at once. See `progress`.
  /// Reports are cumulative; one that does not go beyond a former one changes nothing. O(log n) for each waiter served.
  /// Errors: `errc::invalid_argument`, when the permit is empty, a number is negative, or `remaining_output` is above
  /// the reserved output; then nothing has changed.
  expected<void, error> reconcile(const progress& how_far);

  /// Ends the permit with what was really taken: all of the hold returns, and what was not used counts as refunded. The
  /// permit is then empty. On an empty permit, and for negative numbers (the permit then stays), it is
  /// `errc::invalid_argument`.
  expected<void, error> settle(const usage& used);

  /// Ends the permit of an exchange that failed, or was stopped before its end: `so_far` is charged, and nothing is
  /// learned from it. Harmless on an empty permit; negative numbers count as zero.
  void abandon(const usage& so_far) noexcept {
    if (gate_ == nullptr) return;
    detail::finish(*std::exchange(gate_, nullptr), id_, how_it_ends(core::ending::abandoned), so_far);
  }

  /// Ends the permit. What was reported last counts as used; without any report nothing counts as consumed, but
  /// tenants, rates and runs have paid for all of it, since nobody knows. Harmless on an empty permit.
  void release() noexcept {
    if (gate_ == nullptr) return;
    detail::finish(*std::exchange(gate_, nullptr), id_, how_it_ends(core::ending::released), std::nullopt);
  }

  /// The provider said something about its load in answer to this exchange (429, 529, a timeout). Harmless on an empty
  /// permit.
  void signal(provider_signal what);

  /// Runs `work` under this permit, on a strand of the caller's executor: when the bulkhead preempts the permit, `work`
  /// is cancelled (terminal), and once it has really stopped this gives `errc::preempted`. Work that ends by itself all
  /// the same gives its result. Only work under guard is ever preempted. The permit stays held; ending it is the
  /// caller's. Completes when `work` has ended. Exceptions of `work` pass through. Cancelling this cancels `work` in
  /// the same way (terminal).
  template <typename T>
  [[nodiscard]] asio::awaitable<expected<T, error>> guard(asio::awaitable<T> work);

  /// The record of the decision that granted it; nothing on an empty permit.
  [[nodiscard]] std::optional<decision> explain() const;

  /// The age with which preempted work may ask again (`admit_options::age`) without losing its place; it counts
  /// the preemption that `guard` has reported. Empty on an empty permit.
  [[nodiscard]] sluice::age age() const;

 private:
  friend struct detail::permit_access;
  [[nodiscard]] core::ending how_it_ends(core::ending otherwise) const noexcept {
    return stopped_ ? core::ending::preempted : otherwise;
  }
  permit(detail::gate& gate, core::request_id id) noexcept : gate_(&gate), id_(id) {}

  detail::gate* gate_ = nullptr;
  core::request_id id_{};
  bool stopped_ = false;
};

inline permit detail::permit_access::make(gate& where, core::request_id id) noexcept { return permit(where, id); }
inline detail::gate* detail::permit_access::gate_of(const permit& from) noexcept { return from.gate_; }
inline core::request_id detail::permit_access::id_of(const permit& from) noexcept { return from.id_; }

}  // namespace sluice

#include <sluice/runtime/detail/guard.hpp>
