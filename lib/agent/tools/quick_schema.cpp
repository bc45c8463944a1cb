#include "agent/tools/quick_schema.hpp"

#include "agent/tools/quick_rules.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;
using simdjson::dom::element;
using simdjson::dom::element_type;

// Schemas that values are held against, beyond which whoever counts them exactly is to say.
constexpr std::int64_t steps_at_least = 1'000;
// Members that are compared with each other: for more, sorting is quicker.
constexpr std::size_t most_compared = 64;
// The most text for which a thread keeps its room.
constexpr std::size_t most_kept = 16'384;

/// Whether surrogates that are written as escapes come in pairs.
bool has_whole_escapes(std::string_view text) {
  const auto half = [text](std::size_t at, char from, char to) {
    if (at + 4 > text.size() || text[at] != '\\' || text[at + 1] != 'u' || (text[at + 2] | 0x20) != 'd') return false;
    const char third = static_cast<char>(text[at + 3] | 0x20);
    return third >= from && third <= to;
  };
  for (auto at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
    if (half(at, '8', '9') || half(at, 'a', 'b')) {
      if (!half(at + 6, 'c', 'f')) return false;
      at += 12;
    } else if (half(at, 'c', 'f')) {
      return false;
    } else {
      at += 2;
    }
  }
  return true;
}

