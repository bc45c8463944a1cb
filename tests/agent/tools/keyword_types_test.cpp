#include "agent/tools/keyword_types.hpp"

#include "agent/tools/argument_schema.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using sluice::agent::detail::argument_schema;
using sluice::agent::detail::check_keyword_types;

namespace {

std::string refusal(const std::string& schema) {
  const auto made = argument_schema::compile(schema);
  if (made) return "taken";
  CHECK(made.error().is(sluice::errc::invalid_configuration));
  return made.error().message();
}

std::string of_a(const std::string& keyword, const std::string& value) {
  return R"({"type":"object","properties":{"a":{")" + keyword + "\":" + value + "}}}";
}

/// Of each of `keywords`, each of `wrong` is refused in the same words, and each of `right` is taken.
void are(const std::vector<std::string>& keywords, const std::string& why, const std::vector<std::string>& wrong,
         const std::vector<std::string>& right) {
  for (const std::string& keyword : keywords) {
    for (const std::string& each : wrong) {
      CAPTURE(each);
      CHECK(refusal(of_a(keyword, each)) == "has \"" + keyword + "\" at \"#/properties/a\", which " + why);
    }
    for (const std::string& each : right) {
      CAPTURE(keyword + ": " + each);
      CHECK(refusal(of_a(keyword, each)) == "taken");
    }
  }
}

}  // namespace

TEST_CASE("types have names that are known") {
  are({"type"}, R"(is none of "array", "boolean", "integer", "null", "number", "object", "string", nor a list of them)",
      {R"("any")", R"("strnig")", R"("String")", "3", "null", "[]", "{}", R"(["string","any"])",
       R"([{"type":"null"}])"},
      {R"("array")", R"("boolean")", R"("integer")", R"("null")", R"("number")", R"("object")", R"("string")",
       R"(["string","null"])"});
}

TEST_CASE("limits are numbers") {
  are({"minimum", "maximum"}, "is no number", {R"("1")", R"("low")", "null", "true", "[1]", "{}"},
      {"1", "-2.5", "1e300", "0"});
  are({"multipleOf"}, "is no number", {R"("1")", "null", "true"}, {"1", "0.5"});
  are({"exclusiveMinimum", "exclusiveMaximum"}, "is no number", {R"("1")", "null", "[]"}, {"1", "-2.5", "false"});
  CHECK(refusal(of_a("exclusiveMinimum", R"(true,"minimum":1)")) == "taken");
  CHECK(refusal(of_a("exclusiveMaximum", R"(true,"minimum":1)")) ==
        "has \"exclusiveMaximum\" at \"#/properties/a\", which is true without a \"maximum\"");
}

TEST_CASE("counts are whole numbers that are not negative") {
  are({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
       "maxContains"},
      "is no whole number from 0 on, or too large", {"-1", "1.5", "1e30", R"("1")", "null", "true", "[]"},
      {"0", "3", "3.0", "1e3", "9223372036854775807"});
}

TEST_CASE("choices are lists of schemas with at least one in them") {
  are({"anyOf", "allOf", "oneOf"}, "is no list of schemas with at least one in it",
      {"[]", "{}", "3", "null", R"("x")", "[3]", "[{},null]"}, {"[{}]", R"([true,{"type":"null"}])"});
  are({"enum"}, "is no list of values with at least one in it", {"[]", R"("red")", "3", "{}", "null", R"({"a":1})"},
      {"[null]", R"(["red",1,[],{}])"});
}

TEST_CASE("what is required is a list of strings") {
  are({"required"}, "is no list of strings", {R"("a")", "true", "[1]", R"(["a",null])", "{}", "null"},
      {"[]", R"(["a","b"])"});
}

TEST_CASE("flags and patterns") {
  are({"uniqueItems"}, "is neither true nor false", {"1", R"("yes")", "null"}, {"true", "false"});
  are({"pattern"}, "is no string", {"1", "null", "[]"}, {R"("^a")"});
}

TEST_CASE("schemas within schemas are objects or flags") {
  are({"not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "additionalItems",
       "unevaluatedItems", "unevaluatedProperties"},
      "is no schema", {"3", R"("string")", "null", "[]", "[{}]"}, {"{}", "true"});
  are({"items"}, "is neither a schema nor a list of them", {"3", R"("string")", "null", "[3]"},
      {"{}", "false", "[]", "[{},true]"});
  are({"prefixItems"}, "is no list of schemas", {"3", "{}", "null", "[3]"}, {"[]", "[{},true]"});
}

