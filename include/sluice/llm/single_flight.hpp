/// \file
/// `single_flight`: identical requests in flight share one exchange.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/any_client.hpp>
#include <sluice/llm/any_stream.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace sluice::llm {

namespace detail {
class exchange_book;
}

/// Who may share an exchange with whom.
enum class sharing_scope : std::uint8_t {
  /// Calls of one tenant.
  tenant,
  /// All calls: what one tenant asks for may answer another.
  all,
};

/// Whether one call shares.
enum class sharing : std::uint8_t {
  /// It joins an identical call that is under way, and lets others join.
  shared,
  /// It has an exchange of its own.
  alone,
};

/// What is shared. A plain value.
class single_flight_options {
 public:
  single_flight_options() = default;

  sharing_scope scope = sharing_scope::tenant;
  /// Which requests may share; empty: all. Whoever asks the same thing several times at once, to choose among different
  /// answers, wants those left out (or `sharing::alone`). Called on the caller's thread, from several at once, with no
  /// lock held.
  std::function<bool(const request&)> shareable;
};

/// What sharing has done so far.
struct single_flight_statistics {
  /// Exchanges that were begun to be shared.
  std::int64_t leaders = 0;
  /// Calls that joined one.
  std::int64_t followers = 0;
  /// Calls that were not shared.
  std::int64_t alone = 0;
  /// What the followers' answers would have taken.
  std::int64_t tokens_saved = 0;
  /// Exchanges that may be joined now.
  std::size_t in_flight = 0;
};

/// Stands before a client. Calls whose requests are equal in every field share one exchange while it is under way;
/// nothing is kept when it has ended. The first one, the leader, lends the exchange its `call_options`: it is admitted,
/// and paid for, as the leader's.
///
/// The exchange runs on the gate's executor, apart from all callers. Each of them waits by its own deadline, and may
/// leave alone, the leader too. The last one to leave cancels the exchange, and completes when it has stopped. All get
/// the result, each its own copy.
///
/// A call gets an exchange of its own when its options ask for what the leader's cannot give: a class of higher
/// priority than the leader's, another `finalising`, `requeue_when_preempted`, `max_attempts` or `reservation`, or a
/// `kind` other than `attempt::first` (a hedge must not join what it hedges). When the exchange fails for a reason that
/// is the leader's own (its deadline, its run's budget or end), those that have another deadline or run ask again,
/// together; a stream that has begun does not begin again.
///
/// Streams: each caller gets the whole stream, from its first event on, in an `any_stream` of its own. The exchange is
/// read as fast as it comes, and its events are kept until the last caller has let go: one that reads slowly holds
/// nobody up, and no permit. What is kept is bounded by `client_options::max_body`. A caller whose deadline is later
/// than the leader's shares the leader's, once events have come.
///
/// Thread safety: all members may be called from any thread, except the destructor.
/// Lifetime: as `client`; a stream that is dropped before its end stops its exchange a little later, on the gate's
/// executor.
class single_flight {
 public:
  explicit single_flight(any_client over, single_flight_options options = {});
  single_flight(const single_flight&) = delete;
  single_flight& operator=(const single_flight&) = delete;
  ~single_flight();

  /// As `client::chat`. Cancellation: terminal; a call that others share with completes at once.
  [[nodiscard]] asio::awaitable<expected<reply, failure>> chat(request what, call_options options = {},
                                                               sharing how = sharing::shared);
  /// As `client::stream`; completes when the shared exchange's head is there.
  [[nodiscard]] asio::awaitable<expected<any_stream, failure>> stream(request what, call_options options = {},
                                                                      sharing how = sharing::shared);

  /// As `client::estimate`, as if the call had an exchange of its own.
  [[nodiscard]] expected<cost, failure> estimate(const request& what, const call_options& options = {}) const;
  [[nodiscard]] bulkhead& gate() const noexcept;
  [[nodiscard]] single_flight_statistics statistics() const;

 private:
  [[nodiscard]] bool shares(const request& what, const call_options& options, sharing how) const;

  any_client over_;
  single_flight_options options_;
  std::shared_ptr<detail::exchange_book> book_;
};

}  // namespace sluice::llm
