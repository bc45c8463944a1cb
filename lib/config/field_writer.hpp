/// \file
/// `field_writer`: a policy's fields as JSON that a person reads.
#pragma once

#include <sluice/core/time.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

/// A walker over `walk_policy`. One field on a line, but an object of plain values on one.
class field_writer {
 public:
  /// The fields so far, as an object. `indent`: how deep it stands itself.
  [[nodiscard]] std::string text(std::size_t indent = 0) const;

  void flag(std::string_view name, bool value) { add(name, value ? "true" : "false"); }

  template <std::integral Number>
  void number(std::string_view name, Number value, std::int64_t /*least*/, std::int64_t /*greatest*/) {
    add(name, std::to_string(value));
  }

  template <std::integral Number>
  void amount(std::string_view name, Number value) {
    add(name, value == std::numeric_limits<Number>::max() ? "\"unlimited\"" : std::to_string(value));
  }

  void fraction(std::string_view name, double value);
  void time(std::string_view name, duration value);

  template <typename Part, typename Walk>
  void object(std::string_view name, const Part& part, Walk walk) {
    field_writer inside;
    walk(inside, part);
    parts_.push_back({std::string(name), {}, std::move(inside.parts_)});
  }

  template <typename One, typename Walk>
  void named(std::string_view name, std::string_view /*what*/, const std::vector<One>& all, Walk walk) {
    field_writer inside;
    for (const One& each : all) inside.object(each.name, each, walk);
    parts_.push_back({std::string(name), {}, std::move(inside.parts_)});
  }

 private:
  /// A field: its value, or, where that is empty, the fields of its object.
  struct entry {
    std::string name;
    std::string value;
    std::vector<entry> inside;
  };

  void add(std::string_view name, std::string value) { parts_.push_back({std::string(name), std::move(value), {}}); }
  static std::string text_of(const std::vector<entry>& parts, std::size_t indent);

  std::vector<entry> parts_;
};

}  // namespace sluice::config
