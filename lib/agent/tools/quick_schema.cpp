#include "agent/tools/quick_schema.hpp"

#include "agent/tools/schema_keywords.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;
using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::uint32_t any_value = 0;

// Schemas that values are held against, beyond which whoever counts them exactly is to say.
constexpr std::int64_t steps_at_least = 1'000;
// Rules within rules: each takes stack.
constexpr std::size_t most_open = 500;
// Members that are compared with each other: for more, sorting is quicker.
constexpr std::size_t most_compared = 64;
// The most text for which a thread keeps its room.
constexpr std::size_t most_kept = 16'384;

enum kind : std::uint8_t {
  is_null = 1,
  is_boolean = 2,
  is_integer = 4,
  // One that is no integer.
  is_fraction = 8,
  is_string = 16,
  is_array = 32,
  is_object = 64,
  is_anything = 127,
};

constexpr std::pair<const char*, std::uint8_t> types[]{
    {"null", is_null},     {"boolean", is_boolean}, {"integer", is_integer}, {"number", is_integer | is_fraction},
    {"string", is_string}, {"array", is_array},     {"object", is_object},
};

/// What a value may be equal to. Numbers are compared as `double`, as valijson does.
struct value_list {
  std::uint8_t constants = 0;
  // In order.
  std::vector<double> numbers;
  std::vector<std::string> texts;

  // Bits of `constants`.
  static constexpr std::uint8_t null = 1;
  static constexpr std::uint8_t yes = 2;
  static constexpr std::uint8_t no = 4;
};

struct named_rule {
  std::string name;
  std::uint32_t rule = any_value;
  // One bit of those that must be there.
  std::uint64_t required = 0;
  bool is_known = false;
};

struct rule_of_schema {
  std::uint8_t kinds = is_anything;
  // It is in each of them.
  std::vector<value_list> values;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  double above = -std::numeric_limits<double>::infinity();
  double beneath = std::numeric_limits<double>::infinity();
  std::uint64_t least_length = 0;
  std::uint64_t most_length = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t least_items = 0;
  std::uint64_t most_items = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t least_members = 0;
  std::uint64_t most_members = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t items = any_value;
  // By name.
  std::vector<named_rule> members;
  std::uint64_t required = 0;
  std::uint32_t others = any_value;
  std::vector<std::uint32_t> all_of;
  std::vector<std::vector<std::uint32_t>> any_of;
  std::vector<std::vector<std::uint32_t>> one_of;
  bool measures_length = false;
};

/// A rule that is being made.
struct draft {
  rule_of_schema rule;
  std::map<std::string, named_rule> members;
};

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

}  // namespace

class quick_schema::rules {
 public:
  explicit rules(const json& schema) : schema_(&schema), all_(1) {
    is_possible = !has_marks(schema);
    root = add(schema);
    schema_ = nullptr;
    numbers_.clear();
  }

  bool is_possible = true;
  std::uint32_t root = any_value;

  class check;

 private:
  // With these in a name, valijson takes places for each other.
  static bool has_marks(const json& value) {
    if (!value.is_structured()) return false;
    for (const auto& each : value.items()) {
      if (value.is_object() && each.key().find_first_of("/~%") != std::string::npos) return true;
      if (has_marks(each.value())) return true;
    }
    return false;
  }

  std::uint32_t impossible() {
    is_possible = false;
    return any_value;
  }

  std::uint32_t add(const json& node) {
    if (!is_possible) return any_value;
    if (node == true) return any_value;
    if (const auto known = numbers_.find(&node); known != numbers_.end()) return known->second;
    const auto number = static_cast<std::uint32_t>(all_.size());
    all_.emplace_back();
    numbers_.emplace(&node, number);
    draft made;
    if (++depth_ > most_open) return impossible();
    if (node == false) {
      made.rule.kinds = 0;
    } else if (!node.is_object()) {
      return impossible();
    } else if (const auto at = node.find("$ref"); at != node.end()) {
      // Nothing beside it judges.
      const json* const target = at->is_string() ? find_simple(at->get_ref<const std::string&>()) : nullptr;
      if (target == nullptr) return impossible();
      made.rule.all_of.push_back(add(*target));
    } else {
      for (const auto& each : node.items()) take(made, each.key(), each.value());
      for (auto& each : made.members) made.rule.members.push_back(std::move(each.second));
    }
    --depth_;
    all_[number] = std::move(made.rule);
    return number;
  }

  const json* find_simple(const std::string& reference) const {
    constexpr auto usual = "#/$_-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (reference.find_first_not_of(usual) != std::string::npos || reference.ends_with('/')) return nullptr;
    return referred(*schema_, reference);
  }

