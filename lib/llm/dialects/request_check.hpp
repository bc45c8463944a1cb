/// \file
/// `request_check`: the first thing in a request that does not hold. What the encoders of all dialects have in common.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/llm/dialect.hpp>
#include <sluice/llm/request.hpp>

#include "llm/dialects/json_text.hpp"

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::llm {

/// Notes are kept until the body has been written; only the first counts.
class request_check {
 public:
  /// Checks what is the same in every dialect.
  request_check(const request& asked, dialect spoken);

  [[nodiscard]] bool holds() const noexcept { return !wrong_; }
  /// Precondition: something does not hold.
  [[nodiscard]] error why() const { return *wrong_; }

  /// Whether there is anything for the model to call, also in a field of the caller's own.
  [[nodiscard]] bool offers_tools() const { return !asked_.tools.empty() || has_tools_of_its_own(); }

  void refuse(const std::string& what);
  /// `field` is there, and the dialect has nothing of the kind.
  void cannot_express(const std::string& field, const std::string& advice);

  /// The JSON object in `text`; an empty one, and a note, when it is none.
  [[nodiscard]] json_value object(std::string_view text, const std::string& field);
  /// The parameters of a tool, and the schema of the format.
  [[nodiscard]] json_value parameters(const tool& offered);
  [[nodiscard]] json_value schema();
  /// What a part of the dialect's own says.
  [[nodiscard]] json_value native(const content_part& part, const std::string& field);
  /// An assistant's blocks, in order.
  [[nodiscard]] json_value opaque(const message& said, std::size_t at);

  /// Writes the caller's own fields over `out`; those in `ours` are not to be replaced.
  void add_extras(json_value& out, std::initializer_list<std::string_view> ours);

 private:
  void check_message(const message& said, std::size_t at);
  void check_tools();
  [[nodiscard]] bool has_tools_of_its_own() const;

  const request& asked_;
  dialect spoken_;
  std::optional<error> wrong_;
};

/// `messages[2]`.
[[nodiscard]] std::string message_name(std::size_t at);
/// `messages[2].parts[0]`.
[[nodiscard]] std::string part_name(std::size_t at, std::size_t part);

/// `data:image/png;base64,...`.
[[nodiscard]] std::string data_url(const content_part& part);

/// How a call is named when it is handed back: one that was not valid may have a name that servers refuse.
[[nodiscard]] std::string sent_name(const tool_call& call);

/// `{}` for a call that was not valid, or had none.
[[nodiscard]] std::string_view sent_arguments(const tool_call& call) noexcept;

/// A tool's result where the dialect has no field for its going wrong: then the words begin with `Error: `.
[[nodiscard]] std::string told_result(const message& result);

}  // namespace sluice::llm
