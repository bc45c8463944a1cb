#include <sluice/config/policy_file.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
using sluice::read_policy;

namespace {

const std::string head = R"("capacity": {"slots": 32, "tokens": 200000})";

std::string message_of(std::string_view json) {
  const auto made = read_policy(json);
  if (made) return {};
  CHECK(made.error().is(sluice::errc::invalid_configuration));
  CHECK(made.error().message().find('\n') == std::string::npos);
  return made.error().message();
}

/// The complaint about a policy that is right but for `rest`.
std::string complaint(std::string_view rest) { return message_of("{" + head + ", " + std::string(rest) + "}"); }

/// The complaint about one value of class batch.
std::string batch_complaint(std::string_view field) {
  return complaint(R"("classes": {"batch": {)" + std::string(field) + "}}");
}

}  // namespace

TEST_CASE("every field arrives") {
  const auto made = read_policy(R"({
    "revision": 7,
    "capacity": {"slots": 40, "tokens": 100000},
    "max_waiting": 123,
    "max_preemptions": 3,
    "classes": {
      "batch": {"priority": -2, "floor": {"slots": 3, "tokens": 900}, "ceiling": {"slots": 30, "tokens": 50000},
                "preemptible": false, "restore_within_ms": 0, "max_waiting": 5},
      "audit": {"priority": 7, "floor": {"slots": 1, "tokens": 10}, "ceiling": {"slots": 2}, "preemptible": true,
                "restore_within_ms": 1500, "max_waiting": 0},
      "interactive": {"floor": {"slots": 20, "tokens": 60000}}
    }
  })");
  REQUIRE(made);
  CHECK(made->revision == 7);
  CHECK(made->total == sluice::capacity{40, 100000});
  CHECK(made->max_waiting == 123);
  CHECK(made->max_preemptions == 3);
  REQUIRE(made->classes.size() == 3);

  const auto& batch = made->classes[1];
  CHECK(batch.name == "batch");
  CHECK(batch.priority == -2);
  CHECK(batch.floor == sluice::capacity{3, 900});
  CHECK(batch.ceiling == sluice::capacity{30, 50000});
  CHECK_FALSE(batch.preemptible);
  CHECK(batch.restore_within == 0ms);
  CHECK(batch.max_waiting == 5);

  const auto& audit = made->classes[2];
  CHECK(audit.name == "audit");
  CHECK(audit.priority == 7);
  CHECK(audit.floor == sluice::capacity{1, 10});
  CHECK(audit.ceiling == sluice::capacity{2, sluice::unlimited});
  CHECK(audit.preemptible);
  CHECK(audit.restore_within == 1500ms);
  CHECK(audit.max_waiting == 0);

  CHECK(made->classes[0].floor == sluice::capacity{20, 60000});
}

TEST_CASE("what is left out has the defaults of policy(capacity)") {
  const sluice::policy expected({32, 200000});
  const auto made = read_policy("{" + head + "}");
  REQUIRE(made);
  CHECK(made->total == expected.total);
  CHECK(made->revision == expected.revision);
  CHECK(made->max_waiting == expected.max_waiting);
  CHECK(made->max_preemptions == expected.max_preemptions);
  REQUIRE(made->classes.size() == expected.classes.size());
  for (std::size_t c = 0; c < expected.classes.size(); ++c) {
    CHECK(made->classes[c].name == expected.classes[c].name);
    CHECK(made->classes[c].priority == expected.classes[c].priority);
    CHECK(made->classes[c].floor == expected.classes[c].floor);
    CHECK(made->classes[c].ceiling == expected.classes[c].ceiling);
    CHECK(made->classes[c].preemptible == expected.classes[c].preemptible);
    CHECK(made->classes[c].restore_within == expected.classes[c].restore_within);
    CHECK(made->classes[c].max_waiting == expected.classes[c].max_waiting);
  }
}

TEST_CASE("the capacity may stand last") {
  const auto made = read_policy(R"({"classes": {"audit": {}, "extra": {}}, )" + head + "}");
  REQUIRE(made);
  CHECK(made->classes[0].floor.slots == 24);
  CHECK(made->classes[2].name == "audit");
  CHECK(made->classes[3].name == "extra");
}

