// What makes no sense in a policy is refused when it is put in force, by the field's name and with its numbers: found
// later, it would look like a class that nobody serves.
#include <sluice/core/policy.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

/// Nothing, or the first thing that is wrong.
using fault = std::optional<error>;

std::string number(std::int64_t value) { return value == unlimited ? "unlimited" : std::to_string(value); }

std::string number(double value) {
  constexpr std::size_t longest = 32;
  std::array<char, longest> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

fault wrong(const std::string& field, const std::string& what) {
  return error(errc::invalid_configuration, field + ": " + what);
}

fault at_least(const std::string& field, std::int64_t least, std::int64_t value) {
  if (value >= least) return {};
  if (least == 0) return wrong(field, "must not be negative, is " + number(value));
  return wrong(field, "must be at least " + number(least) + ", is " + number(value));
}

fault between(const std::string& field, std::int64_t least, std::int64_t most, std::int64_t value) {
  if (value >= least && value <= most) return {};
  return wrong(field, "must be " + number(least) + " to " + number(most) + ", is " + number(value));
}

fault at_most(const std::string& field, std::size_t most, std::size_t value) {
  if (value <= most) return {};
  return wrong(field, "must be at most " + std::to_string(most) + ", is " + std::to_string(value));
}

fault not_negative(const std::string& field, duration value) {
  if (value >= duration::zero()) return {};
  return wrong(field, "must not be negative, is " + std::to_string(value.count()) + " ns");
}

fault above_zero(const std::string& field, duration value) {
  if (value > duration::zero()) return {};
  return wrong(field, "must be above zero, is " + std::to_string(value.count()) + " ns");
}

// Each comparison of a fraction is written so that no number (NaN) fails it.
fault within(const std::string& field, bool so, const char* range, double value) {
  if (so) return {};
  return wrong(field, std::string("must be ") + range + ", is " + number(value));
}

fault factor(const std::string& field, double value) {
  return within(field, value > 0 && value < 1, "above 0 and below 1", value);
}

/// The first that is wrong. All are looked at, which costs nothing that matters.
fault first(std::initializer_list<fault> all) {
  const auto found = std::find_if(all.begin(), all.end(), [](const fault& each) { return each.has_value(); });
  return found == all.end() ? fault() : *found;
}

/// The two axes of a capacity, so that each rule is written once.
struct axis {
  const char* name;
  std::int64_t capacity::*member;
};
constexpr axis axes[] = {{"slots", &capacity::slots}, {"tokens", &capacity::tokens}};

fault check_name(const std::string& field, const std::string& name) {
  constexpr std::size_t longest = 64;
  if (name.empty()) return wrong(field, "must not be empty");
  if (name.size() > longest) {
    return wrong(field,
                 std::to_string(name.size()) + " bytes long, at most " + std::to_string(longest) + " are allowed");
  }
  // It stands in messages of one line, and in metrics.
  const auto unprintable = [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; };
  if (std::any_of(name.begin(), name.end(), unprintable)) return wrong(field, "must not hold control characters");
  return {};
}

/// Names of a list: each for itself, and unique.
template <typename Named>
fault check_names(const std::string& list, const std::vector<Named>& all) {
  const auto field = [&list](std::size_t place) { return list + '[' + std::to_string(place) + "].name"; };
  std::vector<std::size_t> sorted;
  for (std::size_t place = 0; place < all.size(); ++place) {
    if (fault bad = check_name(field(place), all[place].name)) return bad;
    sorted.push_back(place);
  }
  std::sort(sorted.begin(), sorted.end(), [&all](std::size_t a, std::size_t b) {
    return all[a].name != all[b].name ? all[a].name < all[b].name : a < b;
  });
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(),
                                        [&all](std::size_t a, std::size_t b) { return all[a].name == all[b].name; });
  if (twice == sorted.end()) return {};
  return wrong(field(twice[1]), "'" + all[*twice].name + "' is the name of " + list + '[' + std::to_string(*twice) +
                                    "] already; names must be unique");
}

fault check_table(const policy& checked) {
  if (checked.classes.size() > max_workloads) {
    return wrong("classes", std::to_string(checked.classes.size()) + " classes, at most " +
                                std::to_string(max_workloads) + " are allowed");
  }
  if (checked.classes.size() < 2 || checked.classes[0].name != "interactive" || checked.classes[1].name != "batch") {
    return wrong("classes", "the first two must be interactive and batch");
  }
  return check_names("classes", checked.classes);
}

fault check_total(const capacity& total) {
  for (const auto& [name, member] : axes) {
    if (fault bad = at_least(std::string("capacity.") + name, 0, total.*member)) return bad;
  }
  // Zero is closed for now, and as it should be.
  if (total.tokens == 0 || total.slots == unlimited || total.tokens >= total.slots) return {};
  return wrong("capacity.tokens", number(total.tokens) + " do not fund " + number(total.slots) +
                                      " slots; raise it or lower capacity.slots");
}

