/// \file
/// `call_ids`: ids of tool calls, each used once.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace sluice::llm {

/// Linear in the ids that are there, and those that are made.
class call_ids {
 public:
  /// An id that is there, which none that is made up may be.
  void take(const std::string& id) { taken_.insert(id); }

  /// `id`, when it is not empty and is asked for the first time; else one made of it, with a number from `place` on.
  [[nodiscard]] std::string unique(std::string id, std::size_t place);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::size_t> next_;
};

}  // namespace sluice::llm
