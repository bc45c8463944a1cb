#include "llm/tool_call_assembler.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace sluice::llm {

namespace {

constexpr std::size_t most_name = 128;

bool is_blank(std::string_view text) noexcept { return text.find_first_not_of(" \t\r\n") == text.npos; }

bool is_name(std::string_view text) noexcept {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.:/").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= most_name && std::all_of(text.begin(), text.end(), allowed);
}

void check(tool_call& call, finish_reason why) {
  const auto refuse = [&call](std::string problem) {
    call.valid = false;
    call.problem = std::move(problem);
  };
  if (is_blank(call.arguments)) {
    if (why == finish_reason::length) return refuse("the arguments are missing: the answer was cut off by its token limit");
    call.arguments = "{}";
  }
  if (!is_name(call.name)) {
    return refuse(call.name.empty() ? "the call names no tool"
                                    : "the tool's name must be 1 to 128 letters, digits, '_', '-', '.', ':' or '/'");
  }
  const nlohmann::json parsed = nlohmann::json::parse(call.arguments, nullptr, false);
  if (parsed.is_object()) return;
  if (!parsed.is_discarded()) return refuse("the arguments are not a JSON object");
  if (why == finish_reason::length) return refuse("the arguments were cut off by the answer's token limit");
  refuse("the arguments are not valid JSON");
}

}  // namespace

tool_call_assembler::open_call& tool_call_assembler::add_call(const tool_call_fragment& part) {
  last_ = calls_.size();
  open_call& added = calls_.emplace_back();
  added.index = part.index;
  added.order = part.index.value_or(static_cast<std::int64_t>(last_));
  return added;
}

tool_call_assembler::open_call& tool_call_assembler::find(const tool_call_fragment& part) {
  const auto at = [this](std::size_t place) -> open_call& {
    last_ = place;
    return calls_[place];
  };
  if (part.index) {
    // The latest of that index: an index that has been used again means the new call.
    for (std::size_t i = calls_.size(); i-- > 0;) {
      open_call& call = calls_[i];
      if (call.index != part.index) continue;
      const bool reused = !part.id.empty() && !call.id.empty() && part.id != call.id && !part.name.empty();
      return reused ? add_call(part) : at(i);
    }
    return add_call(part);
  }
  if (calls_.empty()) return add_call(part);

  open_call& last = calls_[last_];
  if (!part.id.empty()) {
    for (std::size_t i = calls_.size(); i-- > 0;) {
      // Within one delta each entry is a call of its own, though the model named two of them alike.
      if (calls_[i].id == part.id && (first_of_delta_ || part.name.empty())) return at(i);
    }
    const bool completes_last = last.id.empty() && (part.name.empty() || last.name.empty());
    return completes_last ? last : add_call(part);
  }
  if (part.name.empty() || last.name.empty()) return last;
  const bool repeats_name = first_of_delta_ && part.name == last.name && !last.whole && !part.whole;
  return repeats_name ? last : add_call(part);
}

void tool_call_assembler::add(const tool_call_fragment& part) {
  open_call& call = find(part);
  first_of_delta_ = false;
  // Some servers repeat id and name with every fragment; the first ones hold.
  if (call.id.empty()) call.id = part.id;
  if (call.name.empty()) call.name = part.name;
  if (part.whole) {
    call.arguments = part.arguments;
    call.whole = true;
  } else {
    call.arguments += part.arguments;
  }
}

std::vector<tool_call> tool_call_assembler::finish(finish_reason why) {
  std::stable_sort(calls_.begin(), calls_.end(),
                   [](const open_call& a, const open_call& b) { return a.order < b.order; });
  std::set<std::string, std::less<>> taken;
  for (const open_call& call : calls_) taken.insert(call.id);
  std::set<std::string, std::less<>> used;
  std::vector<tool_call> whole;
  whole.reserve(calls_.size());
  for (open_call& open : calls_) {
    tool_call call(std::move(open.id), std::move(open.name), std::move(open.arguments));
    if (call.id.empty() || used.contains(call.id)) {
      const std::string stem = call.id.empty() ? "call" : call.id;
      for (std::size_t n = whole.size() + 1; call.id.empty() || taken.contains(call.id); ++n) {
        call.id = stem + '_' + std::to_string(n);
      }
      taken.insert(call.id);
    }
    used.insert(call.id);
    check(call, why);
    whole.push_back(std::move(call));
  }
  calls_.clear();
  last_ = 0;
  return whole;
}

}  // namespace sluice::llm
