/// \file
/// `open_calls`: the tool calls of a conversation that wait for their results, and the ids that are used up.
#pragma once

#include <sluice/llm/request.hpp>
#include <sluice/llm/tool_call.hpp>

#include "llm/dialects/call_ids.hpp"

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice::llm::detail {

/// A plain value. Everything about one call is O(log n) in the calls that wait, and linear in its own text.
class open_calls {
 public:
  /// The reply that made it, counted from 1, and its place there.
  using place = std::pair<std::size_t, std::size_t>;
  class waiting_call {
   public:
    waiting_call(tool_call as_given, std::string sent_as) : call(std::move(as_given)), id(std::move(sent_as)) {}
    tool_call call;
    /// What it is sent under.
    std::string id;
  };

  /// The calls of a reply wait from now on. Ids that were used before are replaced. Gives the reply's number.
  std::size_t add(std::vector<tool_call>& made);

  /// Its result has come: the call waits no more. Gives its reply and the id that it is sent under; nothing when no
  /// such call waits. Of calls that look the same the latest reply's come first, in their order.
  std::optional<std::pair<std::size_t, std::string>> take(const tool_call& answered);

  /// The calls of that reply wait no more.
  void forget(std::size_t reply);
  /// Of all ids, only those of these messages are used. Linear in their calls.
  void keep_ids_of(const std::vector<message>& messages);

  /// In order.
  [[nodiscard]] const std::map<place, waiting_call>& all() const noexcept { return calls_; }

 private:
  /// The hash of a look, the latest reply's first.
  using look = std::tuple<std::size_t, std::size_t, std::size_t>;
  static look look_of(std::size_t hash, const place& where) noexcept {
    return {hash, std::numeric_limits<std::size_t>::max() - where.first, where.second};
  }
  void forget_looks(const place& where, const waiting_call& one);

  std::map<place, waiting_call> calls_;
  std::set<look> looks_;
  call_ids ids_;
  std::size_t replies_ = 0;
};

}  // namespace sluice::llm::detail
