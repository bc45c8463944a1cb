#include "agent/tools/schema_keywords.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;

constexpr std::array same_value{"not", "if", "then", "else", "allOf", "anyOf", "oneOf"};
constexpr std::array same_value_by_name{"dependencies", "dependentSchemas"};
constexpr std::array below{
    "additionalProperties", "propertyNames",        "contains", "additionalItems", "items", "prefixItems",
    "unevaluatedItems",     "unevaluatedProperties"};
constexpr std::array below_by_name{"properties", "patternProperties", "definitions", "$defs"};

// Keywords that judge a value without a schema within them.
constexpr std::array plain{"type",          "enum",      "const",       "multipleOf",       "maximum",
                           "minimum",       "maxLength", "minLength",   "exclusiveMaximum", "exclusiveMinimum",
                           "pattern",       "maxItems",  "minItems",    "uniqueItems",      "maxProperties",
                           "minProperties", "required",  "minContains", "maxContains",      "dependentRequired"};

// Beside these, what has been looked at is not known from the schema alone.
constexpr std::array looks_further{"allOf", "anyOf", "oneOf",        "not",  "if",
                                   "then",  "else",  "dependencies", "$ref", "dependentSchemas"};

template <std::size_t N>
bool is_among(const std::array<const char*, N>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool judges(std::string_view key) {
  return is_among(plain, key) || (place_of(key) != schema_place::none && key != "definitions" && key != "$defs");
}

// Behind what is there, since references count its places.
void also_hold(json& node, const char* key, json value) {
  json& all = node["allOf"];
  if (all.is_null()) all = json::array();
  if (all.is_array()) all.push_back(json::object({{key, std::move(value)}}));
}

class rewriting {
 public:
  explicit rewriting(json& schema) : schema_(schema) {}

  std::string run() {
    visit(schema_, "");
    while (problem_.empty() && !references_.empty()) {
      const std::string reference = std::move(references_.back());
      references_.pop_back();
      // It may stand where no schema is expected. One that leads nowhere is found out by whoever follows it.
      json* const target = referred(schema_, reference);
      if (target != nullptr && target->is_object()) visit(*target, reference.substr(1));
    }
    return std::move(problem_);
  }

 private:
  void refuse(const std::string& keyword, const std::string& place, const std::string& why) {
    if (problem_.empty()) problem_ = "has \"" + keyword + "\" at \"#" + place + "\", " + why;
  }

  void visit(json& node, const std::string& place) {
    if (!problem_.empty() || !done_.insert(place).second) return;
    each_schema_in(node, [&](json& child, const std::string& steps, bool) { visit(child, place + steps); });
    if (!problem_.empty()) return;
    for (const char* key : {"$dynamicRef", "$recursiveRef"}) {
      if (node.contains(key)) return refuse(key, place, "which is not followed; write a $ref");
    }
    if (const auto at = node.find("$ref"); at != node.end() && at->is_string()) {
      references_.push_back(at->get<std::string>());
    }
    node.erase("format");
    // Of draft 4. Nothing is looked for at addresses, and what refers to one is refused.
    if (const auto at = node.find("id"); at != node.end() && at->is_string()) node.erase("id");
    lists(node, place);
    counts(node, place);
    unevaluated(node, place);
    limits(node);
    dependent(node);
    names(node);
    beside_reference(node);
  }

  void lists(json& node, const std::string& place) {
    const auto first = node.find("prefixItems");
    if (first == node.end()) return;
    if (!first->is_array()) return refuse("prefixItems", place, "which is no list of schemas");
    // It may be a copy of what has been rewritten.
    if (const auto rest = node.find("items"); rest != node.end() && *rest == *first) return;
    if (node.contains("additionalItems")) {
      return refuse("prefixItems", place, "beside \"additionalItems\" of older drafts; write \"items\" for the rest");
    }
    if (const auto rest = node.find("items"); rest != node.end()) {
      if (rest->is_array()) return refuse("prefixItems", place, "beside a list of \"items\"");
      json moved = std::move(*rest);
      node["additionalItems"] = std::move(moved);
    }
    json prefix = *first;
    node["items"] = std::move(prefix);
  }

  void counts(json& node, const std::string& place) {
    if (!node.contains("contains")) return;
    if (node.contains("maxContains")) return refuse("maxContains", place, "which cannot be checked");
    const auto least = node.find("minContains");
    if (least == node.end() || *least == 1) return;
    if (*least != 0) return refuse("minContains", place, "which cannot be checked but for 0 and 1");
    node.erase("contains");
  }

  void unevaluated(json& node, const std::string& place) {
    const auto becomes = [&](const char* keyword, const char* instead, bool is_settled, bool also_looked_at) {
      const auto at = node.find(keyword);
      if (at == node.end() || *at == true || is_settled) return;
      for (const char* other : looks_further) {
        if (!node.contains(other)) continue;
        return refuse(keyword, place,
                      "which cannot be checked beside \"" + std::string(other) + "\"; write \"" + instead +
                          "\" where the rest stands");
      }
      if (also_looked_at) return refuse(keyword, place, "which cannot be checked beside \"contains\"");
      json value = *at;
      node[instead] = std::move(value);
    };
    becomes("unevaluatedProperties", "additionalProperties", node.contains("additionalProperties"), false);
    const auto items = node.find("items");
    const bool list = items != node.end() && items->is_array();
    becomes("unevaluatedItems", list ? "additionalItems" : "items",
            list ? node.contains("additionalItems") : items != node.end(), node.contains("contains"));
  }

  static void limits(json& node) {
    for (const auto& [flag, limit] :
         {std::pair("exclusiveMinimum", "minimum"), std::pair("exclusiveMaximum", "maximum")}) {
      const auto at = node.find(flag);
      if (at == node.end() || !at->is_boolean()) continue;
      const auto bound = node.find(limit);
      if (*at == false) {
        node.erase(flag);
      } else if (bound != node.end()) {
        json value = *bound;
        node[flag] = std::move(value);
        node.erase(limit);
      }
    }
  }

  static void dependent(json& node) {
    for (const char* key : {"dependentRequired", "dependentSchemas"}) {
      if (const auto at = node.find(key); at != node.end()) {
        json value = *at;
        also_hold(node, "dependencies", std::move(value));
      }
    }
  }

  // Where it stands, valijson takes it for the schema around it once something refers to that one.
  static void names(json& node) {
    const auto at = node.find("propertyNames");
    if (at == node.end() || node.size() == 1) return;
    json value = std::move(*at);
    node.erase("propertyNames");
    also_hold(node, "propertyNames", std::move(value));
  }

  static void beside_reference(json& node) {
    const auto at = node.find("$ref");
    if (at == node.end()) return;
    bool alone = true;
    for (const auto& each : node.items()) alone = alone && !judges(each.key());
    if (alone) return;
    json reference = std::move(*at);
    node.erase("$ref");
    also_hold(node, "$ref", std::move(reference));
  }

  json& schema_;
  std::string problem_;
  std::set<std::string> done_;
  std::vector<std::string> references_;
};

template <typename Json>
Json* find(Json& schema, std::string_view reference) {
  if (reference == "#") return &schema;
  if (!reference.starts_with("#/")) return nullptr;
  try {
    const json::json_pointer where{std::string(reference.substr(1))};
    return schema.contains(where) ? &schema.at(where) : nullptr;
  } catch (const json::exception&) {
    return nullptr;
  }
}

}  // namespace

schema_place place_of(std::string_view key) noexcept {
  if (is_among(same_value, key)) return schema_place::same_value;
  if (is_among(same_value_by_name, key)) return schema_place::same_value_by_name;
  if (is_among(below, key)) return schema_place::below;
  if (is_among(below_by_name, key)) return schema_place::below_by_name;
  return schema_place::none;
}

expected<void, error> rewrite_keywords(json& schema) {
  std::string problem = rewriting(schema).run();
  if (!problem.empty()) return unexpected<error>(error(errc::invalid_configuration, std::move(problem)));
  return {};
}

const json* referred(const json& schema, std::string_view reference) { return find(schema, reference); }
json* referred(json& schema, std::string_view reference) { return find(schema, reference); }

}  // namespace sluice::agent::detail
