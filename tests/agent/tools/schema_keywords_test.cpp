#include "agent/tools/schema_keywords.hpp"

#include "agent/tools/argument_schema.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using sluice::agent::detail::argument_schema;
using sluice::agent::detail::rewrite_keywords;

namespace {

using json = nlohmann::json;

json rewritten(const std::string& text) {
  json schema = json::parse(text);
  const auto done = rewrite_keywords(schema);
  REQUIRE_MESSAGE(done, done.error().message());
  return schema;
}

std::string refusal(const std::string& schema) {
  const auto made = argument_schema::compile(schema);
  if (made) return "taken";
  CHECK(made.error().is(sluice::errc::invalid_configuration));
  return made.error().message();
}

/// Which of `arguments` are of the schema, as digits.
std::string verdicts(const std::string& schema, const std::vector<std::string>& arguments) {
  const auto made = argument_schema::compile(schema);
  REQUIRE_MESSAGE(made, made.error().message());
  std::string all;
  for (const std::string& each : arguments) all += made->check(each) ? '1' : '0';
  return all;
}

std::string of_a(const std::string& schema) { return R"({"type":"object","properties":{"a":)" + schema + "}}"; }

}  // namespace

TEST_CASE("the first items of a list have schemas of their own") {
  const std::string pair = of_a(R"({"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]})");
  CHECK(verdicts(pair, {R"({"a":[]})", R"({"a":["x",1]})", R"({"a":["x",1,null]})", R"({"a":[1]})",
                        R"({"a":["x","y"]})"}) == "11100");
  const std::string closed = of_a(R"({"prefixItems":[{"type":"string"}],"items":false})");
  CHECK(verdicts(closed, {R"({"a":["x"]})", R"({"a":["x",1]})"}) == "10");
  const std::string rest = of_a(R"({"prefixItems":[{"type":"string"}],"items":{"type":"integer"}})");
  CHECK(verdicts(rest, {R"({"a":["x",1,2]})", R"({"a":["x",1,"y"]})"}) == "10");
  // In one another, and referred to by the place that they have.
  const std::string deep = R"({"properties":{"a":{"prefixItems":[{"prefixItems":[{"type":"null"}],"items":false}]},
    "b":{"$ref":"#/properties/a/prefixItems/0"}}})";
  CHECK(verdicts(deep, {R"({"a":[[null]],"b":[null]})", R"({"a":[[1]]})", R"({"a":[[null,1]]})", R"({"b":[1]})",
                        R"({"b":[null,null]})"}) == "10000");
}

TEST_CASE("members that depend on others") {
  const std::string card = R"({"dependentRequired":{"card":["address","name"]},
    "dependentSchemas":{"card":{"properties":{"name":{"minLength":2}}}},"dependencies":{"b":["c"]}})";
  CHECK(verdicts(card, {R"({})", R"({"name":"x"})", R"({"card":1,"address":"a","name":"xy"})",
                        R"({"card":1,"name":"xy"})", R"({"card":1,"address":"a","name":"x"})", R"({"b":1})"}) ==
        "111000");
  const auto schema = argument_schema::compile(card).value();
  CHECK(schema.check(R"({"card":1,"address":""})").error().message() ==
        "the object of arguments is not of the tool's schema: Missing dependency 'name'.");
}

