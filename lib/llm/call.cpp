#include "llm/call.hpp"

#include "llm/provider_error.hpp"

#include <utility>

namespace sluice::llm::detail {

namespace {

// An error that takes more than this to tell is not worth its time.
constexpr std::size_t most_refusal = 64 << 10;

/// What a failure says about the provider's load, for limits that follow it.
void note_trouble(const failure& why, permit& held) {
  if (why.is(errc::rate_limited)) return held.signal(provider_signal::rate_limited);
  if (why.is(errc::overloaded)) return held.signal(provider_signal::overloaded);
  if (why.is(errc::first_byte_timeout) || why.is(errc::total_timeout)) held.signal(provider_signal::timed_out);
}

}  // namespace

expected<void, failure> call::prepare() {
  // The request is checked before it is estimated: an estimator must not be blamed for what the request says.
  auto encoded = encode(streamed_ && endpoint_->ask_usage.load(std::memory_order_relaxed));
  if (!encoded) return encoded;
  auto reserved = endpoint_->reserve(request_, options_);
  if (!reserved) return unexpected<failure>(std::move(reserved).error());
  reserved_ = *reserved;
  return {};
}

expected<void, failure> call::encode(bool ask_usage) {
  encoding how;
  how.output_limit = endpoint_->options.output_limit;
  how.default_max_tokens = endpoint_->options.default_max_tokens;
  how.streamed = streamed_;
  how.ask_usage = ask_usage;
  auto body = endpoint_->format.encode(request_, how);
  if (!body) return unexpected<failure>(failure(std::move(body).error()));
  body_ = *std::move(body);
  asks_usage_ = ask_usage;
  return {};
}

failure call::interrupted(error why, permit& held, call_phase when) {
  if (!why.is(errc::preempted)) return failure(std::move(why), when);
  options_.age = held.age();
  failure lost(errc::preempted,
               "preempted: the capacity was lent, and its owner needs it back; ask again with failure::age as call_options::age "
               "to keep the place",
               when);
  lost.age = options_.age;
  return lost;
}

asio::awaitable<expected<exchange, failure>> call::begin() {
  using result = expected<exchange, failure>;
  admit_options how;
  how.deadline = options_.deadline;
  how.age = options_.age;
  how.tenant = options_.tenant;
  how.run = options_.run;
  how.finalising = options_.finalising;
  how.model = sluice::model(request_.model);
  auto admitted = co_await endpoint_->gate.admit(reserved_.asked, options_.workload, how);
  if (!admitted) co_return result(unexpected<failure>(turned_away(std::move(admitted).error(), reserved_)));
  meter account(*std::move(admitted), reserved_, endpoint_->options.reconcile_every);

  for (;;) {
    auto head = co_await send(account);
    if (!head) {
      note_trouble(head.error(), account.held());
      co_return result(unexpected<failure>(std::move(head).error()));
    }
    const int status = (*head)->status();
    if (status >= 200 && status < 300) co_return result(exchange(std::move(account), *std::move(head)));

    auto refusal = co_await read_refusal(**head, account);
    if (!refusal) co_return result(unexpected<failure>(std::move(refusal).error()));
    if (!usage_refused_) {
      note_trouble(*refusal, account.held());
      co_return result(unexpected<failure>(*std::move(refusal)));
    }
    // The server did nothing yet: the same permit serves the same call, put in a way that the server knows.
    usage_refused_ = false;
    if (auto encoded = encode(false); !encoded) co_return result(unexpected<failure>(std::move(encoded).error()));
  }
}

asio::awaitable<expected<std::unique_ptr<http::response>, failure>> call::send(meter& account) {
  using result = expected<std::unique_ptr<http::response>, failure>;
  http::request sent = endpoint_->make(body_, streamed_, options_.deadline);
  auto sending = endpoint_->over.send(std::move(sent));
  auto guarded = co_await account.held().guard(std::move(sending));
  if (!guarded) {
    co_return result(unexpected<failure>(interrupted(std::move(guarded).error(), account.held(), call_phase::sent)));
  }
  if (!*guarded) co_return result(unexpected<failure>(failure(std::move(*guarded).error(), call_phase::sent)));
  co_return result(*std::move(*guarded));
}

asio::awaitable<expected<failure, failure>> call::read_refusal(http::response& from, meter& account) {
  using result = expected<failure, failure>;
  std::string body;
  while (body.size() < most_refusal) {
    auto part = co_await read(from, account);
    // What was said counts more than that it broke off, unless it was us who broke it off.
    if (!part && (part.error().is(errc::preempted) || part.error().is(errc::cancelled))) {
      co_return result(unexpected<failure>(std::move(part).error()));
    }
    if (!part || part->empty()) break;
    body += *part;
  }
  const int status = from.status();
  if (asks_usage_ && (status == 400 || status == 422) && body.find("stream_options") != body.npos) {
    endpoint_->ask_usage.store(false, std::memory_order_relaxed);
    usage_refused_ = true;
  }
  co_return result(failure_of_status(status, from.headers(), body, endpoint_->options.api_key));
}

asio::awaitable<expected<std::string, failure>> call::read(http::response& from, meter& account) {
  using result = expected<std::string, failure>;
  auto reading = from.read();
  auto guarded = co_await account.held().guard(std::move(reading));
  if (!guarded) {
    co_return result(unexpected<failure>(interrupted(std::move(guarded).error(), account.held(), call_phase::answering)));
  }
  if (!*guarded) co_return result(unexpected<failure>(failure(std::move(*guarded).error(), call_phase::answering)));
  co_return result(*std::move(*guarded));
}

}  // namespace sluice::llm::detail
