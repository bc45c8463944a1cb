#include "agent/tools/argument_schema.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using sluice::agent::detail::argument_schema;
using sluice::agent::detail::most_argument_depth;

namespace {

std::string refusal(const std::string& schema) {
  const auto made = argument_schema::compile(schema);
  if (made) return "taken";
  CHECK(made.error().is(sluice::errc::invalid_configuration));
  return made.error().message();
}

std::string complaint(const argument_schema& schema, const std::string& arguments) {
  const auto checked = schema.check(arguments);
  if (checked) return "fits";
  CHECK(checked.error().is(sluice::errc::invalid_argument));
  return checked.error().message();
}

std::string complaint(const std::string& schema, const std::string& arguments) {
  const auto made = argument_schema::compile(schema);
  REQUIRE_MESSAGE(made, schema);
  return complaint(*made, arguments);
}

std::string nested(std::size_t levels, const std::string& open, const std::string& close,
                   const std::string& inside = "1") {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += open;
  text += inside;
  for (std::size_t i = 0; i < levels; ++i) text += close;
  return text;
}

const std::string weather = R"({
  "type": "object",
  "properties": {
    "city": {"type": "string", "minLength": 1},
    "days": {"type": "integer", "minimum": 1, "maximum": 14},
    "unit": {"enum": ["celsius", "fahrenheit"]}
  },
  "required": ["city"],
  "additionalProperties": false
})";

}  // namespace

TEST_CASE("arguments that fit their schema pass") {
  CHECK(complaint(weather, R"({"city":"Paris"})") == "fits");
  CHECK(complaint(weather, R"({"city":"Paris","days":3,"unit":"celsius"})") == "fits");
  CHECK(complaint(R"({"type":"object","properties":{}})", R"({"whatever":[1,{}]})") == "fits");
  CHECK(complaint("{}", "{}") == "fits");
}

TEST_CASE("what is wrong is told by its place, what it should be, and what it is") {
  const auto schema = argument_schema::compile(weather).value();
  CHECK(complaint(schema, R"({"city":"Paris","days":"three"})") ==
        R"(argument "days" must be an integer, but is the string "three")");
  CHECK(complaint(schema, R"({"city":7})") == R"(argument "city" must be a string, but is the number 7)");
  CHECK(complaint(schema, R"({"city":null})") == R"(argument "city" must be a string, but is null)");
  CHECK(complaint(schema, R"({"city":true})") == R"(argument "city" must be a string, but is true)");
  CHECK(complaint(schema, R"({"city":["a"]})") == R"(argument "city" must be a string, but is an array)");
  CHECK(complaint(schema, R"({"city":{}})") == R"(argument "city" must be a string, but is an object)");
  CHECK(complaint(schema, R"({})") == R"(argument "city" is missing; a string is expected)");
  CHECK(complaint(schema, R"({"city":"Paris","unit":"kelvin"})") ==
        R"(argument "unit" must be "celsius" or "fahrenheit", but is the string "kelvin")");
  CHECK(complaint(schema, R"({"city":"Paris","when":"now"})") ==
        R"(argument "when" is not known; there are: "city", "days", "unit")");
  CHECK(complaint(schema, R"({"city":"Paris","days":2.5})") ==
        R"(argument "days" must be an integer, but is the number 2.5)");
  CHECK(complaint(schema, R"({"city":"Paris","days":0})") ==
        R"(argument "days" must be at least 1, but is the number 0)");
  CHECK(complaint(schema, R"({"city":"Paris","days":99})") ==
        R"(argument "days" must be at most 14, but is the number 99)");
  CHECK(complaint(schema, R"({"city":""})") == R"(argument "city" must have at least 1 characters, but has 0)");
}

TEST_CASE("two faults are told at once, and no more than two") {
  CHECK(
      complaint(weather, R"({"days":"three"})") ==
      R"(argument "city" is missing; a string is expected. argument "days" must be an integer, but is the string "three")");
  CHECK(
      complaint(weather, R"({"days":"three","unit":"kelvin","x":1})") ==
      R"(argument "city" is missing; a string is expected. argument "days" must be an integer, but is the string "three")");
}

