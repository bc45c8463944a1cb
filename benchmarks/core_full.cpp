// The state machine by itself with everything switched on, beside the same with one class and nothing else.
#include "clocks.hpp"
#include "subject.hpp"
#include "table.hpp"

#include <sluice/core/admission.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace bars {
namespace {

using namespace std::chrono_literals;
using sluice::core::admission;
using sluice::core::effect;
using sluice::core::effects;
using sluice::core::request;
using sluice::core::request_id;

constexpr std::size_t tenants = 1'000;
constexpr std::size_t trees = 100;
constexpr int depth = 4;
constexpr sluice::usage used{1'150, 350};

/// Room for `many` at once.
sluice::policy plain(std::int64_t many) {
  sluice::policy rules({many, many * 2'000});
  rules.feasibility.enabled = rules.overload.enabled = false;
  rules.explain_records = 0;
  rules.max_waiting = std::numeric_limits<std::size_t>::max();
  for (sluice::class_policy& each : rules.classes) {
    each.start_within = {};
    each.elastic.enabled = false;
  }
  return rules;
}

/// Nothing of it is ever in the way but the slots; all of it is reckoned.
sluice::policy everything(std::int64_t many) {
  sluice::policy rules({many, many * 2'000});
  rules.max_waiting = std::numeric_limits<std::size_t>::max();
  while (rules.classes.size() < sluice::max_workloads)
    rules.add_class(sluice::class_policy("class " + std::to_string(rules.classes.size())));
  for (std::size_t c = 0; c < rules.classes.size(); ++c) {
    sluice::class_policy& each = rules.classes[c];
    each.priority = -static_cast<int>(c / 4);
    each.floor = {many / 64, many / 64 * 2'000};
    each.preemptible = c > 0;
    each.start_within = c == 0 ? sluice::duration(3h) : sluice::duration{};
    each.elastic.enabled = c >= 12;
    each.elastic.minimum = many / 4;
    each.elastic.target = 3h;
  }
  constexpr std::int64_t plenty = 1'000'000'000'000;
  rules.rates = {{plenty, 0}, {plenty, 0}, {plenty, 0}};
  rules.other_tenants.rates = rules.rates;
  rules.adaptive.enabled = true;
  rules.adaptive.initial = many;
  sluice::model_price price("large");
  price.input_per_million = 3'000'000;
  price.output_per_million = 15'000'000;
  rules.prices.push_back(price);
  return rules;
}

/// What comes to a machine that knows everything: any tenant in one of its two classes, any run, every other one with a
/// deadline.
class crowd_of_all {
 public:
  explicit crowd_of_all(admission& machine) : random_(5) {
    for (std::size_t tree = 0; tree < trees; ++tree) {
      sluice::run_options what;
      what.limit = {.tokens = std::int64_t{1} << 50, .calls = std::int64_t{1} << 50, .money = std::int64_t{1} << 50};
      for (int level = 0; level < depth; ++level) {
        const auto opened = machine.open_run(what, sluice::instant{});
        if (!opened) std::abort();
        what = {};
        what.parent = *opened;
      }
      leaves_.push_back(what.parent);
    }
    asked_.cost = one_call;
    asked_.model = sluice::model("large");
  }

  const request& next(sluice::instant now) {
    const std::uint64_t drawn = random_.next();
    const std::uint64_t tenant = 1 + drawn % tenants;
    asked_.tenant = sluice::tenant(tenant);
    asked_.workload = sluice::workload(static_cast<std::uint8_t>((tenant + (drawn >> 20 & 1)) % sluice::max_workloads));
    asked_.run = leaves_[(drawn >> 24) % trees];
    asked_.deadline = (drawn >> 40 & 1) != 0 ? now + 1h + sluice::duration(drawn >> 44) : sluice::never;
    return asked_;
  }

 private:
  noise random_;
  std::vector<sluice::run_id> leaves_;
  request asked_;
};

/// The one that came first ends when a new one comes, with so many in flight.
template <typename Next>
double flow(admission& machine, const Next& next) {
  constexpr std::size_t in_flight = 256;
  constexpr int warm_up = 50'000;
  constexpr int rounds = 300'000;
  effects out;
  std::array<request_id, in_flight> running;
  sluice::instant now{};
  double start = 0;
  for (int n = 0; n < warm_up + rounds; ++n) {
    if (n == warm_up) start = thread_cpu();
    now += 20us;
    request_id& place = running[static_cast<std::size_t>(n) % in_flight];
    if (n >= static_cast<int>(in_flight)) machine.finish(place, sluice::core::ending::released, used, now, out);
    const auto id = machine.arrive_at_once(next(now), now);
    if (!id) std::abort();
    place = *id;
    out.clear();
  }
  return (thread_cpu() - start) / rounds;
}

double flow_through_all() {
  admission machine(everything(1'024));
  crowd_of_all crowd(machine);
  return flow(machine, [&](sluice::instant now) -> const request& { return crowd.next(now); });
}

double flow_through_nothing() {
  admission machine(plain(1'024));
  request asked;
  asked.cost = one_call;
  return flow(machine, [&](sluice::instant) -> const request& { return asked; });
}

/// One ends, one that waits is granted, one comes.
double grant_with(std::size_t waiters) {
  constexpr std::int64_t many = 64;
  constexpr int rounds = 200'000;
  admission machine(everything(many));
  crowd_of_all crowd(machine);
  effects out;
  std::vector<request_id> running;
  std::size_t oldest = 0;
  sluice::instant now{};
  const auto collect = [&] {
    for (const effect& each : out.list) {
      if (each.what == effect::kind::granted) running.push_back(each.id);
    }
    out.clear();
  };
  const auto come = [&] {
    machine.arrive(crowd.next(now), now, out);
    collect();
  };
  const auto step = [&] {
    now += 100us;
    machine.finish(running[oldest++], sluice::core::ending::released, used, now, out);
    collect();
    come();
  };
  for (std::size_t n = 0; n < waiters + many; ++n) come();
  running.reserve(running.size() + 2 * rounds + waiters);
  for (std::size_t n = 0; n < rounds; ++n) step();
  const double start = thread_cpu();
  for (int n = 0; n < rounds; ++n) step();
  const double took = thread_cpu() - start;
  if (machine.waiting() != waiters || machine.in_flight() != many) std::abort();
  return took / rounds;
}

double grant_with_100() { return grant_with(100); }
double grant_with_100k() { return grant_with(100'000); }

}  // namespace

std::vector<bar> full_core_bars() {
  return {
      {"core, all on: arrive + finish (vs none)", "ns", flow_through_all, flow_through_nothing, 3.0, 9},
      {"core, all on: grant, 100,000 (vs 100)", "ns", grant_with_100k, grant_with_100, 2.0, 5},
  };
}

}  // namespace bars