TEST_CASE("what nothing else has looked at is what is additional, where nothing looks further") {
  const std::string closed = R"({"properties":{"a":{}},"unevaluatedProperties":false})";
  CHECK(verdicts(closed, {R"({"a":1})", R"({"b":1})"}) == "10");
  CHECK(argument_schema::compile(closed).value().check(R"({"b":1})").error().message() ==
        R"(argument "b" is not known; there are: "a")");
  CHECK(verdicts(R"({"properties":{"a":{}},"unevaluatedProperties":{"type":"null"}})",
                 {R"({"b":null})", R"({"b":1})"}) == "10");
  CHECK(verdicts(R"({"allOf":[{}],"additionalProperties":{"type":"null"},"unevaluatedProperties":false})",
                 {R"({"b":null})", R"({"b":1})"}) == "10");
  CHECK(refusal(R"({"allOf":[{}],"unevaluatedProperties":true})") == "taken");
  CHECK(refusal(of_a(R"({"anyOf":[{}],"unevaluatedProperties":false})")) ==
        "has \"unevaluatedProperties\" at \"#/properties/a\", which cannot be checked beside \"anyOf\"; write "
        "\"additionalProperties\" where the rest stands");
  CHECK(verdicts(of_a(R"({"prefixItems":[{}],"unevaluatedItems":false})"), {R"({"a":[1]})", R"({"a":[1,2]})"}) == "10");
  CHECK(verdicts(of_a(R"({"unevaluatedItems":{"type":"null"}})"), {R"({"a":[null]})", R"({"a":[2]})"}) == "10");
  CHECK(refusal(of_a(R"({"contains":{},"unevaluatedItems":false})")) ==
        "has \"unevaluatedItems\" at \"#/properties/a\", which cannot be checked beside \"contains\"");
  CHECK(refusal(of_a(R"({"$ref":"#/$defs/x","unevaluatedItems":false})")).starts_with("has \"unevaluatedItems\""));
}

TEST_CASE("counts of what is contained are none, or one, or refused") {
  CHECK(verdicts(of_a(R"({"contains":{"const":1}})"), {R"({"a":[2,1]})", R"({"a":[2]})", R"({"a":[]})"}) == "100");
  CHECK(verdicts(of_a(R"({"contains":{"const":1},"minContains":1})"), {R"({"a":[2,1]})", R"({"a":[2]})"}) == "10");
  CHECK(verdicts(of_a(R"({"contains":{"const":1},"minContains":0})"), {R"({"a":[2,1]})", R"({"a":[2]})"}) == "11");
  CHECK(refusal(of_a(R"({"contains":{},"minContains":2})")) ==
        "has \"minContains\" at \"#/properties/a\", which cannot be checked but for 0 and 1");
  CHECK(refusal(of_a(R"({"contains":{},"maxContains":2})")) ==
        "has \"maxContains\" at \"#/properties/a\", which cannot be checked");
  // Without it they say nothing.
  CHECK(refusal(of_a(R"({"minContains":2,"maxContains":3})")) == "taken");
}

TEST_CASE("limits may be exclusive by a flag, as in draft 4") {
  const std::string open = of_a(R"({"minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false})");
  CHECK(verdicts(open, {R"({"a":1})", R"({"a":1.5})", R"({"a":3})", R"({"a":3.5})"}) == "0110");
}

TEST_CASE("what stands beside a reference holds as well") {
  const std::string beside = R"({"properties":{"a":{"$ref":"#/$defs/name","maxLength":3,"description":"d"},
    "b":{"$ref":"#/$defs/name","description":"d"}},"$defs":{"name":{"type":"string","minLength":2}}})";
  CHECK(verdicts(beside, {R"({"a":"xyz","b":"xyzuv"})", R"({"a":"xyzu"})", R"({"a":"x"})", R"({"b":"x"})"}) == "1000");
  CHECK(rewritten(beside)["properties"]["b"].contains("$ref"));
  // The root as well.
  CHECK(verdicts(R"({"$ref":"#/definitions/args","definitions":{"args":{"required":["a"]}},"maxProperties":1})",
                 {R"({"a":1})", R"({"a":1,"b":1})", R"({"b":1})"}) == "100");
}

TEST_CASE("names may have a schema, also where something refers to what they are names of") {
  const std::string map = R"({"properties":{"a":{"$ref":"#/$defs/map"},"b":{"$ref":"#/$defs/map"}},
    "$defs":{"map":{"type":"object","propertyNames":{"pattern":"^[a-z]+$","maxLength":3},"additionalProperties":{"type":"integer"}}}})";
  CHECK(verdicts(map, {R"({"a":{"abc":1},"b":{}})", R"({"a":{"abcd":1}})", R"({"b":{"A":1}})", R"({"b":{"a":"x"}})"}) ==
        "1000");
  CHECK(argument_schema::compile(map).value().check(R"({"a":{"Q":1}})").error().message() ==
        "argument \"a\" is not of the tool's schema: The name 'Q' is not one of those that 'propertyNames' allows.");
}

