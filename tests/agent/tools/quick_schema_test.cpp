#include "agent/tools/quick_schema.hpp"

#include "agent/tools/argument_schema.hpp"
#include "agent/tools/schema_keywords.hpp"
#include "agent/tools/schema_review.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using sluice::agent::detail::argument_schema;
using sluice::agent::detail::most_argument_depth;
using sluice::agent::detail::nesting_depth;
using sluice::agent::detail::normalise_numbers;
using sluice::agent::detail::quick_schema;
using sluice::agent::detail::referred;
using sluice::agent::detail::review_schema;

namespace {

using json = nlohmann::json;

std::optional<quick_schema> made(const std::string& text) {
  json schema = json::parse(text);
  normalise_numbers(schema);
  REQUIRE_MESSAGE(review_schema(schema), text);
  return quick_schema::compile(schema);
}

bool is_quick(const std::string& schema) { return made(schema).has_value(); }

bool fits(const std::string& schema, std::string_view arguments) {
  const auto quick = made(schema);
  REQUIRE_MESSAGE(quick, schema);
  return quick->fits(arguments, most_argument_depth);
}

std::string nested(std::size_t levels) {
  return R"({"a":)" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
}

/// valijson as it comes, over JSON that is read in the strictest way.
bool valijson_takes(const json& schema, const std::string& arguments) {
  if (arguments.find('\0') != arguments.npos || arguments.starts_with("\xEF\xBB\xBF")) return false;
  json value = json::parse(arguments, nullptr, false);
  if (!value.is_object() || nesting_depth(arguments) > most_argument_depth) return false;
  normalise_numbers(value);
  valijson::Schema compiled;
  const valijson::adapters::NlohmannJsonAdapter source(schema);
  valijson::SchemaParser().populateSchema(source, compiled);
  const valijson::adapters::NlohmannJsonAdapter target(value);
  return valijson::Validator().validate(compiled, target, nullptr);
}

// What numbers and texts have at their edges.
const std::vector<std::string> numbers{"0",
                                       "-0",
                                       "1",
                                       "1.0",
                                       "2.5",
                                       "-1",
                                       "3",
                                       "1e2",
                                       "1e-3",
                                       "-0.0",
                                       "9007199254740992",
                                       "9007199254740993",
                                       "9007199254740994.0",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "-9223372036854775808",
                                       "18446744073709551615",
                                       "1e17",
                                       "4.9e-324"};
const std::vector<std::string> odd_numbers{"1e400",
                                           "-1e400",
                                           "18446744073709551616",
                                           "-9223372036854775809",
                                           "1e-400",
                                           "01",
                                           "1.",
                                           ".5",
                                           "-",
                                           "+1",
                                           "NaN",
                                           "0x1",
                                           "1e",
                                           "123456789012345678901234567890"};
/// An integer of more digits than surely fit.
bool has_giant(const std::string& arguments) {
  std::size_t digits = 0;
  for (const char c : arguments) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits == 20) return true;
  }
  return arguments.find("-9223372036854775809") != arguments.npos;
}

const std::vector<std::string> texts{R"("")",
                                     R"("a")",
                                     R"("\u0061")",
                                     R"("ab")",
                                     R"("\ud83d\ude00")",
                                     "\"\xc3\xa4\"",
                                     R"("\u00e4\u20ac")",
                                     R"("a\"\\\/b\n")",
                                     "\"\xf0\x9f\x98\x80x\"",
                                     R"("abcdefghij")"};
const std::vector<std::string> odd_texts{R"("\ud83d")",       R"("\ude00")",  R"("\ud83d\u0061")", R"("\ud83dx")",
                                         R"("\uD83D\uDE0")",  "\"\xff\"",     "\"\xc0\x80\"",      "\"\xed\xa0\x80\"",
                                         "\"a\nb\"",          R"("\x61")",    R"("\u00g1")",       "\"a",
                                         R"("\ud83d\ud83d")", R"("\\ud83d")", "\"\x01\"",          R"("\u0000a")"};
