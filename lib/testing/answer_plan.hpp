/// \file
/// `answer_plan`: a scripted reply cut into the tokens that the mock provider will produce.
#pragma once

#include <sluice/testing/mock_reply.hpp>
#include <sluice/testing/mock_request.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::testing {

/// One token of output.
struct answer_piece {
  /// What it belongs to.
  enum class kind {
    /// The reasoning.
    reasoning,
    /// The text.
    text,
    /// The refusal.
    refusal,
    /// The beginning of a tool call; the piece has no text of its own.
    call,
    /// A fragment of a tool call's arguments.
    arguments,
  };
  kind what = kind::text;
  /// Which call, of the last two kinds.
  std::size_t call = 0;
  std::string text;
};

struct answer_plan {
  std::vector<answer_piece> pieces;
  /// With their ids filled in.
  std::vector<mock_tool_call> calls;
  /// A name that each dialect says in its own way, or one that is sent as it is.
  std::string finish_reason;

  /// Of the first `count` pieces, how many are of that kind; and their texts joined.
  [[nodiscard]] std::size_t count_of(answer_piece::kind what, std::size_t count) const;
  [[nodiscard]] std::string joined(answer_piece::kind what, std::size_t count, std::size_t call = 0) const;
  /// Pieces `[from, to)`, where neighbours that belong together are one.
  [[nodiscard]] std::vector<answer_piece> merged(std::size_t from, std::size_t to) const;
};

/// Cuts `reply` into tokens and to the limit that `request` sets.
[[nodiscard]] answer_plan plan_answer(const mock_reply& reply, const mock_request& request);

}  // namespace sluice::testing
