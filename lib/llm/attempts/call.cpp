#include "llm/attempts/call.hpp"

#include "llm/attempts/rate_headers.hpp"
#include "llm/attempts/within.hpp"
#include "llm/errors/provider_error.hpp"

#include <algorithm>
#include <utility>

namespace sluice::llm::detail {

namespace {

// An error that takes more than this to tell, or longer, is not worth its time.
constexpr std::size_t most_refusal = 64 << 10;
constexpr duration longest_refusal = std::chrono::seconds(5);

/// What a failure says about the provider's load, for limits that follow it.
void note_trouble(const failure& why, permit& held) {
  if (why.is(errc::rate_limited)) return held.signal(provider_signal::rate_limited);
  if (why.is(errc::overloaded)) return held.signal(provider_signal::overloaded);
  if (why.is(errc::first_byte_timeout) || why.is(errc::total_timeout)) held.signal(provider_signal::timed_out);
}

}  // namespace

expected<void, failure> call::prepare() {
  if (options_.max_attempts < 0 || options_.max_attempts > 100) {
    return unexpected<failure>(
        failure(errc::invalid_argument, "call_options::max_attempts = " + std::to_string(options_.max_attempts) +
                                            "; must be 1 to 100, or 0 for the client's"));
  }
  // The request is checked before it is estimated: an estimator must not be blamed for what the request says.
  auto encoded = encode(streamed_ && endpoint_->ask_usage.load(std::memory_order_relaxed));
  if (!encoded) return encoded;
  auto reserved = endpoint_->reserve(request_, options_);
  if (!reserved) return unexpected<failure>(std::move(reserved).error());
  reserved_ = *reserved;
  return {};
}

expected<void, failure> call::go_on_from(const reply& so_far) {
  std::vector<message>& told = request_.messages;
  if (!continued_) {
    output_limit_ = request_.max_output_tokens;
    // The caller has begun the answer itself.
    if (!told.empty() && told.back().who == role::assistant) begun_by_caller_ = told.back().text;
  }
  if (continued_ || !begun_by_caller_.empty()) told.pop_back();
  continued_ = true;
  std::string said = begun_by_caller_ + so_far.text;
  // Some providers refuse an answer to be continued that ends in white space.
  said.erase(std::min(said.find_last_not_of(" \t\r\n") + 1, said.size()));
  request_.assistant(std::move(said));
  if (output_limit_)
    request_.max_output_tokens = std::max<std::int64_t>(1, *output_limit_ - so_far.usage.output_tokens);
  return prepare();
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

failure call::interrupted(error why, call_phase when) const {
  return why.is(errc::cancelled) && is_stopped() ? stopped_failure(when) : failure(std::move(why), when);
}

failure call::stopped_failure(call_phase when) const {
  if (stop_->stopped() == stop_cause::run_closed) {
    return failure(errc::cancelled, "cancelled: its run was cancelled or closed while the exchange was under way",
                   when);
  }
  failure why(
      errc::preempted,
      "preempted: the capacity was lent, and its owner needs it back; ask again with failure::age as call_options::age "
      "to keep the place",
      when);
  why.age = options_.age;
  return why;
}

void call::stopped(exchange& from, instant now) {
  options_.age = from.account.held().age();
  failure why = stopped_failure(call_phase::answering);
  log_.end(from.account.taken(), &why, now);
}

void call::note(failure& why, meter& account) {
  options_.age = account.held().age();
  if (why.is(errc::preempted)) why.age = options_.age;
  note_trouble(why, account.held());
  const token_usage taken = account.taken();
  if (taken.input_tokens > 0 || taken.output_tokens > 0) why.usage = taken;
  log_.end(taken, &why);
}

void call::succeeded(exchange& from) {
  endpoint_->pool.end();
  from.account.complete();
  log_.end(from.account.taken(), nullptr);
  // An observer may take its time.
  from.account.end();
  log_.tell(std::nullopt);
}

bool call::again(failure& why, bool possible) {
  const bool goes_on = tries_.again(why, possible);
  log_.tell(goes_on ? std::optional(tries_.wait_ahead()) : std::nullopt);
  return goes_on;
}

asio::awaitable<expected<exchange, failure>> call::begin() {
  using result = expected<exchange, failure>;
  log_.begin(request_, options_, reserved_, body_, streamed_, tries_.kind());
  admit_options how = admission_of(request_, options_);
  how.kind = tries_.admitted_as();
  expected<permit, rejection> admitted{permit()};
  if (how.kind == attempt::hedge) {
    // One that has to wait comes too late to be worth its tokens.
    admitted = endpoint_->gate.try_admit(reserved_.asked, options_.workload, how);
  } else {
    admitted = co_await endpoint_->gate.admit(reserved_.asked, options_.workload, how);
  }
  if (!admitted) {
    failure refused = turned_away(std::move(admitted).error(), reserved_);
    log_.end({}, &refused);
    co_return result(unexpected<failure>(std::move(refused)));
  }
  log_.admitted();
  meter account(*std::move(admitted), reserved_, endpoint_->options.reconcile_every);
  stop_.reset();
  if (account.held().could_be_stopped()) {
    stop_ = std::make_shared<stop_signal>();
    account.held().stop_by(stop_);
  }
  tries_.sent();
  auto answer = co_await ask();
  if (!answer) {
    note(answer.error(), account);
    co_return result(unexpected<failure>(std::move(answer).error()));
  }
  co_return result(exchange(std::move(account), *std::move(answer)));
}

asio::awaitable<expected<std::unique_ptr<http::response>, failure>> call::ask() {
  using result = expected<std::unique_ptr<http::response>, failure>;
  for (;;) {
    auto head = co_await send();
    if (!head) co_return result(std::move(head));
    log_.head(**head);
    if (const auto limits = rate_limits_of((*head)->headers())) endpoint_->gate.report_limits(*limits);
    const int status = (*head)->status();
    if (status >= 200 && status < 300) co_return result(std::move(head));

    auto refusal = co_await refusal_of(**head);
    if (!refusal) co_return result(unexpected<failure>(std::move(refusal).error()));
    if (!usage_refused_) co_return result(unexpected<failure>(*std::move(refusal)));
    // The server did nothing yet: the same permit serves the same call, put in a way that the server knows.
    usage_refused_ = false;
    if (auto encoded = encode(false); !encoded) co_return result(unexpected<failure>(std::move(encoded).error()));
  }
}

asio::awaitable<expected<std::unique_ptr<http::response>, failure>> call::send() {
  using result = expected<std::unique_ptr<http::response>, failure>;
  http::request sent = endpoint_->make(body_, streamed_, options_.deadline);
  sent.stop = stop_;
  auto head = co_await endpoint_->over.send(std::move(sent));
  if (!head) co_return result(unexpected<failure>(interrupted(std::move(head).error(), call_phase::sent)));
  co_return result(*std::move(head));
}

asio::awaitable<expected<failure, failure>> call::refusal_of(http::response& from) {
  using result = expected<failure, failure>;
  std::string body;
  time_source& time = endpoint_->gate.time();
  const instant until = after(time.now(), longest_refusal);
  auto reading = read_refusal(from, body);
  auto read = co_await within(time, until, std::move(reading));
  const bool late = time.now() >= until;
  if (!read && (!late || is_stopped() || !read.error().is(errc::cancelled)))
    co_return result(unexpected<failure>(std::move(read).error()));
  const int status = from.status();
  if (asks_usage_ && (status == 400 || status == 422) && body.find("stream_options") != body.npos) {
    endpoint_->ask_usage.store(false, std::memory_order_relaxed);
    usage_refused_ = true;
  }
  co_return result(failure_of_status(status, from.headers(), body, endpoint_->hidden));
}

asio::awaitable<expected<void, failure>> call::read_refusal(http::response& from, std::string& body) {
  using result = expected<void, failure>;
  while (body.size() < most_refusal) {
    auto part = co_await read(from);
    // What was said counts more than that it broke off, unless it was us who broke it off.
    if (!part && (part.error().is(errc::preempted) || part.error().is(errc::cancelled))) {
      co_return result(unexpected<failure>(std::move(part).error()));
    }
    if (!part || part->empty()) break;
    body += *part;
  }
  co_return result();
}

asio::awaitable<expected<std::string, failure>> call::read(exchange& from) { return read(*from.answer); }

asio::awaitable<expected<std::string, failure>> call::read(http::response& from) {
  using result = expected<std::string, failure>;
  auto part = co_await from.read();
  if (!part) co_return result(unexpected<failure>(interrupted(std::move(part).error(), call_phase::answering)));
  log_.received(*part);
  co_return result(*std::move(part));
}

}  // namespace sluice::llm::detail
