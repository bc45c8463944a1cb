#include <sluice/llm/hedge.hpp>

#include "llm/routes/begun_stream.hpp"
#include "llm/routes/hedge_book.hpp"
#include "llm/routes/race.hpp"

#include <string>
#include <utility>

namespace sluice::llm {
namespace {

using detail::hedge_book;
using detail::race;

expected<void, error> wrong(std::string what) {
  return unexpected<error>(error(errc::invalid_configuration, std::move(what)));
}

hedge_options checked(const hedge_options& options) {
  if (auto holds = validate(options); !holds) throw error_exception(std::move(holds).error());
  return options;
}

std::int64_t tokens_of(const token_usage& taken) { return taken.input_tokens + taken.output_tokens; }
std::int64_t taken_by(const reply& answer) { return tokens_of(answer.usage); }
std::int64_t taken_by(const any_stream& answer) { return tokens_of(answer.result().usage); }

asio::awaitable<expected<reply, failure>> ask(any_client from, request what, call_options how) {
  return from.chat(std::move(what), how);
}

/// Says what the attempt that did not win has taken, as far as it is known.
template <typename T>
std::int64_t wasted_by(const typename race<T>::lane& loser) {
  if (!loser.answered) return 0;
  return *loser.answered ? taken_by(**loser.answered) : tokens_of(loser.answered->error().usage);
}

template <typename T>
expected<T, failure> outcome_of(race<T>& of) {
  using result = expected<T, failure>;
  if (of.winner() != race<T>::nobody) return *std::move(of.at(of.winner()).answered);
  auto& first = of.at(0);
  if (first.answered) return *std::move(first.answered);
  try {
    std::rethrow_exception(first.thrown);
  } catch (const std::system_error& why) {
    if (why.code() != asio::error::operation_aborted) throw;
  }
  return result(unexpected<failure>(failure(errc::cancelled, "the call was cancelled", call_phase::sent)));
}

/// `Ask`: how the attempts are made.
template <typename T, asio::awaitable<expected<T, failure>> (*Ask)(any_client, request, call_options)>
asio::awaitable<expected<T, failure>> hedged(std::shared_ptr<hedge_book> book, any_client first, any_client second,
                                             request what, call_options how, bool streamed) {
  time_source& time = first.gate().time();
  const std::string name = what.model;
  const instant begun = time.now();
  const auto delay = how.kind == attempt::first ? book->delay(name, streamed) : std::nullopt;
  if (!delay) {
    auto answered = co_await Ask(first, std::move(what), how);
    if (answered && how.kind == attempt::first) book->learn(name, streamed, time.now() - begun);
    co_return std::move(answered);
  }

  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto attempts = std::make_shared<race<T>>(executor, time);
  const detail::race_guard<T> guard(attempts);
  attempts->start(0, Ask(first, what, how));
  hedge_statistics counts;
  if (!co_await attempts->run_to(after(begun, *delay))) {
    call_options extra = how;
    extra.kind = attempt::hedge;
    extra.max_attempts = 1;
    extra.age = {};
    extra.requeue_when_preempted = false;
    attempts->start(1, Ask(second, std::move(what), extra));
    counts.sent = 1;
    static_cast<void>(co_await attempts->run_to(never));
  }

  const std::size_t winner = attempts->winner();
  const auto& other = attempts->at(1);
  if (other.answered && !*other.answered && other.answered->error().is(errc::refused)) {
    counts.sent = 0;
    counts.suppressed = 1;
  }
  // One that was cancelled took longer than most: that it would have taken longer still does not move a quantile below
  // it.
  if (winner != race<T>::nobody) book->learn(name, streamed, attempts->at(winner).ended - begun);
  if (winner == 1) {
    counts.won = 1;
    counts.wasted_tokens = wasted_by<T>(attempts->at(0));
  } else {
    counts.wasted_tokens = wasted_by<T>(other);
  }
  book->count(counts);
  co_return outcome_of(*attempts);
}

}  // namespace

expected<void, error> validate(const hedge_options& checked) {
  if (!(checked.quantile > 0 && checked.quantile < 1)) {
    return wrong("hedge: quantile = " + std::to_string(checked.quantile) + "; must be between 0 and 1");
  }
  if (checked.least_samples < 1) {
    return wrong("hedge: least_samples = " + std::to_string(checked.least_samples) + "; must be positive");
  }
  if (checked.after && *checked.after < duration::zero()) return wrong("hedge: after is negative");
  if (checked.least_delay < duration::zero()) return wrong("hedge: least_delay is negative");
  return {};
}

hedge::hedge(any_client over, hedge_options options) : hedge(over, over, options) {}

hedge::hedge(any_client first, any_client second, hedge_options options)
    : first_(first), second_(second), book_(std::make_shared<hedge_book>(checked(options))) {}

hedge::~hedge() = default;

asio::awaitable<expected<reply, failure>> hedge::chat(request what, call_options options) {
  return hedged<reply, ask>(book_, first_, second_, std::move(what), options, false);
}

asio::awaitable<expected<any_stream, failure>> hedge::stream(request what, call_options options) {
  return hedged<any_stream, detail::begin_stream>(book_, first_, second_, std::move(what), options, true);
}

std::optional<duration> hedge::delay(std::string_view model, bool streamed) const {
  return book_->delay(model, streamed);
}

expected<cost, failure> hedge::estimate(const request& what, const call_options& options) const {
  return first_.estimate(what, options);
}

bulkhead& hedge::gate() const noexcept { return first_.gate(); }

hedge_statistics hedge::statistics() const { return book_->statistics(); }

}  // namespace sluice::llm
