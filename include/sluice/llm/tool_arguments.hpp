/// \file
/// `tool_arguments`: the arguments of a tool call, by name and type.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/tool_call.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::llm {

namespace detail {

template <typename T>
inline constexpr bool is_argument =
    std::same_as<T, std::string> || std::same_as<T, bool> || std::same_as<T, std::int64_t> || std::same_as<T, double>;
template <typename T>
inline constexpr bool is_argument<std::vector<T>> = is_argument<T>;
template <typename T>
inline constexpr bool is_argument<std::optional<T>> = is_argument<T>;
template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

}  // namespace detail

/// What `tool_arguments::get` can give: a string, a truth value, an integer, a number, vectors of these, and optionals
/// of all.
template <typename T>
concept tool_argument = detail::is_argument<T>;

/// The arguments of one call. Owns its text. Nothing is converted: `"3"` is no number, but `3.0` is an integer. Each
/// error is `errc::invalid_argument`, and one sentence that names the argument, what it should be and what it is, fit
/// to be handed to the model: `argument "days" must be an integer, but is the string "three"`.
///
/// ```cpp
/// const sluice::llm::tool_arguments args(call);
/// auto city = args.get<std::string>("city");
/// auto days = args.get<std::optional<std::int64_t>>("days");
/// if (!city) talk.tool_result(call, city.error().message(), true);
/// ```
///
/// Complexity: `get` is linear in the text. Thread safety: one object from one thread at a time, also for `const`
/// members.
class tool_arguments {
 public:
  /// Of a call that is not valid, or whose arguments are no JSON object, every question is answered with that problem.
  explicit tool_arguments(const tool_call& call);
  explicit tool_arguments(std::string_view json);
  /// Of text that is known to be a JSON object, which is not looked at again here.
  [[nodiscard]] static tool_arguments of_object(std::string_view json);
  tool_arguments(tool_arguments&&) noexcept;
  tool_arguments& operator=(tool_arguments&&) noexcept;
  ~tool_arguments();

  /// Whether there are arguments at all; if not, why.
  [[nodiscard]] expected<void, error> check() const;
  /// Whether it is there, and not `null`.
  [[nodiscard]] bool has(std::string_view name) const;

  /// The argument of this name. An optional one that is not there, or `null`, is empty.
  /// Errors: it is missing, of another type, given twice, or a number beyond the type's range.
  template <tool_argument T>
  [[nodiscard]] expected<T, error> get(std::string_view name) const;

  /// An argument that is an object; its own arguments are named `where.city` in errors.
  [[nodiscard]] expected<tool_arguments, error> object(std::string_view name) const;
  /// An argument that is an array of objects.
  [[nodiscard]] expected<std::vector<tool_arguments>, error> objects(std::string_view name) const;

 private:
  class text;
  explicit tool_arguments(std::unique_ptr<text> held) noexcept;

  /// False when it is not there and need not be.
  template <typename T>
  [[nodiscard]] expected<bool, error> read(std::string_view name, T& into, bool needed) const;

  std::unique_ptr<text> text_;
};

template <tool_argument T>
expected<T, error> tool_arguments::get(std::string_view name) const {
  T value{};
  if constexpr (detail::is_optional<T>) {
    auto there = read(name, value.emplace(), false);
    if (!there) return unexpected<error>(std::move(there).error());
    if (!*there) value.reset();
  } else {
    auto there = read(name, value, true);
    if (!there) return unexpected<error>(std::move(there).error());
  }
  return value;
}

}  // namespace sluice::llm
