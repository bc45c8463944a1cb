/// \file
/// `decision`: the explain record, which says what was decided about one request and why; and `rejection`, which is a
/// decision to turn work away as the caller gets it.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice {

/// What became of a request.
enum class outcome : std::uint8_t {
  /// It holds capacity.
  granted,
  /// It waits.
  waiting,
  /// It was turned away.
  rejected,
  /// It ran, and is to stop for more urgent work.
  preempted,
};

/// Why a request was turned away.
enum class reason : std::uint8_t {
  /// It was not.
  none,
  /// The bulkhead has been closed.
  closed,
  /// The policy has no such class.
  unknown_class,
  /// A negative number, or more output than tokens.
  invalid_cost,
  /// More than its class or the pool could ever hold.
  impossible,
  /// The deadline had passed when it arrived.
  deadline_passed,
  /// There is no room now, and it would not wait (`try_admit`).
  no_room,
  /// The queue is full, and nothing in it is worse.
  queue_full,
  /// It waited in a full queue, and made room for something better.
  shed,
  /// The deadline passed while it waited.
  deadline_in_queue,
  /// The caller cancelled it while it waited.
  cancelled,
  /// It can no longer be done by its deadline.
  infeasible,
  /// The budget of its run cannot pay for it any more.
  budget_exhausted,
  /// A rate does not let it through now, and it would not wait; or its deadline comes first.
  rate_limited,
  /// There is no such run, or it has been closed.
  unknown_run,
  /// It was to be tried again, and too much is tried again already.
  retry_budget,
};

/// What stood in the way.
enum class constraint : std::uint8_t {
  /// Nothing.
  none,
  /// The pool's slots are taken.
  pool_slots,
  /// The pool's tokens are taken.
  pool_tokens,
  /// The class's ceiling on slots.
  class_slots,
  /// The class's ceiling on tokens.
  class_tokens,
  /// Free slots are kept for classes under their floor that have work waiting.
  protected_slots,
  /// Free tokens are kept for classes under their floor that have work waiting.
  protected_tokens,
  /// Others are served first.
  order,
  /// The bound on the whole queue.
  queue,
  /// The class's own bound on its part of the queue.
  class_queue,
  /// The limit on slots that follows the provider.
  adaptive_limit,
  /// The class's ceiling that falls while more urgent work suffers.
  elastic_limit,
  /// What the provider lets through in a minute: requests, input tokens, output tokens; or it asked for a pause.
  provider_requests,
  provider_input,
  provider_output,
  provider_pause,
  /// What the tenant may send in a minute.
  tenant_requests,
  tenant_input,
  tenant_output,
  /// Another tenant of its class is served first.
  tenant_turn,
  /// What its run, or a run above it, may spend.
  budget_tokens,
  budget_calls,
  budget_tool_calls,
  budget_money,
  /// The time to its deadline.
  deadline,
  /// What may be tried again beside what is done for the first time.
  retry_budget,
  /// The gate opens again, little by little, after a pause that the provider asked for.
  reopening,
  /// What the provider said it would still let through: requests, input tokens, output tokens, tokens of both kinds.
  reported_requests,
  reported_input,
  reported_output,
  reported_tokens,
};

/// How many constraints there are.
inline constexpr std::size_t constraint_count = static_cast<std::size_t>(constraint::reported_tokens) + 1;

[[nodiscard]] std::string_view to_string(outcome value) noexcept;
[[nodiscard]] std::string_view to_string(reason value) noexcept;
[[nodiscard]] std::string_view to_string(constraint value) noexcept;

/// The explain record of one decision: numbers alone.
struct decision {
  sluice::outcome outcome = outcome::granted;
  sluice::reason reason = reason::none;
  /// What stood in the way, for `waiting` and `rejected`.
  constraint bound = constraint::none;
  sluice::workload workload{};
  sluice::tenant tenant{};
  /// Whether it ran all the same, because the policy only observes.
  bool observed = false;
  /// The policy's revision that decided.
  std::uint64_t revision = 0;
  /// What was asked.
  sluice::cost asked{};
  /// Of the bound: how much there is in all, and how much of it this request could have had at that moment. In
  /// slots, tokens, requests, money or, for a bound on the queue, waiters. For `retry_budget`: the tokens of first
  /// attempts in the window, and how many could have been tried again.
  std::int64_t limit = 0;
  std::int64_t available = 0;
  /// The smallest addition to the bound's limit that would have let it in at once, everything else being equal.
  std::int64_t shortfall = 0;
  /// At most this many waiters are served before it, and what they ask for: the others of its class, and all of classes
  /// of higher priority. For `retry_budget`: the retries and hedges in the window, and their tokens.
  std::size_t ahead = 0;
  std::int64_t ahead_tokens = 0;
  /// When it could start at the earliest, as far as is known: exact for a rate, an estimate by the measured drain rate
  /// for a queue, `never` when nothing is known.
  instant could_start = never;
  /// How long it would have run, by the service model; negative when that is not known.
  duration expected_service{-1};
  /// How long it waited.
  duration waited{};
  /// Its deadline.
  instant deadline = never;
  /// When it was decided.
  instant at{};
};

/// The decision as one sentence, with its numbers and the knob; `class_name` names the workload.
[[nodiscard]] std::string explain(const decision& what, std::string_view class_name);

/// Why work was not admitted. A plain value of one pointer: copies are independent. A moved-from rejection may only
/// be assigned to or destroyed.
class rejection {
 public:
  rejection(const decision& what, std::string_view class_name);
  rejection(const rejection& other);
  rejection(rejection&& other) noexcept;
  rejection& operator=(const rejection& other);
  rejection& operator=(rejection&& other) noexcept;
  ~rejection();

  [[nodiscard]] sluice::reason reason() const noexcept;
  /// All the numbers.
  [[nodiscard]] const decision& details() const noexcept;
  /// The name of the class that was asked for; `#7` for one that the policy does not have.
  [[nodiscard]] std::string_view class_name() const noexcept;
  /// One sentence for a person: what happened, the numbers, the knob.
  [[nodiscard]] std::string explain() const;
  /// The same as an `error` of code `errc::refused`.
  [[nodiscard]] error to_error() const;

 private:
  struct record;
  std::unique_ptr<record> record_;
};

}  // namespace sluice
