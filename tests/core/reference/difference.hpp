/// \file
/// What is different between the accounts of the machine and those of the model.
#pragma once

#include "core/reference/model.hpp"

#include <sluice/core/admission.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

namespace sluice::core::testing {

/// The balances of all runs.
inline std::optional<std::string> difference_of_runs(const admission& machine, const reference_model& model) {
  for (std::size_t run = 0; run < model.runs.all.size(); ++run) {
    const plain_run& own = model.runs.all[run];
    const auto told = machine.balance(own.id);
    if (told.has_value() != (own.open || own.held))
      return "whether run " + std::to_string(own.id.index) + " is open or held differs";
    if (!told) continue;
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
      wide least = unlimited;
      for (const std::size_t payer : model.runs.payers(run)) {
        const plain_run& each = model.runs.all[payer];
        if (each.limit[axis] == unlimited) continue;
        least = std::min(least, each.limit[axis] - each.finalise[axis] - model.runs.spent(payer, axis) -
                                    model.runs.reserved(payer, axis));
      }
      if (amounts_of(told->limit)[axis] != own.limit[axis] ||
          amounts_of(told->spent)[axis] != model.runs.spent(run, axis) ||
          amounts_of(told->reserved)[axis] != model.runs.reserved(run, axis) ||
          amounts_of(told->remaining)[axis] != std::max<wide>(0, least))
        return "the balance of run " + std::to_string(own.id.index) + " differs on axis " + std::to_string(axis);
    }
    if (told->crossed != (own.told == 0 ? 0 : budget::thresholds[own.told - 1]))
      return "what run " + std::to_string(own.id.index) + " has crossed differs";
  }
  return std::nullopt;
}

/// All counts.
inline std::optional<std::string> difference_of_statistics(const sluice::statistics& a, const sluice::statistics& b) {
  constexpr const char* names[] = {"in_flight", "waiting",    "admitted",     "admitted_after_wait",
                                   "rejected",  "expired",    "shed",         "cancelled",
                                   "preempted", "infeasible", "unaffordable", "retries",
                                   "observed",  "reserved",   "consumed",     "refunded",
                                   "overrun",   "wasted"};
  std::ostringstream text;
  const auto say = [&text](const std::string& name, std::int64_t has, std::int64_t should) {
    if (has != should) text << name << ' ' << has << " should be " << should << "; ";
  };
  for (std::size_t c = 0; c < a.class_count; ++c) {
    const class_statistics& x = a.classes[c];
    const class_statistics& y = b.classes[c];
    const std::string of = " of class " + std::to_string(c);
    for (std::size_t i = 0; i < reference_model::members.size(); ++i)
      say(names[i] + of, x.*reference_model::members[i], y.*reference_model::members[i]);
    say("held.slots" + of, x.held.slots, y.held.slots);
    say("held.tokens" + of, x.held.tokens, y.held.tokens);
    say("queued.slots" + of, x.queued.slots, y.queued.slots);
    say("queued.tokens" + of, x.queued.tokens, y.queued.tokens);
    say("elastic limit" + of, x.elastic_limit, y.elastic_limit);
    say("overloaded" + of, x.overloaded, y.overloaded);
    if (text.str().empty() && x != y) text << "something" << of;
  }
  for (std::size_t kind = 0; kind < attempt_count; ++kind)
    say("attempts " + std::to_string(kind), a.attempts_total[kind], b.attempts_total[kind]);
  say("adaptive limit", a.adaptive_limit, b.adaptive_limit);
  say("adaptive reason", static_cast<std::int64_t>(a.adaptive_reason), static_cast<std::int64_t>(b.adaptive_reason));
  say("tenants", static_cast<std::int64_t>(a.tenants), static_cast<std::int64_t>(b.tenants));
  say("runs", static_cast<std::int64_t>(a.runs), static_cast<std::int64_t>(b.runs));
  if (text.str().empty() && (a.all != b.all || a.revision != b.revision || a.total != b.total)) text << "the sum";
  return text.str().empty() ? std::optional<std::string>{} : text.str();
}

}  // namespace sluice::core::testing
