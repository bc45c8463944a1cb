/// \file
/// `wire_ids`: under which ids the tool calls of a conversation, and their results, are sent.
#pragma once

#include <sluice/llm/request.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::llm {

/// What may stand in an id.
enum class id_alphabet {
  /// Whatever the provider gave.
  any,
  /// Letters, digits, `_` and `-`.
  word,
};

/// Models use an id again in a later turn, or twice in one. On the wire each call of a conversation has an id of its
/// own, and each result that of its call: the results of one id answer the latest turn that made it, in the order of
/// its calls. A result whose call is not in the conversation keeps its id. Linear.
class wire_ids {
 public:
  wire_ids(const std::vector<message>& conversation, id_alphabet allowed);

  [[nodiscard]] const std::string& of_call(std::size_t message, std::size_t nth) const { return ids_[message][nth]; }
  [[nodiscard]] const std::string& of_result(std::size_t message) const { return ids_[message].front(); }

 private:
  std::vector<std::vector<std::string>> ids_;
};

}  // namespace sluice::llm
