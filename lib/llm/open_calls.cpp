#include "llm/open_calls.hpp"

#include <functional>
#include <string_view>

namespace sluice::llm::detail {

namespace {

std::size_t hash_of(std::string_view id, const tool_call& call) noexcept {
  const std::hash<std::string_view> hash;
  std::size_t all = hash(id);
  for (const std::string* part : {&call.name, &call.arguments}) all = all * 0x9E37'79B9'7F4A'7C15 + hash(*part);
  return all;
}

bool alike(const tool_call& left, const tool_call& right) noexcept {
  return left.name == right.name && left.arguments == right.arguments;
}

}  // namespace

std::size_t open_calls::add(std::vector<tool_call>& made) {
  ++replies_;
  for (const tool_call& call : made) ids_.take(call.id);
  for (std::size_t nth = 0; nth < made.size(); ++nth) {
    tool_call& call = made[nth];
    waiting_call waiting(call, ids_.unique(call.id, nth));
    call.id = waiting.id;
    const place where(replies_, nth);
    looks_.insert(look_of(hash_of(waiting.call.id, waiting.call), where));
    looks_.insert(look_of(hash_of(waiting.id, waiting.call), where));
    calls_.emplace(where, std::move(waiting));
  }
  return replies_;
}

std::optional<std::pair<std::size_t, std::string>> open_calls::take(const tool_call& answered) {
  const std::size_t hash = hash_of(answered.id, answered);
  for (auto at = looks_.lower_bound(look{hash, 0, 0}); at != looks_.end() && std::get<0>(*at) == hash; ++at) {
    const place where(std::numeric_limits<std::size_t>::max() - std::get<1>(*at), std::get<2>(*at));
    const auto found = calls_.find(where);
    const waiting_call& one = found->second;
    if ((one.call.id != answered.id && one.id != answered.id) || !alike(one.call, answered)) continue;
    std::pair<std::size_t, std::string> taken(where.first, one.id);
    forget_looks(where, one);
    calls_.erase(found);
    return taken;
  }
  return std::nullopt;
}

void open_calls::forget_looks(const place& where, const waiting_call& one) {
  looks_.erase(look_of(hash_of(one.call.id, one.call), where));
  looks_.erase(look_of(hash_of(one.id, one.call), where));
}

void open_calls::forget(std::size_t reply) {
  auto at = calls_.lower_bound(place(reply, 0));
  while (at != calls_.end() && at->first.first == reply) {
    forget_looks(at->first, at->second);
    at = calls_.erase(at);
  }
}

void open_calls::keep_ids_of(const std::vector<message>& messages) {
  ids_ = {};
  for (const message& said : messages) {
    for (const tool_call& call : said.tool_calls) {
      ids_.take(call.id);
      static_cast<void>(ids_.unique(call.id, 0));
    }
  }
}

}  // namespace sluice::llm::detail
