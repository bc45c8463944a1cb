#include "agent/tools/keyword_types.hpp"

#include "agent/tools/schema_keywords.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;

bool is_number(const json& value) { return value.is_number(); }
bool is_flag(const json& value) { return value.is_boolean(); }
bool is_text(const json& value) { return value.is_string(); }
bool is_map(const json& value) { return value.is_object(); }
// By a flag in draft 4.
bool is_limit(const json& value) { return value.is_number() || value.is_boolean(); }
// One that no int64 holds is no integer here.
bool is_count(const json& value) { return value.is_number_integer() && value >= 0; }
bool is_schema(const json& value) { return value.is_object() || value.is_boolean(); }

bool is_list_of(bool (*each)(const json&), const json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), each);
}
bool is_names(const json& value) { return is_list_of(is_text, value); }
bool is_schemas(const json& value) { return is_list_of(is_schema, value); }
bool is_items(const json& value) { return is_schema(value) || is_schemas(value); }
bool is_choice(const json& value) { return !value.empty() && is_schemas(value); }
bool is_values(const json& value) { return value.is_array() && !value.empty(); }

bool is_type_name(const json& value) {
  constexpr std::array known{"array", "boolean", "integer", "null", "number", "object", "string"};
  return std::any_of(known.begin(), known.end(), [&](const char* each) { return value == each; });
}
bool is_type(const json& value) { return is_type_name(value) || (!value.empty() && is_list_of(is_type_name, value)); }

class keyword_rule {
 public:
  const char* keyword;
  bool (*holds)(const json&);
  const char* otherwise;
};

constexpr const char* no_type =
    R"(is none of "array", "boolean", "integer", "null", "number", "object", "string", nor a list of them)";
constexpr const char* no_number = "is no number";
constexpr const char* no_count = "is no whole number from 0 on, or too large";
constexpr const char* no_flag = "is neither true nor false";
constexpr const char* no_text = "is no string";
constexpr const char* no_names = "is no list of strings";
constexpr const char* no_values = "is no list of values with at least one in it";
constexpr const char* no_schema = "is no schema";
constexpr const char* no_schemas = "is no list of schemas";
constexpr const char* no_items = "is neither a schema nor a list of them";
constexpr const char* no_choice = "is no list of schemas with at least one in it";
constexpr const char* no_map = "is no object of schemas by name";
constexpr const char* no_dependency = "is neither a schema nor a list of strings";

constexpr std::array rules{keyword_rule{"type", is_type, no_type},
                           keyword_rule{"enum", is_values, no_values},
                           keyword_rule{"multipleOf", is_number, no_number},
                           keyword_rule{"maximum", is_number, no_number},
                           keyword_rule{"minimum", is_number, no_number},
                           keyword_rule{"exclusiveMaximum", is_limit, no_number},
                           keyword_rule{"exclusiveMinimum", is_limit, no_number},
                           keyword_rule{"maxLength", is_count, no_count},
                           keyword_rule{"minLength", is_count, no_count},
                           keyword_rule{"maxItems", is_count, no_count},
                           keyword_rule{"minItems", is_count, no_count},
                           keyword_rule{"maxProperties", is_count, no_count},
                           keyword_rule{"minProperties", is_count, no_count},
                           keyword_rule{"maxContains", is_count, no_count},
                           keyword_rule{"minContains", is_count, no_count},
                           keyword_rule{"uniqueItems", is_flag, no_flag},
                           keyword_rule{"pattern", is_text, no_text},
                           keyword_rule{"required", is_names, no_names},
                           keyword_rule{"anyOf", is_choice, no_choice},
                           keyword_rule{"allOf", is_choice, no_choice},
                           keyword_rule{"oneOf", is_choice, no_choice},
                           keyword_rule{"not", is_schema, no_schema},
                           keyword_rule{"if", is_schema, no_schema},
                           keyword_rule{"then", is_schema, no_schema},
                           keyword_rule{"else", is_schema, no_schema},
                           keyword_rule{"items", is_items, no_items},
                           keyword_rule{"prefixItems", is_schemas, no_schemas},
                           keyword_rule{"additionalItems", is_schema, no_schema},
                           keyword_rule{"unevaluatedItems", is_schema, no_schema},
                           keyword_rule{"contains", is_schema, no_schema},
                           keyword_rule{"additionalProperties", is_schema, no_schema},
                           keyword_rule{"unevaluatedProperties", is_schema, no_schema},
                           keyword_rule{"propertyNames", is_schema, no_schema},
                           keyword_rule{"properties", is_map, no_map},
                           keyword_rule{"patternProperties", is_map, no_map},
                           keyword_rule{"definitions", is_map, no_map},
                           keyword_rule{"$defs", is_map, no_map},
                           keyword_rule{"dependentSchemas", is_map, no_map},
                           keyword_rule{"dependentRequired", is_map, "is no object of lists of strings"},
                           keyword_rule{"dependencies", is_map, "is no object of schemas or lists of strings"}};

