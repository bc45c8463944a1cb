#include <sluice/core/policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice {
namespace {

std::string number(std::int64_t value) { return value == unlimited ? "unlimited" : std::to_string(value); }

unexpected<error> wrong(const std::string& field, const std::string& what) {
  return unexpected<error>(error(errc::invalid_configuration, field + ": " + what));
}

/// The two axes of a capacity, so that each rule is written once.
struct axis {
  const char* name;
  std::int64_t capacity::* member;
};
constexpr std::size_t longest_name = 64;
constexpr axis axes[] = {{"slots", &capacity::slots}, {"tokens", &capacity::tokens}};

expected<void, error> validate_class(const policy& rules, const class_policy& checked) {
  const std::string field = "classes." + checked.name;
  for (const auto& [name, member] : axes) {
    const std::int64_t floor = checked.floor.*member;
    const std::int64_t ceiling = checked.ceiling.*member;
    const std::string floor_field = field + ".floor." + name;
    if (floor < 0) return wrong(floor_field, "must not be negative, is " + number(floor));
    if (ceiling < 0) return wrong(field + ".ceiling." + name, "must not be negative, is " + number(ceiling));
    if (floor > ceiling) {
      return wrong(floor_field, number(floor) + " is above the class's ceiling of " + number(ceiling) + "; lower the floor or raise " +
                                    field + ".ceiling." + name);
    }
    if (floor > rules.total.*member) {
      return wrong(floor_field, number(floor) + " is above the pool's " + number(rules.total.*member) +
                                    "; lower the floor or raise capacity." + name);
    }
  }
  if (checked.restore_within < duration::zero()) {
    return wrong(field + ".restore_within", "must not be negative, is " +
                                                std::to_string(checked.restore_within.count()) + " ns");
  }
  return {};
}

expected<void, error> validate_names(const policy& checked) {
  if (checked.classes.size() > max_workloads) {
    return wrong("classes", std::to_string(checked.classes.size()) + " classes, at most " +
                                std::to_string(max_workloads) + " are allowed");
  }
  if (checked.classes.size() < 2 || checked.classes[0].name != "interactive" || checked.classes[1].name != "batch") {
    return wrong("classes", "the first two must be interactive and batch");
  }
  for (std::size_t c = 0; c < checked.classes.size(); ++c) {
    const std::string field = "classes[" + std::to_string(c) + "].name";
    const std::string& name = checked.classes[c].name;
    if (name.empty()) return wrong(field, "must not be empty");
    if (name.size() > longest_name) {
      return wrong(field, std::to_string(name.size()) + " bytes long, at most " + std::to_string(longest_name) + " are allowed");
    }
    // It stands in messages of one line, and in metrics.
    const auto unprintable = [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; };
    if (std::any_of(name.begin(), name.end(), unprintable)) return wrong(field, "must not hold control characters");
    for (std::size_t other = 0; other < c; ++other) {
      if (checked.classes[other].name == checked.classes[c].name) {
        return wrong(field, "'" + checked.classes[c].name + "' is the name of classes[" + std::to_string(other) +
                                "] already; names must be unique");
      }
    }
  }
  return {};
}

}  // namespace

policy::policy(capacity pool) : total(pool) {
  classes.reserve(max_workloads);  // `front` stays valid when `back` is added
  class_policy& front = classes.emplace_back("interactive");
  front.priority = 100;
  front.floor = {pool.slots - pool.slots / 4, pool.tokens - pool.tokens / 4};
  class_policy& back = classes.emplace_back("batch");
  back.preemptible = true;
  back.floor = {pool.slots / 8, pool.tokens / 8};
  if (pool.slots > 1 && back.floor.slots == 0) {
    back.floor.slots = 1;
    front.floor.slots = pool.slots - 1 < front.floor.slots ? pool.slots - 1 : front.floor.slots;
  }
}

workload policy::add_class(class_policy added) {
  if (classes.size() >= max_workloads) {
    throw error_exception(error(errc::invalid_configuration, "classes: '" + added.name + "' is one too many, at most " +
                                                                 std::to_string(max_workloads) + " are allowed"));
  }
  classes.push_back(std::move(added));
  return workload(static_cast<std::uint8_t>(classes.size() - 1));
}

expected<workload, error> policy::find(std::string_view name) const {
  std::string known;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].name == name) return workload(static_cast<std::uint8_t>(c));
    known += (c == 0 ? "" : ", ") + classes[c].name;
  }
  return unexpected<error>(
      error(errc::invalid_argument, "there is no class '" + std::string(name) + "'; the policy has " + known));
}

expected<void, error> validate(const policy& checked) {
  for (const auto& [name, member] : axes) {
    if (checked.total.*member < 0) {
      return wrong(std::string("capacity.") + name, "must not be negative, is " + number(checked.total.*member));
    }
  }
  if (auto names = validate_names(checked); !names) return names;
  for (const auto& each : checked.classes) {
    if (auto one = validate_class(checked, each); !one) return one;
  }
  for (const auto& [name, member] : axes) {
    std::int64_t left = checked.total.*member;
    std::string floors;
    for (const auto& each : checked.classes) {
      floors += (floors.empty() ? "" : " + ") + number(each.floor.*member);
      left -= each.floor.*member;
      if (left < 0) {
        return wrong("classes." + each.name + ".floor." + name,
                     "the floors " + floors + " are more than the pool's " + number(checked.total.*member) +
                         "; lower a floor or raise capacity." + name);
      }
    }
  }
  if (checked.max_preemptions < 0 || checked.max_preemptions > 255) {
    return wrong("max_preemptions", "must be 0 to 255, is " + std::to_string(checked.max_preemptions));
  }
  return {};
}

}  // namespace sluice