TEST_CASE("the other keywords of draft 7 are checked") {
  CHECK(verdicts(of_a(R"({"const":{"b":[1]}})"), {R"({"a":{"b":[1.0]}})", R"({"a":{"b":[2]}})"}) == "10");
  const std::string condition = R"({"if":{"properties":{"kind":{"const":"x"}},"required":["kind"]},
    "then":{"required":["x"]},"else":{"required":["y"]}})";
  CHECK(verdicts(condition, {R"({"kind":"x","x":1})", R"({"kind":"x","y":1})", R"({"y":1})", R"({"x":1})"}) == "1010");
  CHECK(verdicts(of_a(R"({"not":{"type":"string"}})"), {R"({"a":1})", R"({"a":"x"})"}) == "10");
  CHECK(verdicts(of_a(R"({"oneOf":[{"minimum":1},{"maximum":2}]})"), {R"({"a":0})", R"({"a":1})"}) == "10");
  for (const char* definitions : {"$defs", "definitions"}) {
    const std::string name = definitions;
    CHECK(verdicts(R"({"properties":{"a":{"$ref":"#/)" + name + R"(/n"}},")" + name + R"(":{"n":{"type":"null"}}})",
                   {R"({"a":null})", R"({"a":1})"}) == "10");
  }
}

TEST_CASE("what cannot be told in draft 7 is refused by its place") {
  CHECK(refusal(of_a(R"({"$dynamicRef":"#node"})")) ==
        "has \"$dynamicRef\" at \"#/properties/a\", which is not followed; write a $ref");
  CHECK(refusal(of_a(R"({"prefixItems":3})")) ==
        "has \"prefixItems\" at \"#/properties/a\", which is no list of schemas");
  CHECK(refusal(of_a(R"({"prefixItems":[{}],"items":[]})")) ==
        "has \"prefixItems\" at \"#/properties/a\", beside a list of \"items\"");
  CHECK(refusal(of_a(R"({"prefixItems":[{}],"additionalItems":false})")).starts_with("has \"prefixItems\""));
  // At every place that is one of a schema, and at those that are referred to.
  const std::string bad = R"({"contains":{},"maxContains":1})";
  const std::string why = "\", which cannot be checked";
  for (const std::string keyword : {"items", "not", "if", "propertyNames", "additionalProperties", "contains"}) {
    CHECK(refusal(of_a("{\"" + keyword + "\":" + bad + "}")) ==
          "has \"maxContains\" at \"#/properties/a/" + keyword + why);
  }
  CHECK(refusal(of_a(R"({"anyOf":[{},)" + bad + "]}")) == "has \"maxContains\" at \"#/properties/a/anyOf/1" + why);
  CHECK(refusal(R"({"$defs":{"x/y":)" + bad + "}}") == "has \"maxContains\" at \"#/$defs/x~1y" + why);
  CHECK(refusal(R"({"patternProperties":{"^q":)" + bad + "}}") ==
        "has \"maxContains\" at \"#/patternProperties/^q" + why);
  CHECK(refusal(R"({"x":{"y":)" + bad + R"(},"properties":{"a":{"$ref":"#/x/y"}}})") ==
        "has \"maxContains\" at \"#/x/y" + why);
  // As a name of an argument it is no keyword, nor is it in an example.
  CHECK(
      refusal(
          R"({"properties":{"maxContains":{},"contains":{},"$dynamicRef":{}},"default":{"contains":{},"maxContains":1}})") ==
      "taken");
}

TEST_CASE("schemas that pydantic makes") {
  const std::string order = R"({
    "$defs": {
      "Color": {"enum": ["red", "green"], "title": "Color", "type": "string"},
      "Cat": {"properties": {"kind": {"const": "cat", "title": "Kind", "type": "string"}, "lives": {"default": 9, "maximum": 9, "minimum": 0, "title": "Lives", "type": "integer"}}, "required": ["kind"], "title": "Cat", "type": "object"},
      "Dog": {"additionalProperties": false, "properties": {"kind": {"const": "dog", "title": "Kind", "type": "string"}, "parent": {"anyOf": [{"$ref": "#/$defs/Dog"}, {"type": "null"}], "default": null}}, "required": ["kind"], "title": "Dog", "type": "object"}
    },
    "properties": {
      "color": {"$ref": "#/$defs/Color", "default": "red", "description": "Its color."},
      "pet": {"discriminator": {"mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}, "propertyName": "kind"}, "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "title": "Pet"},
      "at": {"maxItems": 2, "minItems": 2, "prefixItems": [{"type": "number"}, {"type": "number"}], "title": "At", "type": "array"},
      "price": {"anyOf": [{"exclusiveMinimum": 0, "type": "number"}, {"pattern": "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$", "type": "string"}], "title": "Price"},
      "tags": {"default": [], "items": {"type": "string"}, "title": "Tags", "type": "array", "uniqueItems": true},
      "counts": {"additionalProperties": {"type": "integer"}, "propertyNames": {"pattern": "^[a-z]+$"}, "title": "Counts", "type": "object"},
      "when": {"anyOf": [{"format": "date-time", "type": "string"}, {"type": "null"}], "default": null, "title": "When"}
    },
    "required": ["pet", "at"], "title": "Order", "type": "object"})";
  CHECK(
      verdicts(
          order,
          {R"({"pet":{"kind":"cat"},"at":[1,2.5]})",
           R"({"color":"green","pet":{"kind":"dog","parent":{"kind":"dog"}},"at":[0,0],"price":"12.50","tags":["a","b"],"counts":{"a":1},"when":null})",
           R"({"pet":{"kind":"cow"},"at":[1,2]})", R"({"pet":{"kind":"dog","lives":3},"at":[1,2]})",
           R"({"pet":{"kind":"cat"},"at":[1]})", R"({"pet":{"kind":"cat"},"at":[1,"2"]})",
           R"({"pet":{"kind":"cat"},"at":[1,2],"price":"-."})", R"({"pet":{"kind":"cat"},"at":[1,2],"price":0})",
           R"({"pet":{"kind":"cat"},"at":[1,2],"tags":["a","a"]})",
           R"({"pet":{"kind":"cat"},"at":[1,2],"counts":{"A":1}})",
           R"({"pet":{"kind":"cat"},"at":[1,2],"color":"blue"})"}) == "11000000000");
}

TEST_CASE("schemas that zod makes") {
  const std::string user = R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
      "email": {"type": "string", "format": "email", "pattern": "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"},
      "id": {"type": "string", "format": "uuid", "pattern": "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000)$"},
      "host": {"type": "string", "pattern": "^(?=.{1,253}\\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\\.?$"},
      "day": {"type": "string", "format": "date", "pattern": "^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))$"},
      "age": {"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991},
      "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": {"type": "boolean"}},
      "map": {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"type": "number"}},
      "role": {"anyOf": [{"type": "string", "const": "admin"}, {"type": "string", "const": "user"}]},
      "nick": {"anyOf": [{"type": "string"}, {"type": "null"}]},
      "both": {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]}]},
      "never": {"not": {}}
    },
    "required": ["email"],
    "additionalProperties": false})";
  CHECK(
      verdicts(
          user,
          {R"({"email":"ann@example.com"})",
           R"({"email":"a.b@example.org","id":"00000000-0000-0000-0000-000000000000","host":"a-b.example.com","day":"2024-02-29","age":3,"pair":["x",1,true],"map":{"k":1},"role":"user","nick":null,"both":{"a":"","b":0}})",
           R"({"email":".ann@example.com"})", R"({"email":"a..b@example.com"})", R"({"email":"ann@"})",
           R"({"email":"a@b.cc","day":"2023-02-29"})", R"({"email":"a@b.cc","host":"-a"})",
           R"({"email":"a@b.cc","pair":["x",1,2]})", R"({"email":"a@b.cc","role":"guest"})",
           R"({"email":"a@b.cc","both":{"a":""}})", R"({"email":"a@b.cc","never":1})",
           R"({"email":"a@b.cc","x":1})"}) == "110000000000");
  const std::string by_name = R"({"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{
    "point":{"type":"array","minItems":2,"maxItems":2,"items":[{"type":"number"},{"type":"number"}]}},
    "required":["point"],"additionalProperties":false}},"$schema":"http://json-schema.org/draft-07/schema#"})";
  CHECK(verdicts(by_name, {R"({"point":[1,2]})", R"({"point":[1,"2"]})", R"({"point":[1,2,3]})", "{}"}) == "1000");
  // Looking ahead in the middle is what RE2 does not have.
  CHECK(refusal(of_a(R"({"type":"string","pattern":"^P(?!$)(\\d+Y)?(T(?=\\d)(\\d+H)?)?$"})"))
            .starts_with("has a pattern that cannot be used, \"^P(?!$)"));
}