const std::vector<std::string> constants{"null", "true", "false"};
const std::vector<std::string> odd_constants{"nul", "True", "undefined", "", ",", "1 2", "{,}", "[1,]", "{\"a\"}"};
// Names that schemas have, and other ways to write them.
const std::vector<std::string> names{R"("a")", R"("b")", R"("c")", "\"\xc3\xa4\"", R"("")"};
const std::vector<std::string> odd_names{R"("\u0061")", R"("d")", R"("\u00e4")", R"("a\u0000")", R"("\ud83d")"};

// At its full size whatever the round, so that all that is there comes up.
int below(int most) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, most)); }
bool in(int times, int of) { return below(of) < times; }
const std::string& one_of(const std::vector<std::string>& all) {
  return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
}

std::string any_scalar(bool odd) {
  switch (below(3)) {
    case 0: return one_of(odd ? odd_numbers : numbers);
    case 1: return one_of(odd ? odd_texts : texts);
    default: return one_of(odd ? odd_constants : constants);
  }
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& each : all) text += (text.empty() ? "" : ",") + each;
  return text;
}

std::string a_schema(int depth);

std::string schemas(int depth) {
  std::vector<std::string> all;
  const int count = 1 + below(3);
  for (int i = 0; i < count; ++i) all.push_back(a_schema(depth));
  return "[" + joined(all) + "]";
}

std::string a_keyword(int depth) {
  const std::string count = std::to_string(below(4));
  switch (below(depth > 0 ? 24 : 15)) {
    case 0:
    case 1: {
      const std::vector<std::string> types{R"("string")", R"("integer")", R"("number")", R"("boolean")",
                                           R"("null")",   R"("array")",   R"("object")"};
      if (in(2, 3)) return R"("type":)" + one_of(types);
      return R"("type":[)" + one_of(types) + "," + one_of(types) + "]";
    }
    case 2: {
      std::vector<std::string> values;
      const int many = 1 + below(4);
      for (int i = 0; i < many; ++i) values.push_back(any_scalar(false));
      return R"("enum":[)" + joined(values) + "]";
    }
    case 3: return R"("const":)" + any_scalar(false);
    case 4: return R"("minimum":)" + one_of(numbers);
    case 5: return R"("maximum":)" + one_of(numbers);
    case 6: return R"("exclusiveMinimum":)" + one_of(numbers);
    case 7: return R"("exclusiveMaximum":)" + one_of(numbers);
    case 8: return R"("minLength":)" + count;
    case 9: return R"("maxLength":)" + count;
    case 10: return R"("minItems":)" + count;
    case 11: return R"("maxItems":)" + count + ".0";
    case 12: return R"("minProperties":)" + count;
    case 13: return R"("maxProperties":)" + count;
    case 14: return R"("description":"d","default":[1],"x-order":3)";
    case 15: return R"("items":)" + a_schema(depth - 1);
    case 16: return R"("additionalProperties":)" + (in(1, 2) ? std::string("false") : a_schema(depth - 1));
    case 17: return R"("required":[)" + one_of(names) + "," + one_of(names) + "]";
    case 18: return R"("anyOf":)" + schemas(depth - 1);
    case 19: return R"("oneOf":)" + schemas(depth - 1);
    case 20: return R"("allOf":)" + schemas(depth - 1);
    default: {
      std::string text = R"("type":"object","properties":{)" + names[0] + ":" + a_schema(depth - 1);
      for (std::size_t i = 1; i < names.size(); ++i) {
        if (in(1, 3)) text += "," + names[i] + ":" + a_schema(depth - 1);
      }
      return text + "}";
    }
  }
}

/// What a keyword is added for only where it is not there yet: no name twice.
std::string name_of(const std::string& keyword) { return keyword.substr(0, keyword.find(':') + 1); }

