#include <sluice/llm/tool_arguments.hpp>

#include "llm/dialects/json_reading.hpp"
#include "llm/dialects/json_text.hpp"
#include "llm/errors/quote.hpp"
#include "llm/trimmed.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

namespace sluice::llm {

namespace {

using simdjson::ondemand::json_type;

unexpected<error> wrong(std::string what) { return unexpected<error>(error(errc::invalid_argument, std::move(what))); }

/// A value where it stands, and its text when it is a string.
class found {
 public:
  json_type type = json_type::null;
  std::string_view raw;
  std::string_view said;
};

simdjson::error_code look(simdjson::ondemand::value at, found& into) {
  if (const auto error = at.type().get(into.type)) return error;
  switch (into.type) {
    case json_type::array: {
      simdjson::ondemand::array array;
      if (const auto error = at.get_array().get(array)) return error;
      return array.raw_json().get(into.raw);
    }
    case json_type::object: {
      simdjson::ondemand::object object;
      if (const auto error = at.get_object().get(object)) return error;
      return object.raw_json().get(into.raw);
    }
    case json_type::string: return at.get_string().get(into.said);
    case json_type::number:
    case json_type::boolean:
    case json_type::null: break;
  }
  into.raw = trimmed(at.raw_json_token());
  return simdjson::SUCCESS;
}

std::string shown(std::string_view text) {
  constexpr std::size_t enough = 80;
  if (text.size() <= enough) return quote(text, {});
  std::size_t end = enough;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return quote(text.substr(0, end), {}) + "...";
}

std::string describe(const found& what) {
  switch (what.type) {
    case json_type::array: return "an array";
    case json_type::object: return "an object";
    case json_type::string: return "the string \"" + shown(what.said) + '"';
    case json_type::number: return "the number " + shown(what.raw);
    case json_type::boolean: return std::string(what.raw);
    case json_type::null: break;
  }
  return "null";
}

// One of the types that an argument may have: how it is called, alone and in numbers, and how it is read.
template <typename T>
struct kind_of;

template <>
struct kind_of<std::string> {
  static constexpr const char* one = "a string";
  static constexpr const char* many = "strings";
  static bool read(const found& from, std::string& into) {
    if (from.type != json_type::string) return false;
    into = from.said;
    return true;
  }
};

template <>
struct kind_of<bool> {
  static constexpr const char* one = "true or false";
  static constexpr const char* many = "truth values";
  static bool read(const found& from, bool& into) {
    if (from.type != json_type::boolean) return false;
    into = from.raw == "true";
    return true;
  }
};

template <>
struct kind_of<double> {
  static constexpr const char* one = "a number";
  static constexpr const char* many = "numbers";
  static bool read(const found& from, double& into) {
    if (from.type != json_type::number) return false;
    const char* const end = from.raw.data() + from.raw.size();
    const auto parsed = std::from_chars(from.raw.data(), end, into);
    return parsed.ec == std::errc{} && parsed.ptr == end;
  }
};

template <>
struct kind_of<std::int64_t> {
  static constexpr const char* one = "an integer";
  static constexpr const char* many = "integers";
  static bool read(const found& from, std::int64_t& into) {
    if (from.type != json_type::number) return false;
    const char* const end = from.raw.data() + from.raw.size();
    const auto parsed = std::from_chars(from.raw.data(), end, into);
    if (parsed.ec == std::errc{} && parsed.ptr == end) return true;
    // Models write whole numbers as 3.0 and 1e3 too; beyond 2^53 such a one would not be exact.
    double number = 0;
    if (parsed.ec == std::errc::result_out_of_range || !kind_of<double>::read(from, number)) return false;
    if (std::trunc(number) != number || std::abs(number) > 0x1p53) return false;
    into = static_cast<std::int64_t>(number);
    return true;
  }
};

template <typename T>
struct item_of;
template <typename T>
struct item_of<std::vector<T>> {
  using type = T;
};

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <typename T>
std::string called() {
  if constexpr (is_vector<T>) {
    return std::string("an array of ") + kind_of<typename item_of<T>::type>::many;
  } else {
    return kind_of<T>::one;
  }
}

}  // namespace

/// JSON that holds, unless `problem` says otherwise, in memory that simdjson may read beyond.
class tool_arguments::text {
 public:
  text(std::string_view said, std::string name_of_object) : json_(said), prefix_(std::move(name_of_object)) {}

  [[nodiscard]] std::string named(std::string_view name) const {
    return "argument \"" + shown(prefix_ + std::string(name)) + '"';
  }
  [[nodiscard]] std::string below(std::string_view name) const { return prefix_ + std::string(name); }

  /// Nothing when there is none of that name. What it gives is valid until the next question.
  [[nodiscard]] expected<std::optional<found>, error> find(std::string_view name) {
    if (!problem.empty()) return wrong(problem);
    std::optional<found> there;
    bool twice = false;
    const auto visit = [&](std::string_view key, simdjson::ondemand::value value) {
      if (key != name) return simdjson::SUCCESS;
      twice = there.has_value();
      return look(value, there.emplace());
    };
    simdjson::ondemand::object object;
    auto error = parser_.iterate(json_).get(document_);
    if (!error) error = document_.get_object().get(object);
    if (!error) error = each_member(object, visit);
    if (error) return wrong(unreadable(error));
    if (twice) return wrong(named(name) + " is given twice");
    return there;
  }

