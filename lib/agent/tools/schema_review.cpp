#include "agent/tools/schema_review.hpp"

#include "agent/tools/keyword_types.hpp"
#include "agent/tools/schema_keywords.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;

// Each takes stack.
constexpr std::size_t most_followed = 500;

class review {
 public:
  explicit review(json& schema) : schema_(schema) {}

  expected<patterns, error> run() {
    look_at(schema_, "");
    if (problem_.empty()) follow(schema_);
    if (!problem_.empty()) return unexpected<error>(error(errc::invalid_configuration, std::move(problem_)));
    return std::move(found_);
  }

 private:
  void refuse(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }

  void compile(const std::string& pattern, const std::string& place) {
    if (found_.contains(pattern)) return;
    auto compiled = schema_pattern::compile(pattern);
    if (compiled) {
      found_.emplace(pattern, *std::move(compiled));
    } else {
      refuse("has a pattern that cannot be used, \"" + pattern + "\", at \"#" + place + "\": " + compiled.error());
    }
  }

  void names(const std::string& name, const std::string& place) {
    if (name.find('\0') != std::string::npos) refuse("has a name with a NUL in it, at \"#" + place + '"');
  }

  void look_at(json& node, const std::string& place) {
    if (!looked_at_.insert(&node).second) return;
    if (const auto at = node.find("pattern"); at != node.end() && at->is_string()) {
      compile(at->get_ref<const std::string&>(), place + "/pattern");
    }
    if (const auto at = node.find("patternProperties"); at != node.end() && at->is_object()) {
      for (const auto& each : at->items()) compile(each.key(), place + "/patternProperties");
    }
    // Beyond what is for names, valijson would cut them there.
    for (const char* key : {"properties", "patternProperties", "dependencies"}) {
      const auto at = node.find(key);
      if (at == node.end() || !at->is_object()) continue;
      for (const auto& each : at->items()) {
        names(each.key(), place + '/' + key);
        if (each.value().is_array()) all_names(each.value(), place + '/' + key);
      }
    }
    if (const auto at = node.find("required"); at != node.end()) all_names(*at, place + "/required");
    if (const auto at = node.find("multipleOf"); at != node.end() && at->is_number() && at->get<double>() <= 0) {
      refuse("has a multipleOf that is not positive, at \"#" + place + '"');
    }
    each_schema_in(node, [&](json& child, const std::string& steps, bool) { look_at(child, place + steps); });
  }

  void all_names(const json& list, const std::string& place) {
    for (const json& each : list) {
      if (each.is_string()) names(each.get_ref<const std::string&>(), place);
    }
  }

  // A schema that comes to itself again for one and the same value would be followed for ever.
  void follow(json& node) {
    if (!problem_.empty() || done_.contains(&node)) return;
    if (!open_.insert(&node).second) return refuse("refers to itself without an end");
    if (++depth_ > most_followed)
      return refuse("has more than " + std::to_string(most_followed) + " schemas that lead into each other");
    if (const auto at = node.find("$ref"); at != node.end()) {
      const bool is_text = at->is_string();
      json* const target = is_text ? referred(schema_, at->get_ref<const std::string&>()) : nullptr;
      if (target == nullptr || !target->is_object()) {
        refuse("has a $ref to " + at->dump() + ", which is no part of it; nothing is fetched");
      } else {
        // It may stand where no schema is expected.
        look_at(*target, at->get_ref<const std::string&>().substr(1));
        follow(*target);
      }
    }
    std::vector<json*> below;
    each_schema_in(node, [&](json& child, const std::string&, bool same_value) {
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
    --depth_;
  }

  json& schema_;
  patterns found_;
  std::string problem_;
  std::set<const json*> looked_at_;
  std::set<const json*> open_;
  std::size_t depth_ = 0;
  std::set<const json*> done_;
};

}  // namespace

expected<patterns, error> review_schema(json& schema) {
  if (auto typed = check_keyword_types(schema); !typed) return unexpected<error>(std::move(typed).error());
  if (auto rewritten = rewrite_keywords(schema); !rewritten) return unexpected<error>(std::move(rewritten).error());
  return review(schema).run();
}

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