class reading {
 public:
  explicit reading(const json& schema) : schema_(schema) {}

  std::string run() {
    visit(schema_, "");
    for (std::size_t i = 0; problem_.empty() && i < references_.size(); ++i) {
      // Copied, since there may come more of them.
      const reference which = references_[i];
      const json* const target = target_of(which);
      if (target != nullptr && may_be_schema(*target, which)) visit(*target, which.second.substr(1));
    }
    // What is no schema may have been found out after it was referred to.
    for (const reference& each : references_) {
      if (const json* const target = target_of(each); target != nullptr) may_be_schema(*target, each);
    }
    return std::move(problem_);
  }

 private:
  /// Where it stands, and what it is.
  using reference = std::pair<std::string, std::string>;

  // One that leads nowhere is found out by whoever follows it.
  [[nodiscard]] const json* target_of(const reference& which) const {
    const json* const found = referred(schema_, which.second);
    return found != nullptr && found->is_object() ? found : nullptr;
  }

  bool may_be_schema(const json& target, const reference& which) {
    if (!elsewhere_.contains(&target)) return true;
    refuse("$ref", which.first, "leads to \"" + which.second + "\", where no schema can stand");
    return false;
  }

  void refuse(const std::string& keyword, const std::string& place, const std::string& why) {
    if (problem_.empty()) problem_ = "has \"" + keyword + "\" at \"#" + place + "\", which " + why;
  }

  void visit(const json& node, const std::string& place) {
    if (!problem_.empty() || !done_.insert(&node).second) return;
    for (const keyword_rule& rule : rules) {
      const auto at = node.find(rule.keyword);
      if (at != node.end() && !rule.holds(*at)) return refuse(rule.keyword, place, rule.otherwise);
      if (at != node.end() && rule.holds == is_map) members(rule.keyword, *at, place);
    }
    for (const auto& [flag, limit] :
         {std::pair("exclusiveMinimum", "minimum"), std::pair("exclusiveMaximum", "maximum")}) {
      const auto at = node.find(flag);
      if (at == node.end() || *at != true || node.contains(limit)) continue;
      return refuse(flag, place, "is true without a \"" + std::string(limit) + '"');
    }
    for (const char* key : {"const", "enum", "default", "examples"}) {
      if (const auto at = node.find(key); at != node.end()) no_schemas_in(*at);
    }
    if (const auto at = node.find("$ref"); at != node.end() && at->is_string()) {
      references_.emplace_back(place, at->get<std::string>());
    }
    each_schema_in(node, [&](const json& child, const std::string& steps, bool) { visit(child, place + steps); });
  }

  void members(const std::string& keyword, const json& map, const std::string& place) {
    elsewhere_.insert(&map);
    const bool schemas = keyword != "dependentRequired";
    const bool names = !schemas || keyword == "dependencies";
    for (const auto& each : map.items()) {
      if ((schemas && is_schema(each.value())) || (names && is_names(each.value()))) continue;
      refuse(each.key(), place + '/' + keyword, names ? (schemas ? no_dependency : no_names) : no_schema);
    }
  }

  void no_schemas_in(const json& value) {
    if (value.is_object()) elsewhere_.insert(&value);
    if (!value.is_structured()) return;
    for (const json& each : value) no_schemas_in(each);
  }

  const json& schema_;
  std::string problem_;
  std::set<const json*> done_;
  std::set<const json*> elsewhere_;
  std::vector<reference> references_;
};

}  // namespace

expected<void, error> check_keyword_types(const json& schema) {
  std::string problem = reading(schema).run();
  if (!problem.empty()) return unexpected<error>(error(errc::invalid_configuration, std::move(problem)));
  return {};
}

}  // namespace sluice::agent::detail