TEST_CASE("what is by name is objects, and each member is said by its own name") {
  are({"properties", "patternProperties", "definitions", "$defs", "dependentSchemas"},
      "is no object of schemas by name", {"[]", "3", "null", "[{}]", R"("a")"}, {"{}", R"({"b":{}})", R"({"b":true})"});
  are({"dependentRequired"}, "is no object of lists of strings", {"[]", "3"}, {"{}", R"({"b":["c"]})"});
  are({"dependencies"}, "is no object of schemas or lists of strings", {"[]", "3"}, {R"({"b":["c"],"c":{}})"});
  CHECK(refusal(R"({"properties":{"a":3}})") == "has \"a\" at \"#/properties\", which is no schema");
  CHECK(refusal(of_a("properties", R"({"b":{},"c":"string"})")) ==
        "has \"c\" at \"#/properties/a/properties\", which is no schema");
  CHECK(refusal(R"({"dependentRequired":{"b":[1]}})") ==
        "has \"b\" at \"#/dependentRequired\", which is no list of strings");
  CHECK(refusal(R"({"dependencies":{"b":[1]}})") ==
        "has \"b\" at \"#/dependencies\", which is neither a schema nor a list of strings");
}

TEST_CASE("types are looked at wherever schemas stand, and nowhere else") {
  const std::string bad = R"({"minimum":"1"})";
  for (const std::string keyword : {"items", "not", "if", "propertyNames", "additionalProperties", "contains"}) {
    CHECK(refusal(of_a(keyword, bad)) == "has \"minimum\" at \"#/properties/a/" + keyword + "\", which is no number");
  }
  CHECK(refusal(of_a("anyOf", "[{}," + bad + "]")) ==
        "has \"minimum\" at \"#/properties/a/anyOf/1\", which is no number");
  CHECK(refusal(R"({"$defs":{"x/y":)" + bad + "}}") == "has \"minimum\" at \"#/$defs/x~1y\", which is no number");
  CHECK(refusal(R"({"x":{"y":)" + bad + R"(},"properties":{"a":{"$ref":"#/x/y"}}})") ==
        "has \"minimum\" at \"#/x/y\", which is no number");
  // Names of arguments, values, and what nobody knows.
  CHECK(refusal(R"({"properties":{"minimum":{},"type":{},"enum":{"const":{"type":"any"}}},"x-ui":{"type":"any"},
    "default":{"type":"any"},"examples":[{"required":"a"}]})") == "taken");
}

TEST_CASE("references lead to what may be a schema") {
  const auto leads = [](const std::string& to) {
    return "has \"$ref\" at \"#/properties/a\", which leads to \"" + to + "\", where no schema can stand";
  };
  CHECK(refusal(R"({"properties":{"format":{"type":"string"},"a":{"$ref":"#/properties"}}})") == leads("#/properties"));
  CHECK(refusal(R"({"properties":{"type":{"type":"string"},"a":{"$ref":"#/properties"}}})") == leads("#/properties"));
  CHECK(refusal(R"({"$defs":{"format":{}},"properties":{"a":{"$ref":"#/$defs"}}})") == leads("#/$defs"));
  CHECK(refusal(R"({"dependentRequired":{},"properties":{"a":{"$ref":"#/dependentRequired"}}})") ==
        leads("#/dependentRequired"));
  CHECK(refusal(R"({"default":{"b":[{"format":"x"}]},"properties":{"a":{"$ref":"#/default/b/0"}}})") ==
        leads("#/default/b/0"));
  CHECK(refusal(R"({"properties":{"a":{"$ref":"#/properties/b/const"},"b":{"const":{"format":"x"}}}})") ==
        leads("#/properties/b/const"));
  // It is known to be none only by a reference that comes later.
  CHECK(refusal(R"({"x":{"properties":{"b":{}}},"properties":{"a":{"$ref":"#/x/properties"},"z":{"$ref":"#/x"}}})") ==
        leads("#/x/properties"));
  // A property has any name.
  const auto recursive = argument_schema::compile(
      R"({"properties":{"properties":{"type":"integer"},"format":{"type":"string"},"a":{"$ref":"#/properties/properties"},
      "b":{"$ref":"#/properties/format"},"c":{"$ref":"#"}}})");
  REQUIRE(recursive);
  CHECK(recursive->check(R"({"a":1,"b":"x","format":"y","c":{"a":2}})"));
  CHECK_FALSE(recursive->check(R"({"format":3})"));
  CHECK_FALSE(recursive->check(R"({"c":{"a":"x"}})"));
}

TEST_CASE("references that lead nowhere are left to whoever follows them") {
  for (const char* reference : {"", "other.json", "#/gone", "#x", "#/type", "#/~2"}) {
    CAPTURE(reference);
    CHECK(check_keyword_types({{"type", "object"}, {"not", {{"$ref", reference}}}}));
  }
}
