/// \file
/// `field_reader`: puts one field of the document into its place in a policy.
#pragma once

#include "config/field_values.hpp"
#include "config/json_fields.hpp"

#include <sluice/core/class_policy.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/workload.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

/// A walker over `walk_policy`. It compares each name with its field's at one depth of the path, and goes deeper where
/// they agree.
class field_reader {
 public:
  field_reader(const json_field& field, std::size_t depth) : field_(field), depth_(depth) {}

  /// What is wrong with the field after the walk, if anything: a bad value, or a name that the walk did not pass.
  [[nodiscard]] field_fault fault() const {
    if (found_) return fault_;
    return wrong(field_, "unknown field; known here are " + known_);
  }

  void flag(std::string_view name, bool& into) {
    if (here(name)) fault_ = read_flag(field_, into);
  }

  template <std::integral Number>
  void number(std::string_view name, Number& into, std::int64_t least, std::int64_t greatest) {
    if (!here(name)) return;
    std::int64_t value = 0;
    fault_ = read_whole(field_, least, greatest, value);
    if (!fault_) into = static_cast<Number>(value);
  }

  template <std::integral Number>
  void amount(std::string_view name, Number& into) {
    if (!here(name)) return;
    std::int64_t value = 0;
    fault_ = read_amount(field_, value);
    if (!fault_) into = value == unlimited ? std::numeric_limits<Number>::max() : static_cast<Number>(value);
  }

  void fraction(std::string_view name, double& into) {
    if (here(name)) fault_ = read_fraction(field_, into);
  }

  void time(std::string_view name, duration& into) {
    if (here(name)) fault_ = read_milliseconds(field_, into);
  }

  template <typename Part, typename Walk>
  void object(std::string_view name, Part& into, Walk walk) {
    if (!here(name)) return;
    field_reader inside(field_, depth_ + 1);
    walk(inside, into);
    if (depth_ + 1 < field_.path.size()) {
      fault_ = inside.fault();
    } else if (field_.what != json_field::kind::object) {
      fault_ = wrong_type(field_, "an object with " + inside.known_);
    }
  }

  template <typename One, typename Walk>
  void named(std::string_view name, std::string_view what, std::vector<One>& into, Walk walk) {
    if (!here(name)) return;
    const std::size_t below = field_.path.size() - depth_ - 1;
    if (below < 2) {
      if (field_.what == json_field::kind::object) {
        if (below == 1) fault_ = begin(into, field_.path.back());
      } else {
        fault_ =
            wrong_type(field_, below == 1 ? "an object" : "an object with an object for each " + std::string(what));
      }
      return;
    }
    field_reader inside(field_, depth_ + 2);
    walk(inside, named_so(into, field_.path[depth_ + 1]));
    fault_ = inside.fault();
  }

 private:
  [[nodiscard]] bool here(std::string_view name) {
    if (depth_ < field_.path.size() && field_.path[depth_] == name) return found_ = true;
    known_ += (known_.empty() ? "" : ", ") + std::string(name);
    return false;
  }

  /// Its object stands before its fields, and none stands twice: a new one is always the last, but for the classes that
  /// every policy has.
  template <typename One>
  [[nodiscard]] static One& named_so(std::vector<One>& among, const std::string& name) {
    if constexpr (std::same_as<One, class_policy>) {
      return *std::find_if(among.begin(), among.end(), [&](const One& each) { return each.name == name; });
    } else {
      return among.back();
    }
  }

  template <typename One>
  [[nodiscard]] field_fault begin(std::vector<One>& among, const std::string& name) const {
    if constexpr (std::same_as<One, class_policy>) {
      if (std::any_of(among.begin(), among.end(), [&](const One& each) { return each.name == name; })) return {};
      if (among.size() == max_workloads) {
        return wrong(field_, "one class too many; at most " + std::to_string(max_workloads) +
                                 " are allowed, interactive and batch included");
      }
    }
    among.emplace_back(name);
    return {};
  }

  const json_field& field_;
  std::size_t depth_;
  bool found_ = false;
  field_fault fault_;
  std::string known_;
};

}  // namespace sluice::config
