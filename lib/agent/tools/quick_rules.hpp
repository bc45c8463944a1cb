/// \file
/// A schema of the common keywords, made ready to hold values against.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sluice::agent::detail {

/// Rules within rules that lead into each other before a value is told: each takes stack.
inline constexpr std::size_t most_open_rules = 500;

/// The place of the rule that lets any value be.
inline constexpr std::uint32_t any_value = 0;

/// Bits of `rule_of_schema::kinds`.
enum kind : std::uint8_t {
  is_null = 1,
  is_boolean = 2,
  is_integer = 4,
  // One that is no integer.
  is_fraction = 8,
  is_string = 16,
  is_array = 32,
  is_object = 64,
  is_anything = 127,
};

/// What a value may be equal to. Numbers are compared as `double`, as valijson does.
struct value_list {
  std::uint8_t constants = 0;
  // In order.
  std::vector<double> numbers;
  std::vector<std::string> texts;

  // Bits of `constants`.
  static constexpr std::uint8_t null = 1;
  static constexpr std::uint8_t yes = 2;
  static constexpr std::uint8_t no = 4;
};

struct named_rule {
  std::string name;
  std::uint32_t rule = any_value;
  // One bit of those that must be there.
  std::uint64_t required = 0;
  bool is_known = false;
};

struct rule_of_schema {
  std::uint8_t kinds = is_anything;
  // It is in each of them.
  std::vector<value_list> values;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  double above = -std::numeric_limits<double>::infinity();
  double beneath = std::numeric_limits<double>::infinity();
  std::uint64_t least_length = 0;
  std::uint64_t most_length = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t least_items = 0;
  std::uint64_t most_items = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t least_members = 0;
  std::uint64_t most_members = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t items = any_value;
  // By name.
  std::vector<named_rule> members;
  std::uint64_t required = 0;
  std::uint32_t others = any_value;
  std::vector<std::uint32_t> all_of;
  std::vector<std::vector<std::uint32_t>> any_of;
  std::vector<std::vector<std::uint32_t>> one_of;
  bool measures_length = false;
};

/// Immutable once made.
struct quick_rules {
  std::vector<rule_of_schema> all;
  std::uint32_t root = any_value;
};

/// Nothing when `schema`, which has been reviewed, has a keyword that the rules do not know.
[[nodiscard]] std::optional<quick_rules> make_quick_rules(const nlohmann::json& schema);

}  // namespace sluice::agent::detail
