#include "agent/tools/quick_rules.hpp"

#include "agent/tools/schema_keywords.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;

constexpr std::pair<const char*, std::uint8_t> types[]{
    {"null", is_null},     {"boolean", is_boolean}, {"integer", is_integer}, {"number", is_integer | is_fraction},
    {"string", is_string}, {"array", is_array},     {"object", is_object},
};

/// A rule that is being made.
struct draft {
  rule_of_schema rule;
  std::map<std::string, named_rule> members;
};

class making {
 public:
  explicit making(const json& schema) : schema_(schema), is_possible_(!has_marks(schema)) { made_.all.emplace_back(); }

  std::optional<quick_rules> run() {
    made_.root = add(schema_);
    if (!is_possible_) return std::nullopt;
    return std::move(made_);
  }

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
    is_possible_ = false;
    return any_value;
  }

  std::uint32_t add(const json& node) {
    if (!is_possible_) return any_value;
    if (node == true) return any_value;
    if (const auto known = numbers_.find(&node); known != numbers_.end()) return known->second;
    const auto number = static_cast<std::uint32_t>(made_.all.size());
    made_.all.emplace_back();
    numbers_.emplace(&node, number);
    draft made;
    if (++depth_ > most_open_rules) return impossible();
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
    made_.all[number] = std::move(made.rule);
    return number;
  }

  const json* find_simple(const std::string& reference) const {
    constexpr auto usual = "#/$_-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (reference.find_first_not_of(usual) != std::string::npos || reference.ends_with('/')) return nullptr;
    return referred(schema_, reference);
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

  const json& schema_;
  bool is_possible_;
  std::size_t depth_ = 0;
  quick_rules made_;
  std::map<const json*, std::uint32_t> numbers_;
};

}  // namespace

std::optional<quick_rules> make_quick_rules(const json& schema) { return making(schema).run(); }

}  // namespace sluice::agent::detail
