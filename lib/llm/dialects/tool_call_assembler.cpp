#include "llm/dialects/tool_call_assembler.hpp"

#include "llm/dialects/call_ids.hpp"
#include "llm/dialects/json_text.hpp"

#include <algorithm>
#include <string>
#include <utility>

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
    if (why == finish_reason::length)
      return refuse("the arguments are missing: the answer was cut off by its token limit");
    call.arguments = "{}";
  }
  if (!is_name(call.name)) {
    return refuse(call.name.empty() ? "the call names no tool"
                                    : "the tool's name must be 1 to 128 letters, digits, '_', '-', '.', ':' or '/'");
  }
  switch (judge_json(call.arguments)) {
    case json_kind::object: return;
    case json_kind::other: return refuse("the arguments are not a JSON object");
    case json_kind::too_deep:
      return refuse("the arguments are nested deeper than " + std::to_string(most_json_depth) + " levels");
    case json_kind::none: break;
  }
  refuse(why == finish_reason::length ? "the arguments were cut off by the answer's token limit"
                                      : "the arguments are not valid JSON");
}

}  // namespace

std::size_t tool_call_assembler::add_call(const tool_call_fragment& part) {
  const std::size_t place = calls_.size();
  open_call& added = calls_.emplace_back();
  added.index = part.index;
  added.order = part.index.value_or(static_cast<std::int64_t>(place));
  if (part.index) by_index_[*part.index] = place;
  return place;
}

std::size_t tool_call_assembler::find(const tool_call_fragment& part) {
  if (!part.index) return find_without_index(part);
  const auto found = by_index_.find(*part.index);
  if (found == by_index_.end()) return add_call(part);
  // An index that has been used again means the new call.
  const open_call& call = calls_[found->second];
  const bool reused = !part.id.empty() && !call.id.empty() && part.id != call.id && !part.name.empty();
  return reused ? add_call(part) : found->second;
}

std::size_t tool_call_assembler::find_without_index(const tool_call_fragment& part) {
  if (calls_.empty()) return add_call(part);
  const open_call& last = calls_[last_];
  if (!part.id.empty()) {
    // Within one delta each entry is a call of its own, though the model named two of them alike.
    const auto found = by_id_.find(std::string(part.id));
    if (found != by_id_.end() && (first_of_delta_ || part.name.empty())) return found->second;
    const bool completes_last = last.id.empty() && (part.name.empty() || last.name.empty());
    return completes_last ? last_ : add_call(part);
  }
  if (part.name.empty() || last.name.empty()) return last_;
  const bool repeats_name = first_of_delta_ && part.name == last.name && !last.whole && !part.whole;
  return repeats_name ? last_ : add_call(part);
}

void tool_call_assembler::add(const tool_call_fragment& part) {
  last_ = find(part);
  open_call& call = calls_[last_];
  first_of_delta_ = false;
  // Some servers repeat id and name with every fragment; the first ones hold.
  if (call.id.empty() && !part.id.empty()) {
    call.id = part.id;
    by_id_[call.id] = last_;
  }
  if (call.name.empty()) call.name = part.name;
  if (part.whole) {
    call.arguments.clear();
    call.seam = {};
    call.whole = true;
  }
  call.seam.append(call.arguments, part.arguments);
}

std::vector<tool_call> tool_call_assembler::finish(finish_reason why) {
  std::stable_sort(calls_.begin(), calls_.end(),
                   [](const open_call& a, const open_call& b) { return a.order < b.order; });
  call_ids ids;
  for (const open_call& call : calls_) ids.take(call.id);
  std::vector<tool_call> whole;
  whole.reserve(calls_.size());
  for (open_call& open : calls_) {
    open.seam.end(open.arguments);
    tool_call call(ids.unique(std::move(open.id), whole.size() + 1), std::move(open.name), std::move(open.arguments));
    check(call, why);
    whole.push_back(std::move(call));
  }
  calls_.clear();
  by_index_.clear();
  by_id_.clear();
  last_ = 0;
  return whole;
}

}  // namespace sluice::llm
