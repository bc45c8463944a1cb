/// \file
/// `router`: several providers as one: the first healthy one answers, and another one when it fails.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/time.hpp>
#include <sluice/llm/any_client.hpp>
#include <sluice/llm/any_stream.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>

#include <asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::llm {

namespace detail {
class route_table;
}

/// One way to an answer. A plain value; `with_model` chains.
class provider {
 public:
  provider(std::string called, any_client answers) : name(std::move(called)), over(answers) {}

  /// What requests call `logical` is `own` here. A model that is not named keeps its name.
  provider& with_model(std::string logical, std::string own) {
    models.emplace_back(std::move(logical), std::move(own));
    return *this;
  }

  /// Unique, not empty; it stands in errors and statistics.
  std::string name;
  any_client over;
  /// Its share, beside the others', of the calls that it is asked first. Positive. For `routing::weighted`.
  double weight = 1;
  std::vector<std::pair<std::string, std::string>> models;
};

/// Who is asked first.
enum class routing : std::uint8_t {
  /// The providers in their order.
  ordered,
  /// Drawn by weight, anew for each call; then the next one from the rest in the same way.
  weighted,
};

/// Whether a provider is asked.
enum class provider_state : std::uint8_t {
  /// Yes.
  closed,
  /// Not now: it has failed, and rests.
  open,
  /// One call at a time tries it.
  half_open,
};

[[nodiscard]] std::string_view to_string(provider_state value) noexcept;

/// When a provider rests. Numbers alone.
///
/// A provider fails when nobody could get an answer from it: no connection, a limit on time, 429, 5xx, an answer that
/// is no answer, a key or a quota that is refused, and a deadline that passed after it had been asked for
/// `least_patience`. What is wrong with a request, refusals of admission and cancellations say nothing about it.
struct health_policy {
  /// It rests after so many failures in a row,
  int failures = 5;
  /// or when this share of the calls of the last `window` failed, if they were at least `least_calls`; a refused key or
  /// quota is enough alone.
  double share = 0.5;
  std::int64_t least_calls = 20;
  duration window = std::chrono::seconds(30);
  /// For how long; doubled each time that the call which tries it afterwards fails, too, up to `max_rest`. A longer
  /// wait that the provider asks for (`retry-after`) holds, whatever its length.
  duration first_rest = std::chrono::seconds(1);
  duration max_rest = std::chrono::seconds(60);
  /// Rests are longer by a random part, up to this share.
  double jitter = 0.2;
  duration least_patience = std::chrono::seconds(5);
  friend constexpr bool operator==(const health_policy&, const health_policy&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<health_policy> && std::is_aggregate_v<health_policy>);

/// Numbers alone.
struct router_options {
  routing order = routing::ordered;
  health_policy health{};
  /// Where draws and jitter come from; zero: from the system.
  std::uint64_t seed = 0;
};
static_assert(std::is_trivially_destructible_v<router_options> && std::is_aggregate_v<router_options>);

/// Errors: `errc::invalid_configuration`, naming the field: no provider, a name that is empty or comes twice, `weight`
/// (positive), and the `health` settings: `failures` and `least_calls` (positive), `share` in (0, 1], `jitter` in [0,
/// 1], lengths (not negative; `window` positive).
[[nodiscard]] expected<void, error> validate(const std::vector<provider>& providers, const router_options& checked);

/// What is known of one provider.
class provider_statistics {
 public:
  std::string name;
  provider_state state = provider_state::closed;
  /// Calls that went to it, that it answered, and that failed in a way that counts against it.
  std::int64_t calls = 0;
  std::int64_t answered = 0;
  std::int64_t failed = 0;
  /// Calls that went on to another one from here, and how often it was sent to rest.
  std::int64_t passed_on = 0;
  std::int64_t rests = 0;
};

/// Stands before clients. Each call goes to the first provider in its order that is healthy, and on to the next when it
/// fails in a way that another one could do better: what `remedy::try_again` says, a refused key or quota, an answer
/// that is no answer. A provider whose dialect cannot express the request is passed over. Not when the request was
/// filtered, the caller has cancelled, or the deadline is over; never once an event of a stream was handed out. Refused
/// by admission, it goes on only to a provider with another gate. All of it happens before the call's one deadline.
///
/// One owner of retries: a provider that others stand behind is asked once; the last one retries as its client does.
/// `call_options::max_attempts` bounds all of them together. What follows a failed attempt is an `attempt::retry`, and
/// counts against the retry budget of its gate; when that, or anything else at the gate, refuses it, the call fails
/// with what it had failed with before.
///
/// When all providers rest, the one whose rest ends first is asked all the same, with no other behind it.
///
/// Providers that are different services should have gates of their own, since a gate pauses as a whole
/// (`retry-after`); with the same classes. Runs and ages belong to one gate: a call with `call_options::run` goes to
/// providers of the first one's gate alone, and an age is not taken to another gate.
///
/// A call of kind `attempt::hedge` goes to the second provider in the order, if there is one, and not on from there.
///
/// Thread safety: all members may be called from any thread, except the destructor.
/// Lifetime: as `client`; its clients must outlive it.
class router {
 public:
  /// Throws `error_exception` when the settings do not hold (`validate`).
  explicit router(std::vector<provider> providers, router_options options = {});
  router(const router&) = delete;
  router& operator=(const router&) = delete;
  ~router();

  /// As `client::chat`. When several providers were asked and none answered, the failure is the last one's, its message
  /// says what each of them said, and `attempts` counts all.
  [[nodiscard]] asio::awaitable<expected<reply, failure>> chat(request what, call_options options = {});
  /// As `client::stream`, but completes when the first event is there: until then another provider may take over.
  [[nodiscard]] asio::awaitable<expected<any_stream, failure>> stream(request what, call_options options = {});

  /// What the provider that such a call would ask first would reserve for it (`client::estimate`); by weight, the first
  /// of those that it may ask.
  [[nodiscard]] expected<cost, failure> estimate(const request& what, const call_options& options = {}) const;
  /// The first provider's.
  [[nodiscard]] bulkhead& gate() const noexcept;
  /// In the order of the providers.
  [[nodiscard]] std::vector<provider_statistics> statistics() const;

 private:
  std::shared_ptr<detail::route_table> table_;
};

}  // namespace sluice::llm