TEST_CASE("unlimited is written as a word") {
  const auto made = read_policy(R"({"capacity": {"slots": 4, "tokens": "unlimited"}, "classes": {
    "interactive": {"floor": {"slots": 0, "tokens": 0}},
    "batch": {"floor": {"slots": 0, "tokens": 0}, "ceiling": {"slots": "unlimited", "tokens": 7},
               "max_waiting": "unlimited"}}})");
  REQUIRE(made);
  CHECK(made->total.tokens == sluice::unlimited);
  CHECK(made->classes[1].ceiling == sluice::capacity{sluice::unlimited, 7});
  CHECK(made->classes[1].max_waiting == std::numeric_limits<std::size_t>::max());
  CHECK(batch_complaint(R"("ceiling": {"slots": "none"})") ==
        R"(classes.batch.ceiling.slots: must be a whole number or "unlimited", is "none")");
  CHECK(batch_complaint(R"("floor": {"slots": "unlimited"})") ==
        R"(classes.batch.floor.slots: must be a whole number, is "unlimited")");
}

TEST_CASE("capacity is needed, with both numbers") {
  CHECK(message_of("{}") == "capacity.slots: is missing");
  CHECK(message_of(R"({"capacity": {"tokens": 5}})") == "capacity.slots: is missing");
  CHECK(message_of(R"({"capacity": {"slots": 5}})") == "capacity.tokens: is missing");
  CHECK(message_of(R"({"capacity": 5})") == "capacity: must be an object with slots, tokens, is 5");
  CHECK(read_policy(R"({"capacity": {"slots": 0, "tokens": 0}})").has_value());
}

TEST_CASE("an unknown field is named by its path") {
  CHECK(complaint(R"("max_wating": 3)").starts_with("max_wating: unknown field"));
  CHECK(batch_complaint(R"("prio": 3)").starts_with("classes.batch.prio: unknown field; known here are priority, "));
  CHECK(batch_complaint(R"("floor": {"slot": 3})").starts_with("classes.batch.floor.slot: unknown field"));
  CHECK(batch_complaint(R"("ceiling": {"Slots": 3})").starts_with("classes.batch.ceiling.Slots: unknown field"));
  CHECK(message_of(R"({"capacity": {"slots": 1, "tokens": 1, "money": 1}})")
            .starts_with("capacity.money: unknown field"));
  CHECK(complaint(R"("a\u0001b": 3)").starts_with("\"a\\u0001b\": unknown field"));
}

TEST_CASE("a field that stands twice is an error") {
  CHECK(complaint(R"("revision": 1, "revision": 1)") == "revision: stands twice");
  CHECK(complaint(head) == "capacity: stands twice");
  CHECK(batch_complaint(R"("priority": 1, "priority": 2)") == "classes.batch.priority: stands twice");
  CHECK(complaint(R"("classes": {"x": {}, "x": {}})") == "classes.x: stands twice");
  CHECK(batch_complaint(R"("floor": {"slots": 1, "slots": 1})") == "classes.batch.floor.slots: stands twice");
}

TEST_CASE("wrong types are named with their value") {
  CHECK(complaint(R"("revision": "7")") == R"(revision: must be a whole number, is "7")");
  CHECK(complaint(R"("max_waiting": null)") == "max_waiting: must be a whole number, is null");
  CHECK(complaint(R"("max_preemptions": true)") == "max_preemptions: must be a whole number, is true");
  CHECK(complaint(R"("classes": 3)") == "classes: must be an object with an object for each class, is 3");
  CHECK(complaint(R"("classes": {"batch": 3})") == "classes.batch: must be an object, is 3");
  CHECK(complaint(R"("classes": [])") == "classes: must not be an array");
  CHECK(batch_complaint(R"("priority": {})") == "classes.batch.priority: must be a whole number, is an object");
  CHECK(batch_complaint(R"("preemptible": 1)") == "classes.batch.preemptible: must be true or false, is 1");
  CHECK(batch_complaint(R"("preemptible": "true")") ==
        R"(classes.batch.preemptible: must be true or false, is "true")");
  CHECK(batch_complaint(R"("floor": 3)") == "classes.batch.floor: must be an object with slots, tokens, is 3");
  CHECK(batch_complaint(R"("ceiling": null)") ==
        "classes.batch.ceiling: must be an object with slots, tokens, is null");
  CHECK(batch_complaint(R"("restore_within_ms": false)") ==
        "classes.batch.restore_within_ms: must be a number of milliseconds, is false");
  CHECK(batch_complaint(R"("max_waiting": {})") == "classes.batch.max_waiting: must be a whole number, is an object");
  CHECK(batch_complaint(R"("floor": {"slots": {}})") ==
        "classes.batch.floor.slots: must be a whole number, is an object");
}

