#include "agent/tools/schema_review.hpp"

#include "agent/tools/argument_schema.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;

// Where schemas stand in a schema. Those of `here` judge the same value as the one that they stand in.
constexpr std::array one_here{"not", "if", "then", "else"};
constexpr std::array list_here{"allOf", "anyOf", "oneOf"};
constexpr std::array map_here{"dependencies"};
constexpr std::array one_below{"additionalProperties", "propertyNames", "contains", "additionalItems", "items"};
constexpr std::array map_below{"properties", "patternProperties", "definitions", "$defs"};

/// Calls `visit(child, same_value)` for each schema that stands in this one.
template <typename Json, typename Visit>
void each_child(Json& node, Visit visit) {
  const auto single = [&](const char* key, bool same) {
    const auto at = node.find(key);
    if (at == node.end()) return;
    if (at->is_object()) visit(*at, same);
    if (at->is_array()) {
      for (auto& each : *at) {
        if (each.is_object()) visit(each, same);
      }
    }
  };
  const auto map = [&](const char* key, bool same) {
    const auto at = node.find(key);
    if (at == node.end() || !at->is_object()) return;
    for (auto& each : *at) {
      if (each.is_object()) visit(each, same);
    }
  };
  for (const char* key : one_here) single(key, true);
  for (const char* key : list_here) single(key, true);
  for (const char* key : map_here) map(key, true);
  for (const char* key : one_below) single(key, false);
  for (const char* key : map_below) map(key, false);
}

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

class review {
 public:
  explicit review(json& schema) : schema_(schema) {}

  expected<reviewed_schema, error> run() {
    mend(schema_);
    if (problem_.empty()) follow(schema_);
    if (!problem_.empty()) return unexpected<error>(error(errc::invalid_configuration, std::move(problem_)));
    count_steps();
    return std::move(found_);
  }

 private:
  void refuse(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }

  void compile(const std::string& pattern) {
    if (found_.compiled.contains(pattern)) return;
    try {
#ifdef __GLIBCXX__
      // Without going back over the text, for which its engine takes stack by the length of the text, and time without
      // a bound.
      constexpr auto how = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
      constexpr auto how = std::regex::ECMAScript;
#endif
      found_.compiled.emplace(pattern, std::regex(pattern, how));
    } catch (const std::regex_error& wrong) {
      refuse("has a pattern that cannot be used, \"" + pattern + "\": " + wrong.what());
    }
  }

  void mend(json& node) {
    if (!mended_.insert(&node).second) return;
    node.erase("format");
    if (const auto at = node.find("pattern"); at != node.end() && at->is_string()) {
      compile(at->template get_ref<const std::string&>());
    }
    if (const auto at = node.find("patternProperties"); at != node.end() && at->is_object()) {
      found_.matches_names = found_.matches_names || !at->empty();
      for (const auto& each : at->items()) compile(each.key());
    }
    if (const auto at = node.find("uniqueItems"); at != node.end() && *at == true) {
      const auto most = node.find("maxItems");
      if (most == node.end() || (most->is_number() && *most > most_unique_items)) node["maxItems"] = most_unique_items;
    }
    if (const auto at = node.find("multipleOf");
        at != node.end() && at->is_number() && at->template get<double>() <= 0) {
      refuse("has a multipleOf that is not positive");
    }
    each_child(node, [this](json& child, bool) { mend(child); });
    to_count_.push_back(&node);
  }

  // Within `allOf`, which is looked at before all else: behind what is there, since references count its places. Inner
  // schemas come first in the list, so that none has moved when its turn comes.
  void count_steps() {
    for (json* const node : to_count_) {
      const auto unique = node->find("uniqueItems");
      json step = json::object();
      step[counted_keyword] = unique != node->end() && *unique == true;
      json& all = (*node)["allOf"];
      if (all.is_null() || all.is_array()) all.push_back(std::move(step));
    }
  }

  // A schema that comes to itself again for one and the same value would be followed for ever.
  void follow(json& node) {
    if (!problem_.empty() || done_.contains(&node)) return;
    if (!open_.insert(&node).second) return refuse("refers to itself without an end");
    if (const auto at = node.find("$ref"); at != node.end()) {
      json* const target = at->is_string() ? find(schema_, at->get_ref<const std::string&>()) : nullptr;
      if (target == nullptr || !target->is_object()) {
        refuse("has a $ref to " + at->dump() + ", which is no part of it; nothing is fetched");
      } else {
        // It may stand where no schema is expected.
        mend(*target);
        follow(*target);
      }
    }
    std::vector<json*> below;
    each_child(node, [&](json& child, bool same_value) {
      if (same_value) {
        follow(child);
      } else {
        below.push_back(&child);
      }
    });
    open_.erase(&node);
    done_.insert(&node);
    // What judges another value may come back to here.
    std::set<const json*> outer;
    outer.swap(open_);
    for (json* const child : below) follow(*child);
    open_.swap(outer);
  }

  json& schema_;
  reviewed_schema found_;
  std::string problem_;
  std::set<const json*> mended_;
  std::vector<json*> to_count_;
  std::set<const json*> open_;
  std::set<const json*> done_;
};

}  // namespace

expected<reviewed_schema, error> review_schema(json& schema) { return review(schema).run(); }

const json* referred(const json& schema, std::string_view reference) { return find(schema, reference); }

void normalise_numbers(json& value) {
  if (value.is_structured()) {
    for (auto& each : value) normalise_numbers(each);
  } else if (value.is_number_float()) {
    const auto number = value.get<double>();
    // Beyond 2^53 it would not be exact.
    if (std::trunc(number) == number && std::abs(number) <= 0x1p53) value = static_cast<std::int64_t>(number);
  } else if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      value = static_cast<double>(number);
  }
}

std::size_t nesting_depth(std::string_view text) noexcept {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

}  // namespace sluice::agent::detail