fault check_floor(const capacity& total, const class_policy& checked, const std::string& field) {
  for (const auto& [name, member] : axes) {
    const std::int64_t floor = checked.floor.*member;
    const std::int64_t ceiling = checked.ceiling.*member;
    const std::string floor_field = field + ".floor." + name;
    if (fault bad = at_least(floor_field, 0, floor)) return bad;
    if (fault bad = at_least(field + ".ceiling." + name, 0, ceiling)) return bad;
    if (floor > ceiling) {
      return wrong(floor_field, number(floor) + " is above the class's ceiling of " + number(ceiling) +
                                    "; lower the floor or raise " + field + ".ceiling." + name);
    }
    if (floor > total.*member) {
      return wrong(floor_field, number(floor) + " is above the pool's " + number(total.*member) +
                                    "; lower the floor or raise capacity." + name);
    }
  }
  // On an axis without a limit, and in a pool that is closed, a floor needs nothing.
  const auto scarce = [](std::int64_t all) { return all != 0 && all != unlimited; };
  if (checked.floor.slots > 0 && checked.floor.tokens == 0 && scarce(total.tokens)) {
    return wrong(field + ".floor.tokens", "0 tokens beside " + number(checked.floor.slots) +
                                              " slots fund no request; raise it or lower " + field +
                                              ".floor.slots to 0");
  }
  if (checked.floor.tokens > 0 && checked.floor.slots == 0 && scarce(total.slots)) {
    return wrong(field + ".floor.slots", "0 slots beside " + number(checked.floor.tokens) +
                                             " tokens fund no request; raise it or lower " + field +
                                             ".floor.tokens to 0");
  }
  return {};
}

fault check_largest_request(const capacity& total, const class_policy& checked, const std::string& field) {
  const std::int64_t largest = checked.largest_request;
  if (fault bad = at_least(field + ".largest_request", 0, largest)) return bad;
  const auto funds_none = [&](const std::string& what, std::int64_t tokens) {
    return wrong(what, number(tokens) + " do not fund one request of " + number(largest) + "; raise it or lower " +
                           field + ".largest_request");
  };
  if (checked.floor.tokens > 0 && checked.floor.tokens < largest) {
    return funds_none(field + ".floor.tokens", checked.floor.tokens);
  }
  if (checked.ceiling.slots > 0 && checked.ceiling.tokens < largest) {
    return funds_none(field + ".ceiling.tokens", checked.ceiling.tokens);
  }
  if (total.tokens > 0 && total.tokens < largest) return funds_none("capacity.tokens", total.tokens);
  return {};
}

fault check_class(const policy& rules, const class_policy& checked) {
  const std::string field = "classes." + checked.name;
  const elastic_policy& elastic = checked.elastic;
  return first(
      {check_floor(rules.total, checked, field), check_largest_request(rules.total, checked, field),
       not_negative(field + ".restore_within", checked.restore_within),
       not_negative(field + ".start_within", checked.start_within),
       at_least(field + ".elastic.minimum", 1, elastic.minimum), factor(field + ".elastic.backoff", elastic.backoff),
       above_zero(field + ".elastic.target", elastic.target), above_zero(field + ".elastic.window", elastic.window),
       not_negative(field + ".elastic.pause", elastic.pause)});
}

fault check_sum_of_floors(const policy& checked) {
  for (const auto& [name, member] : axes) {
    std::int64_t left = checked.total.*member;
    std::string floors;
    for (const auto& each : checked.classes) {
      floors += (floors.empty() ? "" : " + ") + number(each.floor.*member);
      left -= each.floor.*member;
      if (left < 0) {
        return wrong("classes." + each.name + ".floor." + name, "the floors " + floors + " are more than the pool's " +
                                                                    number(checked.total.*member) +
                                                                    "; lower a floor or raise capacity." + name);
      }
    }
  }
  return {};
}

fault check_rates(const std::string& field, const rate_limits& rates) {
  const auto one = [&field](const char* name, const rate& checked) {
    const std::string axis_field = field + (field.empty() ? "rates." : ".rates.") + name;
    return first({at_least(axis_field + ".per_minute", 1, checked.per_minute),
                  at_least(axis_field + ".burst", 0, checked.burst)});
  };
  return first({one("requests", rates.requests), one("input_tokens", rates.input_tokens),
                one("output_tokens", rates.output_tokens)});
}

fault check_tenant(const std::string& field, const tenant_policy& checked) {
  constexpr std::int64_t heaviest = 1'000;
  return first({between(field + ".weight", 1, heaviest, checked.weight), check_rates(field, checked.rates)});
}

