#include <sluice/llm/router.hpp>

#include "llm/routes/begun_stream.hpp"
#include "llm/routes/route_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::llm {
namespace {

using detail::route_table;
using detail::visit;

std::vector<provider> checked(std::vector<provider> providers, const router_options& options) {
  if (auto holds = validate(providers, options); !holds) throw error_exception(std::move(holds).error());
  return providers;
}

/// A call at one provider: without any other word it has shown nothing, when it was cancelled, for one.
class stay {
 public:
  stay(route_table& table, std::size_t which, const visit& of) noexcept : table_(table), which_(which), of_(of) {}
  stay(const stay&) = delete;
  stay& operator=(const stay&) = delete;
  ~stay() {
    if (!told_) table_.lost(which_, of_);
  }
  void answered() {
    told_ = true;
    table_.answered(which_, of_);
  }
  void failed(const failure& why) {
    told_ = true;
    table_.failed(which_, of_, why);
  }

 private:
  route_table& table_;
  std::size_t which_;
  visit of_;
  bool told_ = false;
};

/// A stream from a provider, which is told when it breaks off.
class routed_stream final : public any_stream::source {
 public:
  routed_stream(std::shared_ptr<route_table> table, std::size_t which, instant begun, any_stream from) noexcept
      : table_(std::move(table)), which_(which), begun_(begun), from_(std::move(from)) {}

  asio::awaitable<expected<std::optional<stream_event>, failure>> next() override {
    auto event = co_await from_.next();
    if (!event && !std::exchange(told_, true)) table_->broke(which_, begun_, event.error());
    co_return std::move(event);
  }
  [[nodiscard]] const reply& result() const noexcept override { return from_.result(); }

 private:
  const std::shared_ptr<route_table> table_;
  const std::size_t which_;
  const instant begun_;
  any_stream from_;
  bool told_ = false;
};

asio::awaitable<expected<reply, failure>> ask(any_client from, request what, call_options how) {
  return from.chat(std::move(what), how);
}

reply hand_out(const std::shared_ptr<route_table>&, std::size_t, instant, reply answer) { return answer; }
any_stream hand_out(const std::shared_ptr<route_table>& table, std::size_t which, instant begun, any_stream answer) {
  return any_stream(std::make_unique<routed_stream>(table, which, begun, std::move(answer)));
}

int attempts_of(const failure& why) {
  if (why.attempts > 0) return why.attempts;
  return why.phase == call_phase::sent || why.phase == call_phase::answering ? 1 : 0;
}

/// Whether another provider could do better; of what admission refused, one with another gate.
bool helps_elsewhere(const failure& why) {
  if (why.what_helps() == remedy::try_again) return true;
  for (const errc kind :
       {errc::unauthorized, errc::quota_exhausted, errc::host_not_found, errc::tls_failed, errc::protocol_error}) {
    if (why.is(kind)) return true;
  }
  return why.is(errc::refused) && why.refusal && why.refusal->reason() != reason::invalid_cost;
}

/// The provider's dialect cannot express the request; another one's may.
bool cannot_say(const failure& why) noexcept {
  return why.is(errc::invalid_argument) && why.phase == call_phase::preparing;
}

/// What the providers have said to one call, so far.
class replies {
 public:
  void add(const std::string& name, failure why) {
    attempts_ += attempts_of(why);
    said_ += said_.empty() ? "" : "; ";
    said_ += name + ": " + why.message();
    // A refusal of admission, and a dialect that cannot say it, are the reason why it was not tried again, not why it
    // failed.
    if (!last_ || (!cannot_say(why) && (attempts_ == 0 || !why.is(errc::refused)))) last_ = std::move(why);
    ++count_;
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] int attempts() const noexcept { return attempts_; }

  [[nodiscard]] failure sum() && {
    last_->attempts = attempts_;
    if (count_ > 1) last_->why = error(last_->code(), "no provider answered: " + said_);
    return *std::move(last_);
  }

