#include <sluice/llm/single_flight.hpp>

#include "llm/routes/request_key.hpp"
#include "llm/routes/shared_exchange.hpp"

#include <string>
#include <utility>

namespace sluice::llm {
namespace {

using detail::boarding;
using detail::exchange_book;
using ending = sluice::detail::waiting_call::ending;

std::string key_of(const request& what, const call_options& options, sharing_scope scope, bool streamed) {
  std::string key(streamed ? "s" : "c");
  if (scope == sharing_scope::tenant) key += std::to_string(options.tenant.key());
  key += '/';
  key += detail::request_key(what);
  return key;
}

failure left(ending why, call_phase when) {
  if (why == ending::cancelled)
    return {errc::cancelled, "the call was cancelled while it waited for a shared answer", when};
  return {errc::deadline_exceeded,
          "the call's deadline passed while it waited for an answer that it shares with others", when};
}

/// Whether an exchange failed for what its leader had brought with it, and this caller has not.
bool is_leaders_own(const failure& why, const call_options& leaders, const call_options& callers) {
  const bool has_longer = callers.deadline > leaders.deadline;
  if (why.is(errc::deadline_exceeded)) return has_longer;
  // As a rule its run was closed; where everything is going away the caller's own exchange tells it so.
  if (why.is(errc::cancelled)) return callers.run != leaders.run;
  if (!why.is(errc::refused) || !why.refusal) return false;
  switch (why.refusal->reason()) {
    case reason::infeasible:
    case reason::rate_limited: return has_longer;
    case reason::budget_exhausted:
    case reason::unknown_run: return callers.run != leaders.run;
    default: return false;
  }
}

/// One caller's view of a shared stream.
class shared_reader final : public any_stream::source {
 public:
  shared_reader(std::shared_ptr<exchange_book> book, boarding aboard, const call_options& callers)
      : book_(std::move(book)), aboard_(std::move(aboard)), callers_(callers) {}

  asio::awaitable<expected<std::optional<stream_event>, failure>> next() override {
    using result = expected<std::optional<stream_event>, failure>;
    for (;;) {
      if (failed_) co_return result(unexpected<failure>(*failed_));
      if (done_) co_return result(std::nullopt);
      const auto seen = aboard_.exchange->look(*aboard_.place, given_, false);
      if (seen.event) {
        ++given_;
        take(*seen.event);
        co_return result(*seen.event);
      }
      if (seen.ended) {
        end(*seen.ended);
        continue;
      }
      ending why = ending::cancelled;
      try {
        why = co_await aboard_.place->wait(aboard_.patience(callers_.deadline));
      } catch (...) {
        fail(left(ending::cancelled, call_phase::answering));
        throw;
      }
      if (why != ending::woken) fail(left(why, call_phase::answering));
    }
  }

  [[nodiscard]] const reply& result() const noexcept override { return so_far_; }

 private:
  void take(const stream_event& event) {
    switch (event.type) {
      case stream_event::kind::text: so_far_.text += event.text; break;
      case stream_event::kind::reasoning: so_far_.reasoning += event.text; break;
      case stream_event::kind::refusal: so_far_.refusal += event.text; break;
      case stream_event::kind::tool_call: so_far_.tool_calls.push_back(event.call); break;
      case stream_event::kind::usage: so_far_.usage = event.usage; break;
      case stream_event::kind::done: break;
    }
  }

  void end(const detail::landing& how) {
    if (how.thrown) {
      fail(failure(errc::cancelled, "the shared exchange ended with an exception", call_phase::answering));
      std::rethrow_exception(how.thrown);
    }
    if (how.failed) return fail(as_the_callers(*how.failed));
    so_far_ = *how.answer;
    done_ = true;
    if (!aboard_.leads) book_->saved(so_far_.usage);
    aboard_.leave();
  }

  /// It was not this caller who gave up.
  [[nodiscard]] failure as_the_callers(const failure& why) const {
    if (aboard_.leads || !why.is(errc::cancelled) || !is_leaders_own(why, aboard_.exchange->how, callers_)) return why;
    failure own(errc::connection_lost,
                "the answer was shared, and ended in its middle with the run of the caller who paid for it; ask again",
                call_phase::answering);
    own.partial = why.partial;
    return own;
  }

  void fail(failure why) {
    if (!why.partial && given_ > 0) why.partial = so_far_;
    failed_ = std::move(why);
    aboard_.leave();
  }

