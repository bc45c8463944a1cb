/// \file
/// Policies at random, with small numbers, so that everything is scarce.
#pragma once

#include <sluice/core/policy.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace sluice::core::testing {

/// What the policies of a run are like.
enum class flavour {
  /// Anything valid.
  any,
  /// High classes with floors, low ones that borrow them and can be stopped.
  lending,
};

/// What is switched on in a run.
struct features {
  bool tenants = false;
  bool tenant_rates = false;
  bool provider_rates = false;
  bool runs = false;
  bool models = false;
  bool feasibility = false;
  bool overload = false;
  bool adaptive = false;
  bool elastic = false;
  bool observe = false;
  bool retries = false;
  bool pauses = false;
  bool reports = false;
};

/// Where floors are lent, little else stands in the way.
inline features random_features(std::mt19937_64& draw, flavour kind) {
  const auto one_in = [&draw](std::uint64_t many) { return draw() % many == 0; };
  const std::uint64_t rarely = kind == flavour::lending ? 8 : 3;
  features on;
  on.tenants = !one_in(4);
  on.tenant_rates = on.tenants && one_in(rarely);
  on.provider_rates = one_in(rarely);
  on.runs = one_in(2);
  on.models = one_in(2);
  on.feasibility = one_in(2);
  on.overload = one_in(2);
  on.adaptive = one_in(rarely);
  on.elastic = one_in(rarely);
  on.observe = one_in(4 * rarely);
  on.retries = one_in(rarely);
  on.pauses = !one_in(3);
  on.reports = one_in(rarely);
  return on;
}

class policy_maker {
 public:
  policy_maker(std::mt19937_64& draw, flavour kind, const features& on)
      : draw_(draw), lending_(kind == flavour::lending), on_(on) {}

  [[nodiscard]] policy make(std::size_t class_count, std::uint64_t revision) {
    policy made(lending_ ? capacity{3 + upto(9), 80 + upto(120)} : capacity{upto(9), upto(60)});
    if (!lending_ && one_in(10)) made.total.slots = 0;
    while (made.classes.size() < class_count)
      made.add_class(class_policy("class" + std::to_string(made.classes.size())));
    capacity left = made.total;
    for (class_policy& each : made.classes) fill(each, left);
    made.max_waiting = one_in(2) ? static_cast<std::size_t>(upto(12)) : 10'000;
    made.max_preemptions = static_cast<int>(upto(2));
    made.revision = revision;
    if (on_.provider_rates) made.rates = some_rates();
    if (on_.tenant_rates && one_in(2)) made.other_tenants.rates = some_rates();
    made.other_tenants.weight = 1 + upto(3);
    made.max_tenants = one_in(2) ? static_cast<std::size_t>(1 + upto(5)) : 1024;
    made.bypass = {one_in(4) ? upto(2) : 1 + upto(63), ms(upto(60))};
    made.feasibility.enabled = on_.feasibility;
    made.feasibility.run_share = one_in(2) ? 0 : 0.4;
    made.feasibility.service_share = static_cast<double>(upto(2)) / 2;
    made.overload.enabled = on_.overload;
    made.overload.window = ms(50 + upto(500));
    made.overload.age_cap = ms(upto(60));
    made.adaptive.enabled = on_.adaptive && !one_in(6);
    made.adaptive.initial = upto(6);
    made.adaptive.tolerance = one_in(2) ? 0 : 1.5;
    made.adaptive.window = ms(1 + upto(20));
    made.retries = {on_.retries && !one_in(4), static_cast<double>(upto(4)) / 10, upto(3), ms(20 + upto(400))};
    const duration least = duration(upto(8'000'000));
    made.reopening = {static_cast<double>(upto(2)) / 2, least, least + ms(upto(20)), duration(upto(3) * 700'000)};
    if (on_.models) price(made);
    made.observe = on_.observe && one_in(2);
    return made;
  }

 private:
  std::int64_t upto(std::int64_t most) {
    return static_cast<std::int64_t>(draw_() % (static_cast<std::uint64_t>(most) + 1));
  }
  bool one_in(std::int64_t many) { return upto(many - 1) == 0; }
  static duration ms(std::int64_t many) { return std::chrono::milliseconds(many); }

  void fill(class_policy& each, capacity& left) {
    each.priority = static_cast<int>(upto(3));
    each.floor = one_in(3) ? capacity{} : capacity{upto(left.slots), upto(left.tokens)};
    if (lending_)
      each.floor =
          each.priority > 1 ? capacity{left.slots - left.slots / 4, left.tokens - left.tokens / 4} : capacity{};
    left = {left.slots - each.floor.slots, left.tokens - each.floor.tokens};
    each.ceiling = lending_ || one_in(2) ? capacity{unlimited, unlimited}
                                         : capacity{each.floor.slots + upto(5), each.floor.tokens + upto(40)};
    each.preemptible = lending_ || one_in(2);
    each.restore_within = ms(upto(12));
    if (one_in(4)) each.max_waiting = static_cast<std::size_t>(upto(4));
    each.elastic.enabled = on_.elastic && one_in(2);
    if (one_in(4)) each.start_within = ms(1 + upto(20));
    each.elastic.pause = one_in(2) ? duration{} : ms(upto(60));
    each.elastic.minimum = 1 + upto(2);
    each.elastic.window = ms(1 + upto(10));
    each.elastic.target = ms(upto(10));
  }

  /// So many a second, or none; a burst of about so much.
  rate some_rate(std::int64_t most_a_second, std::int64_t burst) {
    if (one_in(3)) return {};
    return {60 * (1 + upto(most_a_second)), one_in(6) ? 0 : 1 + upto(burst)};
  }
  rate_limits some_rates() { return {some_rate(200, 5), some_rate(2'000, 40), some_rate(1'500, 30)}; }

  void price(policy& made) {
    for (const char* const name : {"small", "large"}) {
      model_price& one = made.prices.emplace_back(name);
      one.input_per_million = 300'000 * upto(3);
      one.output_per_million = 700'000 * upto(3);
    }
  }

  std::mt19937_64& draw_;
  bool lending_;
  features on_;
};

inline policy random_policy(std::mt19937_64& draw, flavour kind, const features& on, std::size_t class_count,
                            std::uint64_t revision) {
  policy_maker maker(draw, kind, on);
  for (;;) {
    policy made = maker.make(class_count, revision);
    if (validate(made)) return made;
  }
}

}  // namespace sluice::core::testing