TEST_CASE("negative numbers are named with their value") {
  CHECK(message_of(R"({"capacity": {"slots": -1, "tokens": 1}})") == "capacity.slots: must not be negative, is -1");
  CHECK(message_of(R"({"capacity": {"slots": 1, "tokens": -9}})") == "capacity.tokens: must not be negative, is -9");
  CHECK(complaint(R"("revision": -1)") == "revision: must not be negative, is -1");
  CHECK(complaint(R"("max_waiting": -1)") == "max_waiting: must not be negative, is -1");
  CHECK(complaint(R"("max_preemptions": -1)") == "max_preemptions: must not be negative, is -1");
  CHECK(batch_complaint(R"("floor": {"slots": -1})") == "classes.batch.floor.slots: must not be negative, is -1");
  CHECK(batch_complaint(R"("floor": {"tokens": -2})") == "classes.batch.floor.tokens: must not be negative, is -2");
  CHECK(batch_complaint(R"("ceiling": {"slots": -3})") == "classes.batch.ceiling.slots: must not be negative, is -3");
  CHECK(batch_complaint(R"("ceiling": {"tokens": -4})") == "classes.batch.ceiling.tokens: must not be negative, is -4");
  CHECK(batch_complaint(R"("max_waiting": -5)") == "classes.batch.max_waiting: must not be negative, is -5");
  CHECK(batch_complaint(R"("restore_within_ms": -6)") ==
        "classes.batch.restore_within_ms: must not be negative, is -6");
}

TEST_CASE("fractions and what is beyond 64 bits are named with their value") {
  CHECK(batch_complaint(R"("floor": {"slots": 1.5})") == "classes.batch.floor.slots: must be a whole number, is 1.5");
  CHECK(batch_complaint(R"("floor": {"slots": 2.0})") == "classes.batch.floor.slots: must be a whole number, is 2.0");
  CHECK(batch_complaint(R"("floor": {"tokens": 1e30})") ==
        "classes.batch.floor.tokens: must be at most 9223372036854775807, in plain digits, is 1e30");
  CHECK(batch_complaint(R"("floor": {"tokens": 9223372036854775808})") ==
        "classes.batch.floor.tokens: must be at most 9223372036854775807, in plain digits, is 9223372036854775808");
  CHECK(batch_complaint(R"("floor": {"tokens": 99999999999999999999})") ==
        "classes.batch.floor.tokens: must be at most 9223372036854775807, in plain digits, is 99999999999999999999");
  CHECK(batch_complaint(R"("floor": {"tokens": -99999999999999999999})") ==
        "classes.batch.floor.tokens: must not be negative, is -99999999999999999999");
  CHECK(batch_complaint(R"("floor": {"tokens": 1e999})").starts_with("classes.batch.floor.tokens: "));
  CHECK(batch_complaint(R"("floor": {"tokens": 1e999})").ends_with("1e999"));
  CHECK(batch_complaint(R"("priority": 2147483648)") ==
        "classes.batch.priority: must be at most 2147483647, in plain digits, is 2147483648");
  CHECK(batch_complaint(R"("priority": -2147483649)") ==
        "classes.batch.priority: must be at least -2147483648, is -2147483649");
  CHECK(batch_complaint(R"("restore_within_ms": 9223372036855)") ==
        "classes.batch.restore_within_ms: must be at most 9223372036854, in plain digits, is 9223372036855");
  CHECK(complaint(R"("max_preemptions": 1e2)").starts_with("max_preemptions: must be at most"));
}