  const std::shared_ptr<exchange_book> book_;
  boarding aboard_;
  const call_options callers_;
  std::size_t given_ = 0;
  reply so_far_;
  std::optional<failure> failed_;
  bool done_ = false;
};

asio::awaitable<expected<reply, failure>> share_chat(std::shared_ptr<exchange_book> book, std::string key, request what,
                                                     call_options options) {
  using result = expected<reply, failure>;
  for (;;) {
    boarding aboard = book->board(key, options);
    if (aboard.leads) aboard.exchange->start(what, false);
    auto seen = aboard.exchange->look(*aboard.place, 0, false);
    ending why = ending::woken;
    if (!seen.ended) {
      why = co_await aboard.place->wait(aboard.patience(options.deadline));
      seen = aboard.exchange->look(*aboard.place, 0, false);
    }
    if (!seen.ended) co_return result(unexpected<failure>(left(why, call_phase::sent)));
    const detail::landing& landed = *seen.ended;
    if (landed.answer) {
      if (!aboard.leads) book->saved(landed.answer->usage);
      co_return result(*landed.answer);
    }
    if (why == ending::late || (why == ending::cancelled && !aboard.leads)) {
      co_return result(unexpected<failure>(left(why, call_phase::sent)));
    }
    if (landed.thrown) std::rethrow_exception(landed.thrown);
    if (why == ending::cancelled || aboard.leads || !is_leaders_own(*landed.failed, aboard.exchange->how, options)) {
      co_return result(unexpected<failure>(*landed.failed));
    }
  }
}

asio::awaitable<expected<any_stream, failure>> share_stream(std::shared_ptr<exchange_book> book, std::string key,
                                                            request what, call_options options) {
  using result = expected<any_stream, failure>;
  for (;;) {
    boarding aboard = book->board(key, options);
    if (aboard.leads) aboard.exchange->start(what, true);
    auto seen = aboard.exchange->look(*aboard.place, 0, true);
    ending why = ending::woken;
    if (!seen.opened && !seen.ended) {
      why = co_await aboard.place->wait(aboard.patience(options.deadline));
      seen = aboard.exchange->look(*aboard.place, 0, true);
    }
    if (why != ending::woken) {
      const bool known = seen.ended && seen.ended->failed && why == ending::cancelled && aboard.leads;
      co_return result(unexpected<failure>(known ? *seen.ended->failed : left(why, call_phase::sent)));
    }
    if (seen.opened) {
      co_return result(any_stream(std::make_unique<shared_reader>(std::move(book), std::move(aboard), options)));
    }
    if (seen.ended->thrown) std::rethrow_exception(seen.ended->thrown);
    if (aboard.leads || !is_leaders_own(*seen.ended->failed, aboard.exchange->how, options)) {
      co_return result(unexpected<failure>(*seen.ended->failed));
    }
  }
}

}  // namespace

single_flight::single_flight(any_client over, single_flight_options options)
    : over_(over), options_(std::move(options)), book_(std::make_shared<exchange_book>(over)) {}

single_flight::~single_flight() = default;

expected<cost, failure> single_flight::estimate(const request& what, const call_options& options) const {
  return over_.estimate(what, options);
}

bulkhead& single_flight::gate() const noexcept { return over_.gate(); }

single_flight_statistics single_flight::statistics() const { return book_->statistics(); }

bool single_flight::shares(const request& what, const call_options& options, sharing how) const {
  if (how == sharing::shared && options.kind == attempt::first && options.deadline > gate().now() &&
      (!options_.shareable || options_.shareable(what))) {
    return true;
  }
  book_->went_alone();
  return false;
}

asio::awaitable<expected<reply, failure>> single_flight::chat(request what, call_options options, sharing how) {
  if (!shares(what, options, how)) return over_.chat(std::move(what), options);
  std::string key = key_of(what, options, options_.scope, false);
  return share_chat(book_, std::move(key), std::move(what), options);
}

asio::awaitable<expected<any_stream, failure>> single_flight::stream(request what, call_options options, sharing how) {
  if (!shares(what, options, how)) return over_.stream(std::move(what), options);
  std::string key = key_of(what, options, options_.scope, true);
  return share_stream(book_, std::move(key), std::move(what), options);
}

}  // namespace sluice::llm
