#include <sluice/core/policy.hpp>

#include <chrono>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace sluice {

policy::policy(capacity pool) : total(pool) {
  classes.reserve(max_workloads);  // `front` stays valid when `back` is added
  class_policy& front = classes.emplace_back("interactive");
  front.priority = 100;
  front.floor = {pool.slots - pool.slots / 4, pool.tokens - pool.tokens / 4};
  front.start_within = std::chrono::milliseconds(3'500);
  class_policy& back = classes.emplace_back("batch");
  back.preemptible = true;
  back.elastic.enabled = true;
  back.elastic.pause = std::chrono::seconds(60);
  if (pool.slots <= 1) return;
  // A floor with one of the two and none of the other would protect nothing.
  const auto at_least_one = [](std::int64_t all) { return all > 1 ? std::max<std::int64_t>(1, all / 8) : 0; };
  back.floor = {at_least_one(pool.slots), at_least_one(pool.tokens)};
  front.floor.slots = std::min(front.floor.slots, pool.slots - back.floor.slots);
  front.floor.tokens = std::min(front.floor.tokens, pool.tokens - back.floor.tokens);
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

}  // namespace sluice