std::string a_schema(int depth) {
  switch (below(12)) {
    case 0: return "true";
    case 1: return in(1, 4) ? "false" : "{}";
    case 2: return R"({"$ref":"#/$defs/d"})";
    case 3: return in(1, 4) ? R"({"$ref":"#"})" : R"({"$ref":"#/$defs/e","title":"t"})";
    default: break;
  }
  std::vector<std::string> keywords;
  const int count = 1 + below(3);
  for (int i = 0; i < count; ++i) {
    std::string keyword = a_keyword(depth);
    const bool is_there = std::any_of(keywords.begin(), keywords.end(),
                                      [&](const std::string& each) { return each.starts_with(name_of(keyword)); });
    if (!is_there) keywords.push_back(std::move(keyword));
  }
  return "{" + joined(keywords) + "}";
}

std::string a_root() {
  std::string text = R"({"type":"object","properties":{)" + names[0] + ":" + a_schema(2);
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (in(1, 2)) text += "," + names[i] + ":" + a_schema(2);
  }
  text += R"(},"$defs":{"d":)" + a_schema(1) + R"(,"e":)" + a_schema(1) + "}";
  if (in(1, 2)) text += R"(,"required":["a"])";
  if (in(1, 2)) text += R"(,"additionalProperties":false)";
  const std::string more = a_keyword(1);
  const bool is_there =
      more.starts_with("\"type\"") || more.starts_with("\"required\"") || more.starts_with("\"additionalProperties\"");
  if (in(1, 6) && !is_there) text += "," + more;
  return text + "}";
}

std::string any_value(int depth) {
  const int what = below(depth > 0 ? 10 : 7);
  if (what < 7) return any_scalar(in(1, 60));
  std::vector<std::string> all;
  const int count = below(4);
  for (int i = 0; i < count; ++i) {
    const std::string name = what == 7 ? "" : one_of(in(1, 6) ? odd_names : names) + ":";
    all.push_back(name + any_value(depth - 1));
  }
  return what == 7 ? "[" + joined(all) + "]" : "{" + joined(all) + "}";
}

/// One that is probably of the schema.
std::string value_for(const json& root, const json& schema, int depth) {
  if (!schema.is_object() || depth == 0 || in(1, 40)) return any_value(1);
  if (schema.contains("$ref")) {
    const json* const target = referred(root, schema["$ref"].get<std::string>());
    return target == nullptr ? "null" : value_for(root, *target, depth - 1);
  }
  if (schema.contains("const")) return schema["const"].dump();
  for (const char* list : {"enum", "anyOf", "oneOf", "allOf"}) {
    if (!schema.contains(list) || schema[list].empty() || in(1, 3)) continue;
    const json& chosen = schema[list][static_cast<std::size_t>(below(static_cast<int>(schema[list].size())))];
    return std::string_view(list) == "enum" ? chosen.dump() : value_for(root, chosen, depth - 1);
  }
  std::string type = "object";
  if (const auto at = schema.find("type"); at != schema.end()) {
    type = at->is_string() ? at->get<std::string>() : at->front().get<std::string>();
  } else if (!schema.contains("properties")) {
    type = schema.contains("items") ? "array" : "";
  }
  if (type == "string") return one_of(texts);
  if (type == "integer" || type == "number") return one_of(numbers);
  if (type == "boolean") return in(1, 2) ? "true" : "false";
  if (type == "null") return "null";
  std::vector<std::string> all;
  if (type == "array") {
    const int count = below(4);
    for (int i = 0; i < count; ++i) {
      all.push_back(value_for(root, schema.contains("items") ? schema["items"] : json(true), depth - 1));
    }
    return "[" + joined(all) + "]";
  }
  if (type != "object") return any_value(1);
  if (const auto at = schema.find("properties"); at != schema.end()) {
    for (const auto& each : at->items()) {
      if (in(4, 5)) all.push_back(json(each.key()).dump() + ":" + value_for(root, each.value(), depth - 1));
    }
  }
  if (in(1, 12)) all.push_back(one_of(in(1, 3) ? odd_names : names) + ":" + any_value(1));
  return "{" + joined(all) + "}";
}

