#include "caller.hpp"

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>

namespace contention {
namespace {

using sluice::errc;
using failed = sluice::unexpected<sluice::llm::failure>;

constexpr int most_attempts = 4;

bool worth_another(const sluice::llm::failure& why) {
  if (why.should_retry) return *why.should_retry;
  if (why.provider_code == "insufficient_quota") return false;
  if (why.refusal) {
    const auto reason = why.refusal->reason();
    return reason == sluice::reason::queue_full || reason == sluice::reason::shed;
  }
  for (const auto kind : {errc::rate_limited, errc::overloaded, errc::provider_failed, errc::connection_lost,
                          errc::connect_failed, errc::connect_timeout}) {
    if (why.is(kind)) return true;
  }
  return false;
}

}  // namespace

asio::awaitable<caller::result> caller::ask(sluice::llm::request what, sluice::llm::call_options how, delivery as,
                                            tally& notes) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int attempts = 1;; ++attempts) {
    result got = co_await attempt(what, how, as);
    if (got) co_return got;
    notes.attempt_failed(got.error());
    if (attempts == most_attempts || !worth_another(got.error())) co_return got;
    const auto wait = pause(got.error(), attempts);
    if (sluice::after(gate().now(), wait) >= how.deadline) co_return got;
    timer.expires_after(wait);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<caller::result> caller::attempt(sluice::llm::request what, sluice::llm::call_options how, delivery as) {
  // The plain limit is a gate that knows one class of work and no deadlines. Its permit ends with this attempt.
  sluice::permit turn;
  if (limit_ != nullptr) {
    auto& waiting = waiting_.at(how.workload.index());
    ++waiting;
    auto admitted = co_await limit_->admit(sluice::cost{});
    --waiting;
    if (!admitted) {
      sluice::llm::failure why(admitted.error().to_error(), sluice::llm::call_phase::queued);
      why.refusal = std::move(admitted).error();
      co_return result(failed(std::move(why)));
    }
    turn = std::move(*admitted);
  }

  if (as == delivery::streamed) co_return co_await stream(std::move(what), how);
  auto reply = co_await client_.chat(std::move(what), how);
  if (!reply) co_return result(failed(std::move(reply).error()));
  co_return result(answer(std::move(*reply)));
}

asio::awaitable<caller::result> caller::stream(sluice::llm::request what, sluice::llm::call_options how) {
  auto opened = co_await client_.stream(std::move(what), how);
  if (!opened) co_return result(failed(std::move(opened).error()));
  auto events = std::move(*opened);
  auto first = sluice::never;
  for (;;) {
    auto event = co_await events.next();
    if (!event) co_return result(failed(std::move(event).error()));
    if (!*event) break;
    if (first == sluice::never) first = gate().now();
  }
  co_return result(answer(events.result(), first));
}

// What the provider asks for, or twice as long each time; with jitter, so that those who were refused together do not
// come back together.
sluice::duration caller::pause(const sluice::llm::failure& why, int attempts) {
  using namespace std::chrono_literals;
  const sluice::duration doubling = 250ms * (1 << (attempts - 1));
  const auto asked = std::max(doubling, why.retry_after.value_or(sluice::duration::zero()));
  return std::chrono::duration_cast<sluice::duration>(asked * (1 + dice_.uniform() / 2));
}

}  // namespace contention