fault check_tenants(const policy& checked) {
  if (fault bad = check_names("tenants", checked.tenants)) return bad;
  for (const tenant_policy& each : checked.tenants) {
    if (fault bad = check_tenant("tenants." + each.name, each)) return bad;
  }
  constexpr std::int64_t most = 1'000'000;
  const auto known = static_cast<std::int64_t>(std::min<std::size_t>(checked.max_tenants, unlimited));
  return first({check_tenant("other_tenants", checked.other_tenants), between("max_tenants", 1, most, known)});
}

fault check_prices(const policy& checked) {
  if (fault bad = check_names("prices", checked.prices)) return bad;
  for (const model_price& each : checked.prices) {
    const std::string field = "prices." + each.name;
    if (fault bad = first({at_least(field + ".input_per_million", 0, each.input_per_million),
                           at_least(field + ".output_per_million", 0, each.output_per_million)})) {
      return bad;
    }
  }
  return {};
}

fault check_queueing(const policy& checked) {
  const feasibility_policy& feasibility = checked.feasibility;
  const overload_policy& overload = checked.overload;
  if (fault bad = first(
          {at_least("bypass.passes", 0, checked.bypass.passes),
           not_negative("bypass.patience", checked.bypass.patience),
           within("feasibility.service_share", feasibility.service_share >= 0 && feasibility.service_share <= 1,
                  "0 to 1", feasibility.service_share),
           within("feasibility.wait_share", feasibility.wait_share > 0 && feasibility.wait_share <= 1,
                  "above 0 and at most 1", feasibility.wait_share),
           within("feasibility.run_share", feasibility.run_share >= 0 && feasibility.run_share <= 1, "0 to 1",
                  feasibility.run_share),
           within("overload.enter", overload.enter > 0 && overload.enter <= 1, "above 0 and at most 1", overload.enter),
           within("overload.leave", overload.leave >= 0 && overload.leave <= 1, "0 to 1", overload.leave),
           above_zero("overload.window", overload.window), not_negative("overload.age_cap", overload.age_cap)})) {
    return bad;
  }
  if (overload.leave < overload.enter) return {};
  return wrong("overload.leave", number(overload.leave) + " is not below overload.enter, which is " +
                                     number(overload.enter) + "; lower it or raise overload.enter");
}

fault check_adaptive(const adaptive_policy& checked) {
  if (fault bad = first({at_least("adaptive.minimum", 1, checked.minimum),
                         at_least("adaptive.initial", 0, checked.initial), factor("adaptive.backoff", checked.backoff),
                         within("adaptive.tolerance", checked.tolerance == 0 || checked.tolerance > 1, "0, or above 1",
                                checked.tolerance),
                         above_zero("adaptive.window", checked.window)})) {
    return bad;
  }
  if (checked.initial == 0 || checked.initial >= checked.minimum) return {};
  return wrong("adaptive.initial", number(checked.initial) + " is below adaptive.minimum, which is " +
                                       number(checked.minimum) + "; raise it, or lower adaptive.minimum");
}

fault check_retries(const retry_budget& checked) {
  return first({within("retries.share", checked.share >= 0 && checked.share <= 1, "0 to 1", checked.share),
                at_least("retries.minimum", 0, checked.minimum), above_zero("retries.window", checked.window)});
}

fault check_reopening(const reopening_policy& checked) {
  if (fault bad = first({within("reopening.share", checked.share >= 0 && checked.share <= 1, "0 to 1", checked.share),
                         not_negative("reopening.least", checked.least), not_negative("reopening.most", checked.most),
                         not_negative("reopening.step", checked.step)})) {
    return bad;
  }
  if (checked.least <= checked.most) return {};
  return wrong("reopening.least", std::to_string(checked.least.count()) + " ns is above reopening.most, which is " +
                                      std::to_string(checked.most.count()) + " ns; lower it, or raise reopening.most");
}

fault check_all(const policy& checked) {
  constexpr int most_preemptions = 255;
  constexpr std::size_t most_records = std::size_t{1} << 20;
  if (fault bad = check_total(checked.total)) return bad;
  if (fault bad = check_table(checked)) return bad;
  for (const class_policy& each : checked.classes) {
    if (fault bad = check_class(checked, each)) return bad;
  }
  if (fault bad = check_sum_of_floors(checked)) return bad;
  return first({between("max_preemptions", 0, most_preemptions, checked.max_preemptions),
                check_rates("", checked.rates), check_tenants(checked), check_queueing(checked),
                check_adaptive(checked.adaptive), check_retries(checked.retries), check_reopening(checked.reopening),
                check_prices(checked), at_most("explain_records", most_records, checked.explain_records)});
}

}  // namespace

expected<void, error> validate(const policy& checked) {
  if (fault bad = check_all(checked)) return unexpected<error>(std::move(*bad));
  return {};
}

}  // namespace sluice