std::string spoilt(std::string text) {
  const auto at = static_cast<std::size_t>(below(static_cast<int>(text.size()) + 1));
  switch (below(8)) {
    case 0: return text + one_of({" ", "x", "}", ",", "{}", "\n\t ", "/**/"});
    case 1: return text + std::string(1, '\0');
    case 2: return "\xEF\xBB\xBF" + text;
    case 3: return text.substr(0, at);
    case 4: return text.insert(at, one_of({" ", ",", "\"", "\\", "\xc3", "[", "0", "-", ":", "\f"}));
    case 5: return text.insert(at, 1, '\0');
    case 6: return one_of({"", " ", "\n", "null", "[]", "[{}]", "\"{}\"", "{}{}"});
    default: return at < text.size() ? text.erase(at, 1) : text;
  }
}

}  // namespace

TEST_CASE("what is told at once is what valijson tells") {
  std::size_t right = 0;
  std::size_t wrong = 0;
  const bool held = rc::check("quick and full agree", [&] {
    const std::string text = a_root();
    RC_LOG() << text << '\n';
    const auto schema = argument_schema::compile(text);
    if (!schema) return;
    json reviewed = json::parse(text);
    normalise_numbers(reviewed);
    RC_ASSERT(review_schema(reviewed).has_value());
    const auto quick = quick_schema::compile(reviewed);
    RC_ASSERT(quick.has_value());
    for (int i = 0; i < 30; ++i) {
      std::string arguments = value_for(reviewed, reviewed, 5);
      if (in(1, 8)) arguments = spoilt(std::move(arguments));
      RC_LOG() << arguments << '\n';
      const bool at_once = quick->fits(arguments, most_argument_depth);
      const auto in_full = schema->check_in_full(arguments);
      const auto usual = schema->check(arguments);
      // An integer that is longer than any that the processor has is left to valijson.
      if (!has_giant(arguments)) RC_ASSERT(at_once == in_full.has_value());
      if (at_once) RC_ASSERT(in_full.has_value());
      RC_ASSERT(usual.has_value() == in_full.has_value());
      if (!usual) RC_ASSERT(usual.error().message() == in_full.error().message());
      // It stops at a NUL when it counts characters, and does not see names that are given twice.
      if (at_once && arguments.find("\\u0000") == arguments.npos) RC_ASSERT(valijson_takes(reviewed, arguments));
      (at_once ? right : wrong) += 1;
    }
  });
  CHECK(held);
  CHECK(right > 100);
  CHECK(wrong > 100);
}

