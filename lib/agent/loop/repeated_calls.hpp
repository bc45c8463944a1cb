/// \file
/// `repeated_calls`: how often one loop has made the same call.
#pragma once

#include <sluice/llm/tool_call.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

/// Counts calls of the same name with the same arguments, as text. It keeps a hash of 64 bits of each, and no text: two
/// that share one by chance would be taken for the same call.
class repeated_calls {
 public:
  /// Counts this one, and gives how often it has been made. O(log n), and O(n) to add one that is new.
  [[nodiscard]] std::uint32_t count(const llm::tool_call& call);

 private:
  /// Hashes in order.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> seen_;
};

}  // namespace sluice::agent::detail