 private:
  std::optional<failure> last_;
  std::string said_;
  int attempts_ = 0;
  int count_ = 0;
};

/// `Ask`: how one provider is asked.
template <typename T, asio::awaitable<expected<T, failure>> (*Ask)(any_client, request, call_options)>
asio::awaitable<expected<T, failure>> routed(std::shared_ptr<route_table> table, request what, call_options how) {
  using result = expected<T, failure>;
  const auto order = table->order(how);
  replies said;
  std::vector<const bulkhead*> refusing;
  std::optional<std::size_t> before;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::size_t which = order[n];
    const any_client over = table->at(which).over;
    const bool last = n + 1 == order.size();
    if (std::find(refusing.begin(), refusing.end(), &over.gate()) != refusing.end()) continue;
    const auto begun = table->begin(which, last && said.empty());
    if (!begun) continue;
    if (before) table->passed_on(*before);
    before = which;

    stay here(*table, which, *begun);
    call_options own = how;
    if (said.attempts() > 0) own.kind = attempt::retry;
    own.max_attempts = !last ? 1 : how.max_attempts > 0 ? how.max_attempts - said.attempts() : 0;
    if (&over.gate() != &table->gate()) own.age = {};
    request asked = what;
    asked.model = table->model_at(which, what.model);
    auto answered = co_await Ask(over, std::move(asked), own);
    if (answered) {
      here.answered();
      co_return result(hand_out(table, which, begun->begun, *std::move(answered)));
    }
    const failure& why = answered.error();
    here.failed(why);
    const bool goes_on = (helps_elsewhere(why) || cannot_say(why)) && table->now() < how.deadline;
    if (why.is(errc::refused)) refusing.push_back(&over.gate());
    said.add(table->at(which).name, why);
    if (!goes_on || (how.max_attempts > 0 && said.attempts() >= how.max_attempts)) break;
  }
  co_return result(unexpected<failure>(std::move(said).sum()));
}

}  // namespace

std::string_view to_string(provider_state value) noexcept {
  switch (value) {
    case provider_state::closed: return "closed";
    case provider_state::open: return "open";
    case provider_state::half_open: return "half-open";
  }
  return "unknown";
}

expected<void, error> validate(const std::vector<provider>& providers, const router_options& checked) {
  const auto wrong = [](std::string what) {
    return unexpected<error>(error(errc::invalid_configuration, "router: " + std::move(what)));
  };
  if (providers.empty()) return wrong("no provider");
  for (std::size_t i = 0; i < providers.size(); ++i) {
    const provider& each = providers[i];
    if (each.name.empty()) return wrong("providers[" + std::to_string(i) + "].name is empty");
    const auto same = [&](const provider& other) { return other.name == each.name; };
    if (std::count_if(providers.begin(), providers.end(), same) > 1)
      return wrong("two providers are named " + each.name);
    if (!(each.weight > 0) || !std::isfinite(each.weight)) {
      return wrong(each.name + ": weight = " + std::to_string(each.weight) + "; must be positive");
    }
  }
  const health_policy& health = checked.health;
  if (health.failures < 1) return wrong("health.failures = " + std::to_string(health.failures) + "; must be positive");
  if (health.least_calls < 1)
    return wrong("health.least_calls = " + std::to_string(health.least_calls) + "; must be positive");
  if (!(health.share > 0 && health.share <= 1)) {
    return wrong("health.share = " + std::to_string(health.share) + "; must be above 0, and at most 1");
  }
  if (!(health.jitter >= 0 && health.jitter <= 1)) {
    return wrong("health.jitter = " + std::to_string(health.jitter) + "; must be 0 to 1");
  }
  if (health.window <= duration::zero()) return wrong("health.window is not positive");
  if (health.first_rest < duration::zero()) return wrong("health.first_rest is negative");
  if (health.max_rest < duration::zero()) return wrong("health.max_rest is negative");
  if (health.least_patience < duration::zero()) return wrong("health.least_patience is negative");
  return {};
}

router::router(std::vector<provider> providers, router_options options)
    : table_(std::make_shared<route_table>(checked(std::move(providers), options), options)) {}

router::~router() = default;

asio::awaitable<expected<reply, failure>> router::chat(request what, call_options options) {
  return routed<reply, ask>(table_, std::move(what), options);
}

asio::awaitable<expected<any_stream, failure>> router::stream(request what, call_options options) {
  return routed<any_stream, detail::begin_stream>(table_, std::move(what), options);
}

expected<cost, failure> router::estimate(const request& what, const call_options& options) const {
  const std::size_t which = table_->first(options);
  const any_client over = table_->at(which).over;
  const std::string& model = table_->model_at(which, what.model);
  if (model == what.model) return over.estimate(what, options);
  request asked = what;
  asked.model = model;
  return over.estimate(asked, options);
}

bulkhead& router::gate() const noexcept { return table_->gate(); }

std::vector<provider_statistics> router::statistics() const { return table_->statistics(); }

}  // namespace sluice::llm
