/// \file
/// `repeated_calls`: how often one loop has made the same call.
#pragma once

#include <sluice/llm/tool_call.hpp>

#include <cstdint>
#include <vector>

namespace sluice::agent::detail {

/// Counts calls of the same name with the same arguments, as text. It keeps a hash of 48 bits of each, and no text: two
/// of a thousand calls would be taken for one with a probability of about 2e-9.
class repeated_calls {
 public:
  /// Counts this one, and gives how often it has been made, up to 65,535. O(log n), and O(n) to add one that is new.
  [[nodiscard]] std::uint32_t count(const llm::tool_call& call);

 private:
  /// Hashes, and how often below them; in order.
  std::vector<std::uint64_t> seen_;
};

}  // namespace sluice::agent::detail
