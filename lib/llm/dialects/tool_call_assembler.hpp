/// \file
/// `tool_call_assembler`: whole tool calls out of the fragments in which servers send them.
#pragma once

#include <sluice/llm/reply.hpp>
#include <sluice/llm/tool_call.hpp>

#include "llm/dialects/surrogate_seam.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::llm {

/// One fragment as it came. Views and numbers alone.
struct tool_call_fragment {
  std::optional<std::int64_t> index{};
  std::string_view id{};
  std::string_view name{};
  std::string_view arguments{};
  /// The arguments came as JSON, not as text: they are whole.
  bool whole = false;
};

/// Which call a fragment belongs to: the one of its index, unless it brings another id and a name, for then the index
/// has been used again; without an index the one of its id, else the last one, unless it brings what a new call must
/// have. No call is taken for complete before `finish`: that its JSON parses proves nothing. Complexity: linear in what
/// is added.
class tool_call_assembler {
 public:
  /// Fragments that follow come from another delta.
  void begin_delta() noexcept { first_of_delta_ = true; }
  void add(const tool_call_fragment& part);

  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }

  /// All calls, in index order, each checked and with an id of its own.
  [[nodiscard]] std::vector<tool_call> finish(finish_reason why);

 private:
  class open_call {
   public:
    open_call() = default;
    std::int64_t order = 0;
    std::optional<std::int64_t> index;
    std::string id;
    std::string name;
    std::string arguments;
    surrogate_seam seam;
    bool whole = false;
  };

  std::size_t find(const tool_call_fragment& part);
  std::size_t find_without_index(const tool_call_fragment& part);
  std::size_t add_call(const tool_call_fragment& part);

  std::vector<open_call> calls_;
  /// The latest call of each index, and of each id.
  std::unordered_map<std::int64_t, std::size_t> by_index_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::size_t last_ = 0;
  bool first_of_delta_ = true;
};

}  // namespace sluice::llm
