#include <sluice/core/run.hpp>

#include "core/grouped.hpp"

namespace sluice {
namespace {

std::string counted(std::int64_t number, budget_axis axis) {
  const char* const plural = number == 1 ? "" : "s";
  switch (axis) {
    case budget_axis::tokens: return grouped(number) + " token" + plural;
    case budget_axis::calls: return grouped(number) + " call" + plural;
    case budget_axis::tool_calls: return grouped(number) + " tool call" + plural;
    case budget_axis::money: break;
  }
  return grouped(number) + " unit" + plural + " of money";
}

}  // namespace

std::string_view to_string(budget_axis value) noexcept {
  switch (value) {
    case budget_axis::tokens: return "tokens";
    case budget_axis::calls: return "calls";
    case budget_axis::tool_calls: return "tool_calls";
    case budget_axis::money: return "money";
  }
  return "unknown";
}

errc charge_refusal::code() const noexcept {
  return why == cause::not_open || why == cause::negative ? errc::invalid_argument : errc::refused;
}

std::string charge_refusal::explain(std::string_view name) const {
  const std::string run(name);
  const std::string what(to_string(axis));
  if (why == cause::not_open) return run + " is not open, or a run above it is not; charge it before it is closed";
  if (why == cause::negative) return what + ": must not be negative, is " + std::to_string(asked);
  const std::string knob = "raise the run's limit." + what + " by " + grouped(shortfall) + " (extend_run)";
  const std::string has = run + " has " + grouped(available) + " of " + counted(limit, axis) + " left";
  if (why == cause::exhausted) return has + ", " + grouped(asked) + " asked; " + knob + " or ask for less";
  return has + " beside what is set aside by work under way, " + grouped(asked) +
         " asked; charge it when some of that has ended, or " + knob;
}

error charge_refusal::to_error() const {
  return {code(), explain("run " + std::to_string(who.index) + "." + std::to_string(who.generation))};
}

}  // namespace sluice
