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
#include <sluice/runtime/stop_signal.hpp>

#include <asio/awaitable.hpp>

#include <cstdint>
#include <memory>
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
      : gate_(std::exchange(other.gate_, nullptr)),
        id_(other.id_),
        preempted_(std::exchange(other.preempted_, false)),
        signalled_(std::exchange(other.signalled_, false)) {}
  permit& operator=(permit&& other) noexcept {
    if (this != &other) {
      release();
      gate_ = std::exchange(other.gate_, nullptr);
      id_ = other.id_;
      preempted_ = std::exchange(other.preempted_, false);
      signalled_ = std::exchange(other.signalled_, false);
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
    end(core::ending::abandoned, so_far);
  }

  /// Ends the permit. What was reported last counts as used; without any report nothing counts as consumed, but
  /// tenants, rates and runs have paid for all of it, since nobody knows. Harmless on an empty permit.
  void release() noexcept {
    if (gate_ == nullptr) return;
    end(core::ending::released, std::nullopt);
  }

  /// The provider said something about its load in answer to this exchange (429, 529, a timeout). Harmless on an empty
  /// permit.
  void signal(provider_signal what);

  /// Runs `work` under this permit, on a strand of the caller's executor: when the bulkhead preempts the permit, `work`
  /// is cancelled (terminal), and once it has really stopped this gives `errc::preempted`; when its run is closed, or
  /// was, likewise, and this gives `errc::cancelled`. Work that ends by itself all the same gives its result. Work
  /// under neither a guard nor a signal (`stop_by`) is never stopped. The permit stays held; ending it is the caller's.
  /// Completes when `work` has ended. Exceptions of `work` pass through. Cancelling this cancels `work` in the same way
  /// (terminal).
  template <typename T>
  [[nodiscard]] asio::awaitable<expected<T, error>> guard(asio::awaitable<T> work);

  /// The same without a coroutine, for work that a signal can stop, such as an exchange (`http::request::stop`): from
  /// now until this permit ends the bulkhead stops `what` when it preempts the permit (`stop_cause::preempted`), or its
  /// run is closed (`stop_cause::run_closed`; at once, when it has been closed already). A permit of preempted work
  /// counts as preempted when it is abandoned or released, not when it is settled. One way at a time: what is given
  /// later, by this or by `guard`, takes the place of the former. On any thread; see `stop_signal`. Harmless on an
  /// empty permit, and for null. O(log n) for each waiter served.
  void stop_by(std::shared_ptr<stop_signal> what);
  /// Whether `guard` and `stop_by` can make a difference: its class is preemptible, and it was not preempted too often,
  /// or it belongs to a run. False on an empty permit.
  [[nodiscard]] bool could_be_stopped() const noexcept {
    return gate_ != nullptr && detail::could_be_stopped(*gate_, id_);
  }

  /// The record of the decision that granted it; nothing on an empty permit.
  [[nodiscard]] std::optional<decision> explain() const;

  /// The age with which preempted work may ask again (`admit_options::age`) without losing its place; it counts
  /// the preemption that `guard` has reported, or the signal of `stop_by`. Empty on an empty permit.
  [[nodiscard]] sluice::age age() const;

 private:
  friend struct detail::permit_access;
  void end(core::ending how, const std::optional<usage>& used) noexcept {
    detail::gate& gate = *std::exchange(gate_, nullptr);
    if (preempted_) how = core::ending::preempted;
    if (std::exchange(signalled_, false)) return detail::finish_signalled(gate, id_, how, used);
    detail::finish(gate, id_, how, used);
  }
  permit(detail::gate& gate, core::request_id id) noexcept : gate_(&gate), id_(id) {}

  detail::gate* gate_ = nullptr;
  core::request_id id_{};
  /// Under guard.
  bool preempted_ = false;
  /// Whether the gate has a signal for it, which tells itself why it was stopped.
  bool signalled_ = false;
};

inline permit detail::permit_access::make(gate& where, core::request_id id) noexcept { return permit(where, id); }
inline detail::gate* detail::permit_access::gate_of(const permit& from) noexcept { return from.gate_; }
inline core::request_id detail::permit_access::id_of(const permit& from) noexcept { return from.id_; }

}  // namespace sluice

#include <sluice/runtime/detail/guard.hpp>
