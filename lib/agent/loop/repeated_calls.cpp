#include "agent/loop/repeated_calls.hpp"

#include <sluice/core/key.hpp>

#include <algorithm>

namespace sluice::agent::detail {

std::uint32_t repeated_calls::count(const llm::tool_call& call) {
  constexpr std::uint64_t spread = 0x9E3779B97F4A7C15U;
  const std::uint64_t hash = key_of(call.name) * spread ^ key_of(call.arguments);
  auto at = std::lower_bound(seen_.begin(), seen_.end(), hash,
                             [](const auto& each, std::uint64_t wanted) { return each.first < wanted; });
  if (at == seen_.end() || at->first != hash) at = seen_.insert(at, {hash, 0});
  return ++at->second;
}

}  // namespace sluice::agent::detail
