#include "agent/tools/argument_mismatch.hpp"

#include "agent/tools/schema_keywords.hpp"
#include "agent/tools/tool_words.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;

constexpr std::size_t most_sentences = 2;
constexpr std::size_t most_listed = 20;
// Of references that lead to references.
constexpr int most_hops = 16;
// Schemas that values are held against, and as much for each so many bytes of a place's name.
constexpr std::size_t most_steps = 100'000;
constexpr std::size_t bytes_per_step = 256;
// Values within values, and schemas of the same value: each takes stack.
constexpr std::size_t most_open = 500;

std::string quoted(const std::string& text) { return '"' + shown(text) + '"'; }

std::string written(const json& value) {
  return value.is_string() ? quoted(value.get_ref<const std::string&>())
                           : shown(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string described(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return "the string " + written(value);
  if (value.is_number()) return "the number " + written(value);
  return written(value);
}

std::string_view called(std::string_view type) {
  if (type == "string") return "a string";
  if (type == "integer") return "an integer";
  if (type == "number") return "a number";
  if (type == "boolean") return "true or false";
  if (type == "array") return "an array";
  if (type == "object") return "an object";
  return type;
}

bool is_of(const json& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "null") return value.is_null();
  return true;
}

/// `a, b or c`.
std::string alternatives(const std::vector<std::string>& of) {
  std::string all;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (i > 0) all += i + 1 == of.size() ? " or " : ", ";
    all += of[i];
  }
  return all;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// A place among the arguments: `days`, `stops[2].city`; empty for all of them.
class place {
 public:
  place member(const std::string& name) const { return place(path_.empty() ? name : path_ + '.' + name); }
  place item(std::size_t at) const { return place(path_ + '[' + std::to_string(at) + ']'); }
  std::string subject() const { return path_.empty() ? "the object of arguments" : "argument " + quoted(path_); }

  std::size_t size() const { return path_.size(); }

  place() = default;

 private:
  explicit place(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class search {
 public:
  explicit search(const json& schema) : schema_(schema) {}

  void judge(const json& node, const json& value, const place& where) {
    if (++open_ < most_open) look(node, value, where);
    --open_;
  }

  std::vector<std::string> sentences;

 private:
  void look(const json& node, const json& value, const place& where) {
    steps_ += 1 + where.size() / bytes_per_step;
    const json* rules = &node;
    for (int hop = 0; rules != nullptr && rules->is_object() && rules->contains("$ref"); ++hop) {
      const json& reference = rules->at("$ref");
      rules = hop < most_hops && reference.is_string() ? referred(schema_, reference.get_ref<const std::string&>())
                                                       : nullptr;
    }
    if (rules == nullptr || !rules->is_object() || full()) return;
    if (!of_type(*rules, value, where)) return;
    one_of_values(*rules, value, where);
    bounds(*rules, value, where);
    if (value.is_object()) members(*rules, value, where);
    if (value.is_array()) items(*rules, value, where);
    if (const auto all = rules->find("allOf"); all != rules->end() && all->is_array()) {
      for (const json& each : *all) {
        if (full()) return;
        judge(each, value, where);
      }
    }
  }

  [[nodiscard]] bool full() const { return sentences.size() >= most_sentences || steps_ > most_steps; }
  void say(std::string sentence) {
    if (!full() && std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) {
      sentences.push_back(std::move(sentence));
    }
  }

  /// The types that a schema allows, its plain alternatives included; none when any may do.
  std::vector<std::string> types(const json& rules) const {
    std::vector<std::string> all;
    if (const auto at = rules.find("type"); at != rules.end()) {
      if (at->is_string()) all.push_back(at->get<std::string>());
      if (at->is_array()) all = at->get<std::vector<std::string>>();
      return all;
    }
    for (const char* key : {"anyOf", "oneOf"}) {
      const auto at = rules.find(key);
      if (at == rules.end() || !at->is_array()) continue;
      for (const json& each : *at) {
        const json* one = &each;
        if (each.is_object() && each.contains("$ref") && each.at("$ref").is_string()) {
          one = referred(schema_, each.at("$ref").get_ref<const std::string&>());
        }
        if (one == nullptr || !one->is_object() || !one->contains("type") || !one->at("type").is_string()) return {};
        all.push_back(one->at("type").get<std::string>());
      }
      return all;
    }
    return all;
  }

  bool of_type(const json& rules, const json& value, const place& where) {
    const auto allowed = types(rules);
    if (allowed.empty()) return true;
    if (std::any_of(allowed.begin(), allowed.end(), [&](const auto& type) { return is_of(value, type); })) return true;
    std::vector<std::string> words;
    for (const std::string& type : allowed) {
      std::string word(called(type));
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
    }
    say(where.subject() + " must be " + alternatives(words) + ", but is " + described(value));
    return false;
  }

  void one_of_values(const json& rules, const json& value, const place& where) {
    if (const auto at = rules.find("const"); at != rules.end() && *at != value) {
      say(where.subject() + " must be " + written(*at) + ", but is " + described(value));
    }
    const auto at = rules.find("enum");
    if (at == rules.end() || !at->is_array() || std::find(at->begin(), at->end(), value) != at->end()) return;
    std::vector<std::string> values;
    for (const json& each : *at) {
      if (values.size() == most_listed) {
        values.push_back("one of " + std::to_string(at->size() - most_listed) + " others");
        break;
      }
      values.push_back(written(each));
    }
    say(where.subject() + " must be " + alternatives(values) + ", but is " + described(value));
  }

  void bounds(const json& rules, const json& value, const place& where) {
    const auto number = [&](const char* key) -> const json* {
      const auto at = rules.find(key);
      return at != rules.end() && at->is_number() ? &*at : nullptr;
    };
    const auto refuse = [&](const char* must, const json& bound, const char* unit = "") {
      say(where.subject() + " must " + must + ' ' + written(bound) + unit + ", but is " + described(value));
    };
    const auto count = [&](const char* least, const char* most, const char* what, std::size_t is) {
      const auto bad = [&](const char* how, const json& bound) {
        say(where.subject() + " must have at " + how + ' ' + written(bound) + ' ' + what + ", but has " +
            std::to_string(is));
      };
      if (const json* bound = number(least); bound != nullptr && is < *bound) bad("least", *bound);
      if (const json* bound = number(most); bound != nullptr && is > *bound) bad("most", *bound);
    };
    if (value.is_number()) {
      if (const json* bound = number("minimum"); bound != nullptr && value < *bound) refuse("be at least", *bound);
      if (const json* bound = number("maximum"); bound != nullptr && value > *bound) refuse("be at most", *bound);
      if (const json* bound = number("exclusiveMinimum"); bound != nullptr && value <= *bound)
        refuse("be above", *bound);
      if (const json* bound = number("exclusiveMaximum"); bound != nullptr && value >= *bound)
        refuse("be below", *bound);
    }
    if (value.is_string())
      count("minLength", "maxLength", "characters", characters(value.get_ref<const std::string&>()));
    if (value.is_array()) count("minItems", "maxItems", "items", value.size());
    if (value.is_object()) count("minProperties", "maxProperties", "members", value.size());
  }

  void members(const json& rules, const json& value, const place& where) {
    const auto known = rules.find("properties");
    const bool names = known != rules.end() && known->is_object();
    if (const auto needed = rules.find("required"); needed != rules.end() && needed->is_array()) {
      for (const json& each : *needed) {
        if (!each.is_string() || value.contains(each.get_ref<const std::string&>())) continue;
        const auto& name = each.get_ref<const std::string&>();
        say(where.member(name).subject() + " is missing" +
            expected_of(names && known->contains(name) ? known->at(name) : json()));
      }
    }
    const auto others = rules.find("additionalProperties");
    for (const auto& each : value.items()) {
      if (full()) return;
      if (names && known->contains(each.key())) {
        judge(known->at(each.key()), each.value(), where.member(each.key()));
      } else if (others != rules.end() && !rules.contains("patternProperties")) {
        if (*others == false) say(unknown(where.member(each.key()), names ? *known : json::object()));
        if (others->is_object()) judge(*others, each.value(), where.member(each.key()));
      }
    }
  }

  std::string expected_of(const json& rules) const {
    if (!rules.is_object()) return {};
    std::vector<std::string> words;
    for (const std::string& type : types(rules)) words.emplace_back(called(type));
    return words.empty() ? std::string() : "; " + alternatives(words) + " is expected";
  }

  static std::string unknown(const place& which, const json& known) {
    std::string sentence = which.subject() + " is not known; ";
    if (known.empty()) return sentence + "there are none";
    sentence += "there are: ";
    std::size_t listed = 0;
    for (const auto& each : known.items()) {
      if (listed++ > 0) sentence += ", ";
      if (listed > most_listed) return sentence + "...";
      sentence += quoted(each.key());
    }
    return sentence;
  }

  void items(const json& rules, const json& value, const place& where) {
    const auto at = rules.find("items");
    if (at == rules.end()) return;
    for (std::size_t i = 0; i < value.size() && !full(); ++i) {
      if (at->is_object()) judge(*at, value[i], where.item(i));
      if (at->is_array() && i < at->size()) judge((*at)[i], value[i], where.item(i));
    }
  }

  const json& schema_;
  std::size_t steps_ = 0;
  std::size_t open_ = 0;
};

}  // namespace

std::optional<std::string> describe_mismatch(const json& schema, const json& arguments) {
  search found(schema);
  found.judge(schema, arguments, place());
  if (found.sentences.empty()) return std::nullopt;
  std::string all = std::move(found.sentences.front());
  for (std::size_t i = 1; i < found.sentences.size(); ++i) all += ". " + found.sentences[i];
  return all;
}

}  // namespace sluice::agent::detail
