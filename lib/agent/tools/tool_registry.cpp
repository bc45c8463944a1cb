#include "agent/tools/tool_registry.hpp"

#include "agent/runs/run_state.hpp"
#include "agent/tools/tool_words.hpp"
#include "core/grouped.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sluice::agent::detail {

namespace {

[[noreturn]] void refuse_tool(const std::string& name, const std::string& why) {
  throw error_exception(error(errc::invalid_configuration, "tool \"" + shown(name) + "\": " + why));
}

// What providers take for the name of a function.
void check_name(const std::string& name) {
  constexpr std::size_t longest = 64;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty()) refuse_tool(name, "its name is empty");
  if (const auto first = std::find_if_not(name.begin(), name.end(), fits); first != name.end()) {
    const auto rest = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
    const std::string character(first, std::find_if_not(first + 1, name.end(), rest));
    const bool is_control = static_cast<unsigned char>(*first) < 0x20 || *first == 0x7F;
    std::string said = "byte " + std::to_string(static_cast<unsigned char>(*first));
    if (!is_control) said = '"' + (*first == ' ' ? character : shown(character)) + '"';
    refuse_tool(name, "its name has " + said + " in it; letters (a to z), digits, _ and - are all it may have");
  }
  if (name.size() > longest) {
    refuse_tool(name, "its name has " + grouped(static_cast<std::int64_t>(name.size())) +
                          " characters; it is at most " + grouped(static_cast<std::int64_t>(longest)) + " long");
  }
}

void check_limits(const std::string& name, const tool_limits& limits) {
  const auto must = [&name](bool holds, const char* field, std::int64_t value, const char* rule) {
    if (!holds) refuse_tool(name, std::string(field) + " = " + grouped(value) + "; " + rule);
  };
  must(limits.concurrency >= 1, "concurrency", limits.concurrency, "it is at least 1");
  must(limits.timeout >= duration::zero(), "timeout", limits.timeout.count(), "it is not negative");
  must(limits.calls_per_run >= 0, "calls_per_run", limits.calls_per_run, "it is not negative");
  must(limits.money >= 0, "money", limits.money, "it is not negative");
  must(limits.max_arguments >= 2, "max_arguments", static_cast<std::int64_t>(limits.max_arguments), "it is at least 2");
  must(limits.max_result >= 1, "max_result", static_cast<std::int64_t>(limits.max_result), "it is at least 1");
}

}  // namespace

registered_tool::registered_tool(std::string tool_name, any_handler carries_out, tool_limits most,
                                 argument_schema rules)
    : name(std::move(tool_name)),
      run_name("tool:" + name),
      handler(std::move(carries_out)),
      limits(most),
      schema(std::move(rules)) {}

tool_places& registered_tool::places(bulkhead& gate) {
  std::call_once(made_, [&] { places_ = std::make_unique<tool_places>(name, gate, limits.concurrency); });
  return *places_;
}

void tool_registry::add(llm::tool offered, any_handler handler, tool_limits limits) {
  check_name(offered.name);
  if (find(offered.name) != nullptr) refuse_tool(offered.name, "there is one of that name already");
  if (std::visit([](const auto& each) { return !each; }, handler)) refuse_tool(offered.name, "it has no handler");
  check_limits(offered.name, limits);
  auto schema = argument_schema::compile(offered.parameters);
  if (!schema) refuse_tool(offered.name, "the schema of its arguments (parameters) " + schema.error().message());
  registered_.push_back(
      std::make_unique<registered_tool>(offered.name, std::move(handler), limits, *std::move(schema)));
  offered_.push_back(std::move(offered));
  by_name_.emplace(registered_.back()->name, registered_.back().get());
}

registered_tool* tool_registry::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::string tool_registry::unknown(const std::string& name) const {
  constexpr std::size_t most_listed = 50;
  std::string text = "no tool named \"" + shown(name) + "\"; ";
  if (offered_.empty()) return text + "there are none";
  text += "there are: ";
  for (std::size_t i = 0; i < offered_.size(); ++i) {
    if (i > 0) text += ", ";
    if (i == most_listed) return text + "...";
    text += offered_[i].name;
  }
  return text;
}

std::optional<tool_refusal> tool_registry::refuse(registered_tool* which, const llm::tool_call& call,
                                                  run_state& in) const {
  const auto invalid = [](std::string why) { return tool_refusal(tool_outcome::invalid, std::move(why)); };
  if (which == nullptr) return invalid(unknown(call.name));
  if (!call.valid) return invalid(call.problem.empty() ? "the call is not valid" : call.problem);
  if (call.arguments.size() > which->limits.max_arguments) {
    return invalid("the arguments are " + grouped(static_cast<std::int64_t>(call.arguments.size())) +
                   " bytes long; this tool takes at most " +
                   grouped(static_cast<std::int64_t>(which->limits.max_arguments)));
  }
  if (auto checked = which->schema.check(given_arguments(call)); !checked) return invalid(checked.error().message());
  const std::int64_t most = which->limits.calls_per_run;
  if (most == unlimited || in.count_use(which, most)) return std::nullopt;
  return tool_refusal(tool_outcome::refused, "tool \"" + which->name + "\" may be called " + grouped(most) +
                                                 " times in a run, and has been; go on without it");
}

}  // namespace sluice::agent::detail