TEST_CASE("what is no JSON object is not looked into") {
  const auto schema = argument_schema::compile(weather).value();
  CHECK(complaint(schema, "") == "the arguments are not valid JSON");
  CHECK(complaint(schema, "{\"city\":\"Par") == "the arguments are not valid JSON");
  CHECK(complaint(schema, "{\"city\":\"\xff\"}") == "the arguments are not valid JSON");
  CHECK(complaint(schema, "{\"city\":\"Paris\"} and more") == "the arguments are not valid JSON");
  CHECK(complaint(schema, "{\"days\":1e999}") == "the arguments are not valid JSON");
  CHECK(complaint(schema, "[]") == "the arguments are not a JSON object");
  CHECK(complaint(schema, "\"Paris\"") == "the arguments are not a JSON object");
  CHECK(complaint(schema, "null") == "the arguments are not a JSON object");
}

TEST_CASE("deep nesting is refused before it is read") {
  const auto open = argument_schema::compile("{}").value();
  const std::string refused = "the arguments are nested deeper than 128 levels";
  CHECK(complaint(open, R"({"a":)" + nested(most_argument_depth - 1, "[", "]") + "}") == "fits");
  CHECK(complaint(open, R"({"a":)" + nested(most_argument_depth, "[", "]") + "}") == refused);
  CHECK(complaint(open, nested(10'000, "[", "]")) == refused);
  CHECK(complaint(open, std::string(1'000'000, '[')) == refused);
  // Brackets in strings are no nesting.
  CHECK(complaint(open, R"({"a":")" + std::string(1'000, '[') + R"(\"[[")" + "}") == "fits");
  CHECK(refusal(R"({"properties":)" + nested(10'000, R"({"a":{"properties":)", "}}", "{}") + "}") ==
        "is nested deeper than 128 levels");
}

TEST_CASE("a schema that refers to itself is followed as deep as arguments may be") {
  const std::string tree = R"({"type":"object","properties":{"child":{"$ref":"#"},"name":{"type":"string"}}})";
  const auto schema = argument_schema::compile(tree).value();
  CHECK(complaint(schema, nested(most_argument_depth - 1, R"({"child":)", "}", "{}")) == "fits");
  CHECK(complaint(schema, R"({"child":{"child":{"name":3}}})") ==
        R"(argument "child.child.name" must be a string, but is the number 3)");
}

TEST_CASE("whole numbers are integers however they are written") {
  const auto schema = argument_schema::compile(R"({"properties":{"n":{"type":"integer","enum":[3,1000]}}})").value();
  CHECK(complaint(schema, R"({"n":3.0})") == "fits");
  CHECK(complaint(schema, R"({"n":1e3})") == "fits");
  const auto number =
      argument_schema::compile(R"({"properties":{"n":{"type":"number","minimum":0,"const":3.0}}})").value();
  CHECK(complaint(number, R"({"n":3})") == "fits");
  // More than an int64 holds does not wrap around.
  const auto positive = argument_schema::compile(R"({"properties":{"n":{"type":"number","minimum":0}}})").value();
  CHECK(complaint(positive, R"({"n":18446744073709551615})") == "fits");
}

TEST_CASE("places below the first level have their path") {
  const std::string trip = R"({"type":"object","properties":{
    "stops":{"type":"array","minItems":1,"maxItems":3,"items":{"$ref":"#/$defs/stop"}},
    "extras":{"type":"object","additionalProperties":{"type":"number"}}},
    "$defs":{"stop":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}})";
  const auto schema = argument_schema::compile(trip).value();
  CHECK(complaint(schema, R"({"stops":[{"city":"Rome"},{"city":4}]})") ==
        R"(argument "stops[1].city" must be a string, but is the number 4)");
  CHECK(complaint(schema, R"({"stops":[{}]})") == R"(argument "stops[0].city" is missing; a string is expected)");
  CHECK(complaint(schema, R"({"stops":[{"city":"Rome","x":1}]})") ==
        R"(argument "stops[0].x" is not known; there are: "city")");
  CHECK(complaint(schema, R"({"stops":[]})") == R"(argument "stops" must have at least 1 items, but has 0)");
  CHECK(complaint(schema, R"({"extras":{"wind":"strong"}})") ==
        R"(argument "extras.wind" must be a number, but is the string "strong")");
}

TEST_CASE("several types may be allowed") {
  const std::string optional =
      R"({"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}]}}})";
  const auto schema = argument_schema::compile(optional).value();
  CHECK(complaint(schema, R"({"a":null,"b":null})") == "fits");
  CHECK(complaint(schema, R"({"a":"x","b":2})") == "fits");
  CHECK(complaint(schema, R"({"a":5})") == R"(argument "a" must be a string or null, but is the number 5)");
  CHECK(complaint(schema, R"({"b":"x"})") == R"(argument "b" must be an integer or null, but is the string "x")");
}