  void take(draft& made, const std::string& key, const json& value) {
    rule_of_schema& into = made.rule;
    if (key == "type") return types_of(into, value);
    if (key == "enum" || key == "const") return values_of(into, key == "enum" ? value : json::array({value}));
    if (key == "minimum") return number(value, into.minimum);
    if (key == "maximum") return number(value, into.maximum);
    if (key == "exclusiveMinimum") return number(value, into.above);
    if (key == "exclusiveMaximum") return number(value, into.beneath);
    if (key == "minLength" || key == "maxLength") into.measures_length = true;
    if (key == "minLength") return count(value, into.least_length);
    if (key == "maxLength") return count(value, into.most_length);
    if (key == "minItems") return count(value, into.least_items);
    if (key == "maxItems") return count(value, into.most_items);
    if (key == "minProperties") return count(value, into.least_members);
    if (key == "maxProperties") return count(value, into.most_members);
    if (key == "items") {
      into.items = add(value);
    } else if (key == "additionalProperties") {
      into.others = add(value);
    } else if (key == "properties") {
      if (!value.is_object()) return void(impossible());
      for (const auto& each : value.items()) {
        const std::uint32_t number = add(each.value());
        named_rule& member = member_of(made, each.key());
        member.is_known = true;
        member.rule = number;
      }
    } else if (key == "required") {
      required_of(made, value);
    } else if (key == "allOf") {
      into.all_of = list(value);
    } else if (key == "anyOf") {
      into.any_of.push_back(list(value));
    } else if (key == "oneOf") {
      into.one_of.push_back(list(value));
    } else if (is_a_check(key)) {
      impossible();
    }
  }

  // Of the keywords that are left; others are remarks.
  static bool is_a_check(const std::string& key) {
    if (key == "$defs" || key == "definitions") return false;
    if (place_of(key) != schema_place::none) return true;
    return key == "pattern" || key == "multipleOf" || key == "uniqueItems" || key == "id" || key == "divisibleBy";
  }

  void types_of(rule_of_schema& into, const json& value) {
    std::uint8_t kinds = 0;
    for (const json& each : value.is_array() ? value : json::array({value})) {
      const auto known =
          std::find_if(std::begin(types), std::end(types), [&](const auto& type) { return each == type.first; });
      if (known == std::end(types)) return void(impossible());
      kinds = static_cast<std::uint8_t>(kinds | known->second);
    }
    into.kinds = static_cast<std::uint8_t>(into.kinds & kinds);
  }

  void values_of(rule_of_schema& into, const json& list) {
    value_list& made = into.values.emplace_back();
    if (!list.is_array()) return void(impossible());
    for (const json& each : list) {
      if (each.is_structured()) return void(impossible());
      if (each.is_null()) made.constants |= value_list::null;
      if (each.is_boolean()) made.constants |= each.get<bool>() ? value_list::yes : value_list::no;
      if (each.is_number()) made.numbers.push_back(each.get<double>());
      if (each.is_string()) made.texts.push_back(each.get<std::string>());
    }
    std::sort(made.numbers.begin(), made.numbers.end());
    std::sort(made.texts.begin(), made.texts.end());
  }

  void number(const json& value, double& into) {
    if (!value.is_number()) return void(impossible());
    into = value.get<double>();
  }

  void count(const json& value, std::uint64_t& into) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0) return void(impossible());
    into = static_cast<std::uint64_t>(value.get<std::int64_t>());
  }

  std::vector<std::uint32_t> list(const json& value) {
    std::vector<std::uint32_t> made;
    if (!value.is_array()) impossible();
    for (const json& each : value) made.push_back(add(each));
    return made;
  }

  void required_of(draft& made, const json& value) {
    rule_of_schema& into = made.rule;
    if (!value.is_array()) return void(impossible());
    for (const json& each : value) {
      if (!each.is_string()) return void(impossible());
      named_rule& member = member_of(made, each.get_ref<const std::string&>());
      if (member.required != 0) continue;
      // The next bit.
      member.required = into.required + 1;
      if (member.required == 0) return void(impossible());
      into.required |= member.required;
    }
  }

  static named_rule& member_of(draft& into, const std::string& name) {
    named_rule& made = into.members[name];
    made.name = name;
    return made;
  }

  const json* schema_;
  std::size_t depth_ = 0;
  std::vector<rule_of_schema> all_;
  std::map<const json*, std::uint32_t> numbers_;
};

/// Holds values against rules, for as long as that takes few steps.
class quick_schema::rules::check {
 public:
  check(const rules& of, std::int64_t steps) : all_(of.all_), steps_(steps) {}

  bool fits(std::uint32_t number, const element& value) {
    if (number == any_value) return true;
    const rule_of_schema& by = all_[number];
    if (--steps_ < 0) return false;
    // Below here nothing more is told.
    if (++open_ > most_open) steps_ = 0;
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

quick_schema::quick_schema(std::unique_ptr<const rules> made) noexcept : rules_(std::move(made)) {}
quick_schema::quick_schema(quick_schema&&) noexcept = default;
quick_schema& quick_schema::operator=(quick_schema&&) noexcept = default;
quick_schema::~quick_schema() = default;

std::optional<quick_schema> quick_schema::compile(const json& schema) {
  auto made = std::make_unique<rules>(schema);
  if (!made->is_possible) return std::nullopt;
  return quick_schema(std::move(made));
}

bool quick_schema::fits(std::string_view arguments, std::size_t most_depth) const {
  // A mark before it is no JSON, though some parsers take it.
  if (arguments.starts_with("\xEF\xBB\xBF") || !has_whole_escapes(arguments)) return false;
  thread_local reader own;
  const auto root = own.read(arguments, most_depth);
  bool verdict = false;
  if (root && root->is_object() && is_plain(*root, most_depth)) {
    const auto steps = steps_at_least + static_cast<std::int64_t>(arguments.size());
    verdict = rules::check(*rules_, steps).fits(rules_->root, *root);
  }
  if (arguments.size() > most_kept) own.release();
  return verdict;
}

}  // namespace sluice::agent::detail