TEST_CASE("the common schemas are quick, and those with anything else are not") {
  CHECK(is_quick("{}"));
  CHECK(is_quick(R"({"type":"object","properties":{"a":{"type":["string","null"],"format":"uri","title":"A"}},
    "required":["a","b"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"})"));
  CHECK(is_quick(R"({"properties":{"a":{"enum":["x",1,null]},"b":{"$ref":"#/$defs/b"}},"$defs":{"b":{"minimum":1}}})"));
  for (const char* other :
       {R"("not":{})", R"("if":{},"then":{})", R"("patternProperties":{"a":{}})", R"("propertyNames":{"minLength":1})",
        R"("dependentRequired":{"a":["b"]})", R"("properties":{"a":{"pattern":"a"}})",
        R"("properties":{"a":{"multipleOf":2}})", R"("properties":{"a":{"uniqueItems":true}})",
        R"("properties":{"a":{"contains":{}}})", R"("properties":{"a":{"items":[{}]}})",
        R"("properties":{"a":{"prefixItems":[{}]}})", R"("properties":{"a":{"const":{"b":1}}})",
        R"("properties":{"a":{"enum":[[]]}})", R"("properties":{"a/b":{}})"}) {
    CAPTURE(other);
    CHECK_FALSE(is_quick("{" + std::string(other) + "}"));
  }
}

TEST_CASE("numbers at their edges are what they are for the handler") {
  const std::string whole = R"({"properties":{"n":{"type":"integer"}}})";
  for (const char* right :
       {"1.0", "-0", "-0.0", "1e3", "9007199254740992.0", "9223372036854775807", "-9223372036854775808"}) {
    CAPTURE(right);
    CHECK(fits(whole, R"({"n":)" + std::string(right) + "}"));
  }
  for (const char* wrong : {"1.5", "1e400", "9223372036854775808", "18446744073709551616", "1e17", "true", "\"1\""}) {
    CAPTURE(wrong);
    CHECK_FALSE(fits(whole, R"({"n":)" + std::string(wrong) + "}"));
  }
  const std::string bounded =
      R"({"properties":{"n":{"type":"number","minimum":-1,"exclusiveMaximum":18446744073709551615}}})";
  CHECK(fits(bounded, R"({"n":9223372036854775808})"));
  CHECK(fits(bounded, R"({"n":-1.0})"));
  CHECK_FALSE(fits(bounded, R"({"n":18446744073709551615})"));
  CHECK_FALSE(fits(bounded, R"({"n":-1.0000000001})"));
}

TEST_CASE("names that are given twice are seen at any level, however they are written") {
  CHECK(fits("{}", R"({"a":{"a":1,"b":{"a":1}},"b":[{"a":1},{"a":1}]})"));
  CHECK_FALSE(fits("{}", R"({"a":1,"a":1})"));
  CHECK_FALSE(fits("{}", R"({"a":1,"\u0061":1})"));
  CHECK_FALSE(fits("{}", R"({"x":[[{"b":1,"a":1,"b":2}]]})"));
}

TEST_CASE("what is no JSON is not taken, wherever the fault is") {
  for (const char* wrong : {"", " ", "{", "{}}", "{} x", "[]", "null", R"({"a":1,})", R"({"a" 1})", R"({a:1})",
                            R"({"a":tru})", R"({"a":01})", R"({"a":"\x"})", R"({"a":"\ud83d"})", R"({"\ud83d":1})",
                            R"({"a":"\ude00\ud83d"})", "{\"a\":\"\xff\"}", "{\"a\":\"\x01\"}", "\xEF\xBB\xBF{}"}) {
    CAPTURE(wrong);
    CHECK_FALSE(fits("{}", wrong));
  }
  CHECK_FALSE(fits("{}", std::string_view("{}\0", 3)));
  CHECK_FALSE(fits("{}", std::string_view("{\"a\":\"\0\"}", 9)));
  CHECK(fits("{}", " {\"a\" :\n\t1 }\r\n"));
  CHECK(fits("{}", R"({"a":"\ud83d\ude00\u0000\\ud83d"})"));
}

TEST_CASE("nesting and length are bounded as they are in full") {
  CHECK(fits("{}", nested(most_argument_depth)));
  CHECK_FALSE(fits("{}", nested(most_argument_depth + 1)));
  CHECK_FALSE(fits("{}", R"({"a":)" + std::string(1'000'000, '[')));
  const std::string list =
      R"({"properties":{"a":{"type":"array","items":{"type":"integer"}},"s":{"maxLength":1000000}}})";
  std::string many = "1";
  for (int i = 0; i < 500'000; ++i) many += ",1";
  CHECK(fits(list, R"({"a":[)" + many + "]}"));
  CHECK_FALSE(fits(list, R"({"a":[)" + many + ",null]}"));
  CHECK(fits(list, R"({"s":")" + std::string(1'000'000, 's') + "\"}"));
  CHECK_FALSE(fits(list, R"({"s":")" + std::string(1'000'001, 's') + "\"}"));
  // A short text after a long one.
  CHECK(fits(list, R"({"a":[1]})"));
}

TEST_CASE("alternatives that would take long are left to who counts") {
  std::string graph = R"({"properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{)";
  for (int i = 0; i < 30; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
    graph += "\"d" + std::to_string(i) + R"(":{"allOf":[)" + next + "," + next + "]},";
  }
  graph += R"("d30":{"type":"string"}}})";
  CHECK_FALSE(fits(graph, R"({"x":"a"})"));
  CHECK(fits(graph, R"({"y":"a"})"));
}