std::uint64_t characters(std::string_view text) {
  return static_cast<std::uint64_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// What a thread reads arguments with.
class reader {
 public:
  /// Nothing when they are not surely JSON, nested no deeper than `most_depth`.
  std::optional<element> read(std::string_view text, std::size_t most_depth) {
    if (text.size() > most_kept) release();
    if (room_.size() < text.size() + simdjson::SIMDJSON_PADDING) {
      room_.resize(std::max(2 * text.size(), std::size_t{1'024}) + simdjson::SIMDJSON_PADDING);
    }
    if (parser_.capacity() < text.size() || parser_.max_depth() != most_depth) {
      if (parser_.allocate(room_.size(), most_depth) != simdjson::SUCCESS) return std::nullopt;
    }
    std::memcpy(room_.data(), text.data(), text.size());
    element root;
    if (parser_.parse(room_.data(), text.size(), false).get(root) != simdjson::SUCCESS) return std::nullopt;
    return root;
  }

  void release() {
    parser_ = simdjson::dom::parser();
    room_ = std::vector<char>();
  }

 private:
  simdjson::dom::parser parser_;
  std::vector<char> room_;
};

/// Neither nested too deep, nor a name twice.
bool is_plain(const element& value, std::size_t levels) {
  if (value.type() == element_type::ARRAY) {
    if (levels == 0) return false;
    for (const element each : simdjson::dom::array(value.get_array().value_unsafe())) {
      if (!is_plain(each, levels - 1)) return false;
    }
  } else if (value.type() == element_type::OBJECT) {
    if (levels == 0) return false;
    std::size_t count = 0;
    const simdjson::dom::object members = value.get_object().value_unsafe();
    for (auto one = members.begin(); one != members.end(); ++one) {
      if (++count > most_compared) return false;
      for (auto before = members.begin(); before != one; ++before) {
        if (before.key() == one.key()) return false;
      }
      if (!is_plain(one.value(), levels - 1)) return false;
    }
  }
  return true;
}

/// Holds values against rules, for as long as that takes few steps.
class check {
 public:
  check(const quick_rules& of, std::int64_t steps) : all_(of.all), steps_(steps) {}

  bool fits(std::uint32_t number, const element& value) {
    if (number == any_value) return true;
    const rule_of_schema& by = all_[number];
    if (--steps_ < 0) return false;
    // Below here nothing more is told.
    if (++open_ > most_open_rules) steps_ = 0;
    const bool is_right = of_kind(by, value) && of_values(by, value) && of_alternatives(by, value);
    --open_;
    return is_right;
  }

 private:
  bool of_kind(const rule_of_schema& by, const element& value) {
    const auto is = [&by](kind which) { return (by.kinds & which) != 0; };
    switch (value.type()) {
      case element_type::NULL_VALUE: return is(is_null);
      case element_type::BOOL: return is(is_boolean);
      case element_type::STRING: {
        if (!is(is_string)) return false;
        if (!by.measures_length) return true;
        const auto length = characters(value.get_string().value_unsafe());
        return length >= by.least_length && length <= by.most_length;
      }
      case element_type::INT64:
        return is(is_integer) && in_bounds(by, static_cast<double>(value.get_int64().value_unsafe()));
      // More than an int64 holds is no integer, since it is not exact.
      case element_type::UINT64:
        return is(is_fraction) && in_bounds(by, static_cast<double>(value.get_uint64().value_unsafe()));
      case element_type::DOUBLE: {
        const double number = value.get_double().value_unsafe();
        const bool is_whole = std::trunc(number) == number && std::abs(number) <= 0x1p53;
        return is(is_whole ? is_integer : is_fraction) && in_bounds(by, number);
      }
      case element_type::ARRAY: return is(is_array) && of_items(by, value.get_array().value_unsafe());
      case element_type::OBJECT: return is(is_object) && of_members(by, value.get_object().value_unsafe());
    }
    return false;
  }

  static bool in_bounds(const rule_of_schema& by, double number) {
    return number >= by.minimum && number <= by.maximum && number > by.above && number < by.beneath;
  }

  bool of_items(const rule_of_schema& by, const simdjson::dom::array& value) {
    std::uint64_t count = 0;
    for (const element each : value) {
      if (!fits(by.items, each)) return false;
      ++count;
    }
    return count >= by.least_items && count <= by.most_items;
  }

  bool of_members(const rule_of_schema& by, const simdjson::dom::object& value) {
    std::uint64_t count = 0;
    std::uint64_t seen = 0;
    for (const auto each : value) {
      ++count;
      const auto known = std::lower_bound(by.members.begin(), by.members.end(), each.key,
                                          [](const named_rule& one, std::string_view name) { return one.name < name; });
      const bool is_named = known != by.members.end() && known->name == each.key;
      if (is_named) seen |= known->required;
      if (!fits(is_named && known->is_known ? known->rule : by.others, each.value)) return false;
    }
    return seen == by.required && count >= by.least_members && count <= by.most_members;
  }

  static bool has(const value_list& list, const element& value) {
    switch (value.type()) {
      case element_type::NULL_VALUE: return (list.constants & value_list::null) != 0;
      case element_type::BOOL:
        return (list.constants & (value.get_bool().value_unsafe() ? value_list::yes : value_list::no)) != 0;
      case element_type::STRING:
        return std::binary_search(list.texts.begin(), list.texts.end(), value.get_string().value_unsafe(),
                                  std::less<>());
      case element_type::INT64:
      case element_type::UINT64:
      case element_type::DOUBLE:
        return std::binary_search(list.numbers.begin(), list.numbers.end(), value.get_double().value_unsafe());
      case element_type::ARRAY:
      case element_type::OBJECT: break;
    }
    return false;
  }

  static bool of_values(const rule_of_schema& by, const element& value) {
    return std::all_of(by.values.begin(), by.values.end(), [&](const value_list& list) { return has(list, value); });
  }

  bool of_alternatives(const rule_of_schema& by, const element& value) {
    const auto holds = [&](std::uint32_t one) { return fits(one, value); };
    for (const std::uint32_t one : by.all_of) {
      if (!holds(one)) return false;
    }
    for (const auto& list : by.any_of) {
      if (std::none_of(list.begin(), list.end(), holds)) return false;
    }
    for (const auto& list : by.one_of) {
      if (std::count_if(list.begin(), list.end(), holds) != 1) return false;
    }
    // One that did not fit for want of steps is none of which the others may be sure.
    return steps_ >= 0;
  }

  const std::vector<rule_of_schema>& all_;
  std::int64_t steps_;
  std::size_t open_ = 0;
};

}  // namespace

quick_schema::quick_schema(std::unique_ptr<const quick_rules> made) noexcept : rules_(std::move(made)) {}
quick_schema::quick_schema(quick_schema&&) noexcept = default;
quick_schema& quick_schema::operator=(quick_schema&&) noexcept = default;
quick_schema::~quick_schema() = default;

std::optional<quick_schema> quick_schema::compile(const json& schema) {
  auto made = make_quick_rules(schema);
  if (!made) return std::nullopt;
  return quick_schema(std::make_unique<const quick_rules>(*std::move(made)));
}

bool quick_schema::fits(std::string_view arguments, std::size_t most_depth) const {
  // A mark before it is no JSON, though some parsers take it.
  if (arguments.starts_with("\xEF\xBB\xBF") || !has_whole_escapes(arguments)) return false;
  thread_local reader own;
  const auto root = own.read(arguments, most_depth);
  bool verdict = false;
  if (root && root->is_object() && is_plain(*root, most_depth)) {
    const auto steps = steps_at_least + static_cast<std::int64_t>(arguments.size());
    verdict = check(*rules_, steps).fits(rules_->root, *root);
  }
  if (arguments.size() > most_kept) own.release();
  return verdict;
}

}  // namespace sluice::agent::detail
