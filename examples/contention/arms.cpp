#include "arms.hpp"

#include <sluice/config/policy_file.hpp>

#include <chrono>

namespace contention {

const std::vector<std::string>& arm_names() {
  static const std::vector<std::string> names{"alone", "nothing", "limit", "sluice"};
  return names;
}

sluice::policy sluice_policy() {
  using namespace std::chrono_literals;
  // The provider takes 32 at once, but is at its best long before: eight at once get almost three quarters of all the
  // throughput there is, and each one more makes the others slower.
  sluice::policy rules({.slots = 8, .tokens = 128'000});
  // Every slot is there for chats. What they leave idle is lent, and comes back within 20 ms when they want it.
  auto& chats = rules[sluice::interactive];
  chats.priority = 10;
  chats.floor = {.slots = 8, .tokens = 96'000};
  chats.ceiling = {sluice::unlimited, sluice::unlimited};
  chats.restore_within = 20ms;
  // Two at once at most: what runs beside a chat is felt by the chat.
  auto& agents = rules[sluice::batch];
  agents.priority = 0;
  agents.floor = {};
  agents.ceiling = {.slots = 2, .tokens = 32'000};
  agents.preemptible = true;
  return rules;
}

sluice::policy open_policy() {
  sluice::policy rules({sluice::unlimited, sluice::unlimited});
  for (auto& each : rules.classes) {
    each.floor = {};
    each.ceiling = {sluice::unlimited, sluice::unlimited};
    each.preemptible = false;
  }
  return rules;
}

sluice::policy plain_policy(std::int64_t slots) {
  auto rules = open_policy();
  rules.total = {slots, sluice::unlimited};
  return rules;
}

sluice::expected<std::vector<arm>, sluice::error> make_arms(const options& asked) {
  std::vector<arm> arms;
  for (const auto& name : asked.arms) {
    arm added(name, open_policy());
    if (name == "alone") added.with_batch = false;
    if (name == "limit") added.plain_limit = asked.limit;
    if (name == "sluice") {
      added.rules = sluice_policy();
      if (!asked.policy_file.empty()) {
        auto read = sluice::read_policy_file(asked.policy_file);
        if (!read) return sluice::unexpected<sluice::error>(std::move(read).error());
        if (read->total.slots == 0 || read->total.tokens == 0) {
          return sluice::unexpected<sluice::error>(sluice::error(
              sluice::errc::invalid_configuration,
              asked.policy_file + ": capacity: zero slots or tokens is closed, and nothing would ever run"));
        }
        added.rules = std::move(*read);
      }
    }
    arms.push_back(std::move(added));
  }
  return arms;
}

}  // namespace contention
