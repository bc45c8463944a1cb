/// \file
/// `error_words`: what a provider says of its error, taken out of whatever it is wrapped in; and what it means.
#pragma once

#include <sluice/core/error.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace sluice::llm {

class error_words {
 public:
  /// `{"error": {...}}`, `{"error": "text"}`, `{"message": ...}`, `{"detail": ...}`, `{"errors": [...]}`, `{"response":
  /// {"error": ...}}`, a list of any of them, a JSON string, or text. Of
  /// JSON that is cut off, what came before counts; nothing is read beyond 16 KiB.
  [[nodiscard]] static error_words read(std::string_view body);

  /// What they mean by themselves; nothing when they leave it to the status. `status`: zero when there is none.
  [[nodiscard]] std::optional<errc> meaning(int status) const;

  std::string message;
  std::string type;
  std::string code;
  /// A second code, of a filter as a rule.
  std::string inner_code;
  std::string request_id;

 private:
  template <typename Object>
  void take(const Object& object);
  template <typename Json>
  void dig(const Json& from, int depth);
  [[nodiscard]] bool named(std::string_view part) const;
  [[nodiscard]] bool says(std::string_view part) const;
};

}  // namespace sluice::llm
