#include "agent/loop/repeated_calls.hpp"

#include <sluice/core/key.hpp>

#include <algorithm>

namespace sluice::agent::detail {

std::uint32_t repeated_calls::count(const llm::tool_call& call) {
  constexpr std::uint64_t spread = 0x9E3779B97F4A7C15U;
  constexpr std::uint64_t most = 0xFFFF;
  const std::uint64_t hash = (key_of(call.name) * spread ^ key_of(call.arguments)) & ~most;
  auto at = std::lower_bound(seen_.begin(), seen_.end(), hash);
  if (at == seen_.end() || (*at & ~most) != hash) at = seen_.insert(at, hash);
  if ((*at & most) != most) ++*at;
  return static_cast<std::uint32_t>(*at & most);
}

}  // namespace sluice::agent::detail