TEST_CASE("of a long value the start is shown") {
  const std::string nines(100'000, '9');
  for (const std::string& written : {nines, nines + ".5", nines + "e400"})
    CHECK(complaint(R"("max_waiting": )" + written).size() < 200);
}

TEST_CASE("not a number is not JSON") {
  CHECK(batch_complaint(R"("priority": NaN)").starts_with("line 1, column "));
  CHECK(message_of("{\n\"capacity\": {\"slots\": Infinity}}").starts_with("line 2, column 23: not JSON: "));
}

TEST_CASE("milliseconds are exact to the nanosecond") {
  const auto restored = [](std::string_view written) {
    const auto made =
        read_policy("{" + head + R"(, "classes": {"batch": {"restore_within_ms": )" + std::string(written) + "}}}");
    REQUIRE(made);
    return made->classes[1].restore_within;
  };
  CHECK(restored("0.1") == 100us);
  CHECK(restored("0.000001") == 1ns);
  CHECK(restored("1.500") == 1500us);
  CHECK(restored("-0.0") == 0ns);
  CHECK(restored("9007199254.740993") == 9007199254740993ns);
  CHECK(restored("9223372036854.775807") == sluice::duration::max());
  const auto refused = [](std::string_view written) {
    return batch_complaint(R"("restore_within_ms": )" + std::string(written));
  };
  const std::string where = "classes.batch.restore_within_ms: ";
  CHECK(refused("0.0000001") == where + "must have at most 6 digits after the point, and no exponent, is 0.0000001");
  CHECK(refused("1.5e3") == where + "must have at most 6 digits after the point, and no exponent, is 1.5e3");
  CHECK(refused("-0.5") == where + "must not be negative, is -0.5");
  CHECK(refused("9223372036854.775808") ==
        where + "must be at most 9223372036854, in plain digits, is 9223372036854.775808");
  CHECK(refused("99999999999999999999.5").starts_with(where + "must be at most 9223372036854, in plain digits"));
  CHECK(refused("\"2s\"") == where + "must be a number of milliseconds, is \"2s\"");
}

TEST_CASE("at most sixteen classes") {
  std::string classes;
  for (int i = 0; i < 14; ++i) classes += (i == 0 ? "" : ", ") + ("\"c" + std::to_string(i)) + "\": {}";
  CHECK(complaint(R"("classes": {)" + classes + "}").empty());
  CHECK(complaint(R"("classes": {)" + classes + R"(, "interactive": {}})").empty());
  CHECK(complaint(R"("classes": {)" + classes + R"(, "c14": {}})") ==
        "classes.c14: one class too many; at most 16 are allowed, interactive and batch included");
}

TEST_CASE("what validate finds is passed on") {
  CHECK(batch_complaint(R"("floor": {"slots": 9}, "ceiling": {"slots": 8})")
            .starts_with("classes.batch.floor.slots: 9 "));
  CHECK(batch_complaint(R"("floor": {"slots": 9})").starts_with("classes.batch.floor.slots: the floors 24 + 9 "));
  CHECK(complaint(R"("max_preemptions": 256)") == "max_preemptions: must be 0 to 255, is 256");
  CHECK(complaint(R"("classes": {"": {}})").starts_with("classes[2].name: "));
}

TEST_CASE("from a file") {
  const auto file = std::filesystem::temp_directory_path() /
                    ("sluice_policy_" + std::to_string(reinterpret_cast<std::uintptr_t>(&head)) + ".json");
  {
    std::ofstream out(file);
    out << "{" << head << ", \"revision\": 3}";
  }
  const auto made = sluice::read_policy_file(file);
  REQUIRE(made);
  CHECK(made->revision == 3);

  { std::ofstream(file) << "{\n  \"capacity\": }"; }
  const auto broken = sluice::read_policy_file(file);
  REQUIRE_FALSE(broken);
  CHECK(broken.error().message().starts_with(file.string() + ": line 2, column 15: not JSON: "));
  std::filesystem::remove(file);

  const auto missing = sluice::read_policy_file(file);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().is(sluice::errc::invalid_configuration));
  CHECK(missing.error().message() == file.string() + ": cannot be read: No such file or directory");

  const auto folder = sluice::read_policy_file(std::filesystem::temp_directory_path());
  REQUIRE_FALSE(folder);
  CHECK(folder.error().message().ends_with(": cannot be read: Is a directory"));
}