TEST_CASE("a fault that no simple keyword tells is told by its place") {
  const std::string either =
      R"({"properties":{"id":{"anyOf":[{"type":"string","pattern":"^a"},{"type":"integer","minimum":9}]},
    "odd":{"not":{"const":2}}}})";
  const auto schema = argument_schema::compile(either).value();
  CHECK(complaint(schema, R"({"id":"abc"})") == "fits");
  CHECK(complaint(schema, R"({"id":"xbc"})").starts_with(R"(argument "id" is not of the tool's schema: )"));
  CHECK(complaint(schema, R"({"odd":2})").starts_with(R"(argument "odd" is not of the tool's schema: )"));
}

TEST_CASE("long values are cut in messages, at a whole character, and stay on one line") {
  std::string umlauts;
  for (int i = 0; i < 1'000; ++i) umlauts += "\xc3\xa4";
  const std::string said = complaint(weather, R"({"city":"P","days":")" + umlauts + R"("})");
  CHECK(said.size() < 200);
  CHECK(said.ends_with("\xc3\xa4...\""));
  CHECK(complaint(weather, R"({"city":"P","days":"a\nb"})") ==
        R"(argument "days" must be an integer, but is the string "a b")");
}

TEST_CASE("a pattern takes neither stack nor time by the length of the text, whatever both are") {
  const std::string texts = R"({"properties":{"a":{"pattern":"(a+)+$"},"b":{"pattern":"^.*x.*y$"}},
    "patternProperties":{"^(z+)+$":{"type":"integer"}}})";
  const auto schema = argument_schema::compile(texts).value();
  CHECK(complaint(schema, R"({"a":")" + std::string(100'000, 'a') + "\"}") == "fits");
  CHECK(complaint(schema, R"({"a":")" + std::string(100'000, 'a') + "b\"}").starts_with(R"(argument "a" is not of)"));
  const std::string long_text = std::string(500'000, 'x') + std::string(500'000, 'y');
  CHECK(complaint(schema, R"({"b":")" + long_text + "\"}") == "fits");
  CHECK(complaint(schema, R"({"b":")" + long_text + "z\"}").starts_with(R"(argument "b" is not of)"));
  CHECK(complaint(schema, "{\"" + std::string(100'000, 'z') + "!\":\"a\"}") == "fits");
  CHECK(complaint(schema, "{\"" + std::string(100'000, 'z') + "\":\"a\"}").starts_with("argument \"zzz"));
}

TEST_CASE("names are matched against patterns") {
  const auto schema = argument_schema::compile(
                          R"({"properties":{"xa":{"type":"integer"}},"patternProperties":{"^x":{"minimum":3},"b$":{}},
                           "additionalProperties":{"type":"null"}})")
                          .value();
  CHECK(complaint(schema, R"({"x1":"a","xa":3,"qb":[],"other":null})") == "fits");
  CHECK(complaint(schema, R"({"x1":1})").starts_with("argument \"x1\" is not of the tool's schema"));
  // What has a name of its own has to match as well.
  CHECK(complaint(schema, R"({"xa":2})").starts_with("argument \"xa\""));
  CHECK(complaint(schema, R"({"xa":3.5})").starts_with("argument \"xa\" must be an integer"));
  CHECK(complaint(schema, R"({"other":0})").starts_with("argument \"other\""));
  CHECK(complaint(R"({"patternProperties":{"^x":{}},"additionalProperties":false})", R"({"x":1,"y":1})")
            .ends_with("'properties' or 'additionalProperties' constraints: 'y'."));
}

TEST_CASE("an array without duplicates may be long") {
  const std::string unique = R"({"properties":{"ids":{"type":"array","uniqueItems":true}}})";
  const auto schema = argument_schema::compile(unique).value();
  CHECK(complaint(schema, R"({"ids":[1,2,3]})") == "fits");
  CHECK(complaint(schema, R"({"ids":[1,"1",[1],{"a":1},true,null,1.5,{"a":1,"b":1}]})") == "fits");
  CHECK(complaint(schema, R"({"ids":[1,2,1]})") ==
        "argument \"ids\" is not of the tool's schema: Elements at indexes #0 and #2 violate uniqueness constraint.");
  CHECK(complaint(schema, R"({"ids":[1,1.0]})").starts_with("argument \"ids\""));
  CHECK(complaint(schema, R"({"ids":[{"a":1,"b":[2]},{"b":[2.0],"a":1}]})").starts_with("argument \"ids\""));
  // More than a double tells apart.
  CHECK(complaint(schema, R"({"ids":[9007199254740993,9007199254740992]})") == "fits");
  std::string many = "0";
  for (int i = 1; i <= 100'000; ++i) many += "," + std::to_string(i);
  CHECK(complaint(schema, R"({"ids":[)" + many + "]}") == "fits");
  CHECK(complaint(schema, R"({"ids":[)" + many + ",7]}").ends_with("#7 and #100001 violate uniqueness constraint."));
}

TEST_CASE("multiples are exact, of whole numbers and of others") {
  const auto schema =
      argument_schema::compile(R"({"properties":{"n":{"multipleOf":2},"f":{"multipleOf":0.01}}})").value();
  CHECK(complaint(schema, R"({"n":4,"f":0.07})") == "fits");
  CHECK(complaint(schema, R"({"n":1e300})") == "fits");
  CHECK(complaint(schema, R"({"n":"x","f":null})") == "fits");
  CHECK(complaint(schema, R"({"n":2.5})") ==
        "argument \"n\" is not of the tool's schema: Value should be a multiple of 2");
  CHECK(complaint(schema, R"({"n":3})").starts_with("argument \"n\""));
  CHECK(complaint(schema, R"({"f":0.075})").starts_with("argument \"f\""));
}

TEST_CASE("lengths are of characters, those behind a NUL as well") {
  const auto schema =
      argument_schema::compile(R"({"properties":{"s":{"minLength":2,"maxLength":3},"t":{"pattern":"^...$"}}})").value();
  for (const char* right :
       {R"("ab")", R"("\u00e4\u20ac")", R"("\ud83d\ude00\ud83d\ude00\ud83d\ude00")", R"("\u0000b")"}) {
    CAPTURE(right);
    CHECK(complaint(schema, R"({"s":)" + std::string(right) + "}") == "fits");
  }
  CHECK(complaint(schema, R"({"s":"a\u0000bcd"})") == R"(argument "s" must have at most 3 characters, but has 5)");
  CHECK(complaint(schema, R"({"s":"\ud83d\ude00"})") == R"(argument "s" must have at least 2 characters, but has 1)");
  CHECK(complaint(schema, R"({"t":"\ud83d\ude00\u00e4x"})") == "fits");
}

TEST_CASE("format is a remark") {
  const std::string dated =
      R"({"properties":{"on":{"type":"string","format":"date-time"},"format":{"type":"string"}}})";
  CHECK(complaint(dated, R"({"on":"some day"})") == "fits");
  // As a name of an argument it is none.
  CHECK(complaint(dated, R"({"format":3})") == R"(argument "format" must be a string, but is the number 3)");
}

TEST_CASE("what is no schema of arguments is refused") {
  CHECK(refusal("") == "is not a JSON object");
  CHECK(refusal("[]") == "is not a JSON object");
  CHECK(refusal("true") == "is not a JSON object");
  CHECK(refusal("{\"type\":") == "is not a JSON object");
  CHECK(refusal(R"({"type":3})") == R"(is of type 3; arguments are an "object")");
  CHECK(refusal(R"({"type":"string"})") == R"(is of type "string"; arguments are an "object")");
  CHECK(refusal(R"({"properties":{"a":{"minimum":1,"maximum":2,"minimum":3}}})") ==
        "has the name \"minimum\" twice in one object");
  CHECK(refusal(R"({"properties":{"a":{"multipleOf":0}}})") ==
        "has a multipleOf that is not positive, at \"#/properties/a\"");
  CHECK(refusal(R"({"properties":{"a":{"pattern":"("}}})") ==
        "has a pattern that cannot be used, \"(\", at \"#/properties/a/pattern\": missing ): (");
  CHECK(refusal(R"({"patternProperties":{"(":{}}})") ==
        "has a pattern that cannot be used, \"(\", at \"#/patternProperties\": missing ): (");
  CHECK(refusal(R"({"properties":{"a\u0000b":{}}})") == "has a name with a NUL in it, at \"#/properties\"");
  CHECK(refusal(R"({"required":["a\u0000b"]})") == "has a name with a NUL in it, at \"#/required\"");
}

TEST_CASE("references stay within the schema, and end") {
  CHECK(refusal(R"({"properties":{"a":{"$ref":"https://example.com/s.json"}}})") ==
        R"(has a $ref to "https://example.com/s.json", which is no part of it; nothing is fetched)");
  CHECK(refusal(R"({"properties":{"a":{"$ref":"other.json#/a"}}})").starts_with("has a $ref to \"other.json#/a\""));
  CHECK(refusal(R"({"properties":{"a":{"$ref":"#/$defs/gone"}}})").starts_with("has a $ref to \"#/$defs/gone\""));
  CHECK(refusal(R"({"properties":{"a":{"$ref":3}}})").starts_with("has a $ref to 3"));
  CHECK(refusal(R"({"$ref":"#"})") == "refers to itself without an end");
  CHECK(refusal(R"({"allOf":[{"$ref":"#"}]})") == "refers to itself without an end");
  CHECK(
      refusal(
          R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"not":{"$ref":"#/$defs/a"}}},"properties":{"x":{"$ref":"#/$defs/a"}}})") ==
      "refers to itself without an end");
  // Through another value it may come back.
  CHECK(refusal(R"({"properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}})") == "taken");
  // What stands where no schema is expected is reviewed, too.
  CHECK(refusal(R"({"x":{"y":{"pattern":"("}},"properties":{"a":{"$ref":"#/x/y"}}})").starts_with("has a pattern"));
}

TEST_CASE("any arguments get an answer, and nothing is thrown") {
  const auto schema = argument_schema::compile(weather).value();
  const std::vector<std::string> pieces{"{",        "}",    "[",    "]",      ":",     ",",           "\"city\"",
                                        "\"days\"", "null", "1",    "-0",     "1e308", "\"\\u0000\"", "\"",
                                        "\\",       "\xc3", "true", "\"a\":", " ",     "2.0"};
  std::uint32_t seed = 1;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const int length = 1 + round % 12;
    for (int i = 0; i < length; ++i) {
      seed = seed * 1'664'525U + 1'013'904'223U;
      text += pieces[(seed >> 16U) % pieces.size()];
    }
    const auto checked = schema.check(text);
    if (!checked) CHECK_FALSE(checked.error().message().empty());
  }
}

TEST_CASE("a name that is given twice is refused, at any level, since only one value could be checked") {
  const std::string schema = R"({"type":"object","properties":{"n":{"type":"integer","maximum":5}}})";
  CHECK(complaint(schema, R"({"n":3})") == "fits");
  CHECK(complaint(schema, R"({"n":99,"n":3})") == "argument \"n\" is given twice");
  CHECK(complaint(schema, R"({"n":3,"n":99})") == "argument \"n\" is given twice");
  CHECK(complaint(schema, R"({"n":3,"\u006e":3})") == "argument \"n\" is given twice");
  CHECK(complaint(schema, R"({"o":[{"a":1},{"b":1,"c":{},"b":2}]})") == "argument \"b\" is given twice");
  CHECK(complaint(schema, R"({"o":[{"a":1},{"a":1}],"a":{"o":{"a":[]}}})") == "fits");
}

TEST_CASE("neither a byte order mark nor what is behind a NUL is JSON") {
  CHECK(complaint(weather, std::string(R"({"city":"Paris"})") + '\0') == "the arguments are not valid JSON");
  CHECK(complaint(weather, std::string(R"({"city":"Paris"})") + std::string("\0]]", 3)) ==
        "the arguments are not valid JSON");
  CHECK(complaint(weather, "\xEF\xBB\xBF{\"city\":\"Paris\"}") == "the arguments are not valid JSON");
}

TEST_CASE("the work of a check is bounded, however schemas lead into each other") {
  const std::string complex = "the arguments are too complex to check against the tool's schema";
  // Each level tries all alternatives below it.
  std::string filter = R"({"type":"object","properties":{"filter":{"$ref":"#/$defs/e"}},"$defs":{"e":{"oneOf":[)";
  for (const std::string op : {"and", "or", "not"}) {
    filter += R"({"type":"object","properties":{"op":{"const":")" + op +
              R"("},"args":{"type":"array","items":{"$ref":"#/$defs/e"}}},"required":["op","args"]},)";
  }
  filter += R"({"type":"object","properties":{"op":{"const":"eq"}},"required":["op"],"maxProperties":1}]}}})";
  const auto made = argument_schema::compile(filter);
  REQUIRE(made);
  const auto deep = [](std::size_t levels, const std::string& inside) {
    return R"({"filter":)" + nested(levels, R"({"op":"and","args":[)", "]}", inside) + "}";
  };
  CHECK(complaint(*made, deep(4, R"({"op":"eq"})")) == "fits");
  CHECK(complaint(*made, deep(40, R"({"op":"eq"})")) == "fits");
  // Its alternatives cannot be told apart before what is below has been tried.
  CHECK(complaint(*made, R"({"filter":)" + nested(40, R"({"args":[)", R"(],"op":"and"})", R"({"op":"eq"})") + "}") ==
        complex);
  CHECK(complaint(*made, deep(40, R"({"op":"xx"})")) == complex);

  std::string graph = R"({"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{)";
  for (int i = 0; i < 30; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
    graph += "\"d" + std::to_string(i) + R"(":{"allOf":[)" + next + "," + next + "]},";
  }
  graph += R"("d30":{"type":"string"}}})";
  CHECK(complaint(graph, R"({"x":"a"})") == complex);
  CHECK(complaint(graph, R"({"x":1})") == R"(argument "x" must be a string, but is the number 1)");
  CHECK(complaint(graph, R"({"y":1})") == "fits");
}

TEST_CASE("what grows with the arguments alone is checked, whatever their length") {
  const std::string list = R"({"type":"object","properties":{"n":{"type":"array","items":{"type":"integer"}}}})";
  std::string many = "1";
  for (int i = 0; i < 120'000; ++i) many += ",1";
  CHECK(complaint(list, R"({"n":[)" + many + "]}") == "fits");
  // By valijson, a long name is copied for each item below it: only what is wrong has to go there.
  const std::string map = R"({"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}})";
  CHECK(complaint(map, "{\"" + std::string(200'000, 'n') + "\":[" + many + "]}") == "fits");
  CHECK(complaint(map, "{\"" + std::string(200'000, 'n') + "\":[" + many + ",null]}") ==
        "the arguments are too complex to check against the tool's schema");
  CHECK(complaint(map, "{\"" + std::string(200'000, 'n') + "\":[1,2,3]}") == "fits");
}

TEST_CASE("places within allOf are where the schema has them") {
  const std::string schema =
      R"({"type":"object","allOf":[{"required":["a"]}],"properties":{"o":{"$ref":"#/allOf/0"}}})";
  CHECK(complaint(schema, R"({"a":1,"o":{"a":1}})") == "fits");
  CHECK(complaint(schema, R"({"a":1,"o":{}})") == R"(argument "o.a" is missing)");
}

TEST_CASE("schemas that lead far into each other take no more stack than there is") {
  // As alternatives for one value, and as members of members.
  for (const bool deeper : {false, true}) {
    const auto chain = [&](int length) {
      std::string text = R"({"properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{)";
      for (int i = 0; i < length; ++i) {
        const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
        text += "\"d" + std::to_string(i) +
                "\":" + (deeper ? R"({"properties":{"x":)" + next + "}}," : R"({"allOf":[)" + next + "]},");
      }
      return text + "\"d" + std::to_string(length) + R"(":{"type":"string","pattern":"a"}}})";
    };
    CHECK(
        complaint(chain(150), R"({"x":"b"})") ==
        (deeper
             ? "fits"
             : "argument \"x\" is not of the tool's schema: Failed to match regex specified by 'pattern' constraint."));
    CHECK(refusal(chain(220)) == "is not a JSON schema: too many of it lead into each other");
    CHECK(refusal(chain(10'000)) == "has more than 500 schemas that lead into each other");
  }
  const auto tree = argument_schema::compile(
                        R"({"properties":{"c":{"anyOf":[{"$ref":"#"},{"type":"null"}]},"n":{"not":{"const":1}}}})")
                        .value();
  CHECK(complaint(tree, nested(most_argument_depth - 2, R"({"c":)", "}", R"({"c":null,"n":2})")) == "fits");
  CHECK(complaint(tree, nested(most_argument_depth - 2, R"({"c":)", "}", R"({"c":null,"n":1})"))
            .starts_with("argument \"c"));
  // Ten of one value, and that at each level.
  std::string wrapped = R"({"$ref":"#"})";
  for (int i = 0; i < 10; ++i) wrapped = R"({"allOf":[)" + wrapped + "]}";
  CHECK(complaint(R"({"properties":{"c":)" + wrapped + R"(,"n":{"not":{"const":1}}}})",
                  nested(most_argument_depth - 1, R"({"c":)", "}", "{}")) ==
        "the arguments are too complex to check against the tool's schema");
}

TEST_CASE("many values to choose from count as they take time") {
  std::string values = "\"v0\"";
  for (int i = 1; i < 2'000; ++i) values += ",\"v" + std::to_string(i) + '"';
  const auto schema = argument_schema::compile(R"({"properties":{"l":{"items":{"enum":[)" + values + "]}}}}").value();
  std::string list = "\"v1999\"";
  for (int i = 0; i < 1'000; ++i) list += ",\"v1000\"";
  CHECK(complaint(schema, R"({"l":[)" + list + "]}") == "fits");
  CHECK(complaint(schema, R"({"l":["v2000"]})").starts_with("argument \"l[0]\" must be \"v0\", \"v1\""));
  // Each of the long texts is compared with each of the values, again and again.
  std::string texts = "0";
  for (int i = 0; i < 20; ++i) texts += ",\"" + std::string(10'000, 'x') + '"';
  const auto either = [&](int times) {
    std::string alternatives = R"({"pattern":"x"})";
    for (int i = 0; i < times; ++i) alternatives = R"({"enum":[[1],)" + values + "]}," + alternatives;
    return R"({"properties":{"l":{"items":{"anyOf":[)" + alternatives + "]}}}}";
  };
  CHECK(complaint(either(1), R"({"l":[)" + texts + "]}") == "fits");
  CHECK(complaint(either(16), R"({"l":[)" + texts + "]}") ==
        "the arguments are too complex to check against the tool's schema");
}