  /// Calls `take(element, at)` for each element of an array that was found, until it gives an error.
  template <typename Take>
  [[nodiscard]] expected<void, error> each(std::string_view array, Take take) {
    // What follows it in the text, and behind that, may be read beyond its end.
    const simdjson::padded_string_view inside(array.data(), array.size(), array.size() + simdjson::SIMDJSON_PADDING);
    simdjson::ondemand::array elements;
    auto code = parser_.iterate(inside).get(document_);
    if (!code) code = document_.get_array().get(elements);
    expected<void, error> taken;
    std::size_t at = 0;
    if (!code) {
      code = each_element(elements, [&](simdjson::ondemand::value value) {
        found element;
        if (const auto failed = look(value, element)) return failed;
        if (taken) taken = take(element, at++);
        return simdjson::SUCCESS;
      });
    }
    if (code) return wrong(unreadable(code));
    return taken;
  }

  /// Why there are no arguments; empty when there are.
  std::string problem;

 private:
  static std::string unreadable(simdjson::error_code code) {
    return std::string("the arguments cannot be read: ") + simdjson::error_message(code);
  }

  simdjson::padded_string json_;
  std::string prefix_;
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
};

tool_arguments::tool_arguments(std::string_view said) : text_(std::make_unique<text>(said, std::string())) {
  switch (judge_json(said)) {
    case json_kind::object: return;
    case json_kind::too_deep: text_->problem = "the arguments are nested too deep"; return;
    case json_kind::other: text_->problem = "the arguments are not a JSON object"; return;
    case json_kind::none: text_->problem = "the arguments are not valid JSON"; return;
  }
}

tool_arguments::tool_arguments(const tool_call& call) : tool_arguments(std::string_view(call.arguments)) {
  if (!call.valid) text_->problem = call.problem.empty() ? "the call is not valid" : call.problem;
}

tool_arguments tool_arguments::of_object(std::string_view json) {
  return tool_arguments(std::make_unique<text>(json, std::string()));
}

tool_arguments::tool_arguments(std::unique_ptr<text> held) noexcept : text_(std::move(held)) {}
tool_arguments::tool_arguments(tool_arguments&&) noexcept = default;
tool_arguments& tool_arguments::operator=(tool_arguments&&) noexcept = default;
tool_arguments::~tool_arguments() = default;

expected<void, error> tool_arguments::check() const {
  if (text_->problem.empty()) return {};
  return wrong(text_->problem);
}

bool tool_arguments::has(std::string_view name) const {
  const auto there = text_->find(name);
  return there && *there && (*there)->type != json_type::null;
}

template <typename T>
expected<bool, error> tool_arguments::read(std::string_view name, T& into, bool needed) const {
  auto there = text_->find(name);
  if (!there) return unexpected<error>(std::move(there).error());
  if (!needed && (!*there || (*there)->type == json_type::null)) return false;
  if (!*there) return wrong(text_->named(name) + " is missing; " + called<T>() + " is expected");
  const found& what = **there;
  const auto refuse = [&what](const std::string& which, const std::string& wanted) {
    return wrong(which + " must be " + wanted + ", but is " + describe(what));
  };
  if constexpr (is_vector<T>) {
    using item = typename item_of<T>::type;
    if (what.type != json_type::array) return refuse(text_->named(name), called<T>());
    auto taken = text_->each(what.raw, [&](const found& element, std::size_t at) -> expected<void, error> {
      item value{};
      if (!kind_of<item>::read(element, value)) {
        return wrong(text_->named(std::string(name) + '[' + std::to_string(at) + ']') + " must be " +
                     kind_of<item>::one + ", but is " + describe(element));
      }
      into.push_back(std::move(value));
      return {};
    });
    if (!taken) return unexpected<error>(std::move(taken).error());
  } else {
    if (!kind_of<T>::read(what, into)) return refuse(text_->named(name), called<T>());
  }
  return true;
}

template expected<bool, error> tool_arguments::read(std::string_view, std::string&, bool) const;
template expected<bool, error> tool_arguments::read(std::string_view, bool&, bool) const;
template expected<bool, error> tool_arguments::read(std::string_view, std::int64_t&, bool) const;
template expected<bool, error> tool_arguments::read(std::string_view, double&, bool) const;
template expected<bool, error> tool_arguments::read(std::string_view, std::vector<std::string>&, bool) const;
template expected<bool, error> tool_arguments::read(std::string_view, std::vector<bool>&, bool) const;
template expected<bool, error> tool_arguments::read(std::string_view, std::vector<std::int64_t>&, bool) const;
template expected<bool, error> tool_arguments::read(std::string_view, std::vector<double>&, bool) const;

expected<tool_arguments, error> tool_arguments::object(std::string_view name) const {
  auto there = text_->find(name);
  if (!there) return unexpected<error>(std::move(there).error());
  if (!*there) return wrong(text_->named(name) + " is missing; an object is expected");
  const found& what = **there;
  if (what.type != json_type::object) return wrong(text_->named(name) + " must be an object, but is " + describe(what));
  return tool_arguments(std::make_unique<text>(what.raw, text_->below(name) + '.'));
}

expected<std::vector<tool_arguments>, error> tool_arguments::objects(std::string_view name) const {
  auto there = text_->find(name);
  if (!there) return unexpected<error>(std::move(there).error());
  if (!*there) return wrong(text_->named(name) + " is missing; an array of objects is expected");
  const found& what = **there;
  if (what.type != json_type::array) {
    return wrong(text_->named(name) + " must be an array of objects, but is " + describe(what));
  }
  std::vector<tool_arguments> all;
  auto taken = text_->each(what.raw, [&](const found& element, std::size_t at) -> expected<void, error> {
    const std::string place = std::string(name) + '[' + std::to_string(at) + ']';
    if (element.type != json_type::object)
      return wrong(text_->named(place) + " must be an object, but is " + describe(element));
    all.push_back(tool_arguments(std::make_unique<text>(element.raw, text_->below(place) + '.')));
    return {};
  });
  if (!taken) return unexpected<error>(std::move(taken).error());
  return all;
}

}  // namespace sluice::llm
