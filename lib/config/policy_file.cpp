#include <sluice/config/policy_file.hpp>

#include "config/json_fields.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sluice {
namespace {

using config::json_field;
using config::wrong;
using result = std::optional<error>;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::string shown(const json_field& field) {
  const std::string text = config::shortened(field.written);
  return field.what == json_field::kind::text ? '"' + text + '"' : text;
}

error wrong_type(const json_field& field, std::string_view wanted) {
  return wrong(field, "must be " + std::string(wanted) + ", is " + shown(field));
}

/// The parser gives what is beyond 64 bits, and all that is written with a point or an exponent, as a fraction.
bool beyond_whole_numbers(const json_field& field) {
  return field.what == json_field::kind::fraction && field.written.find('.') == std::string::npos;
}

result read_whole(const json_field& field, std::int64_t least, std::int64_t greatest, std::int64_t& into) {
  const bool beyond = beyond_whole_numbers(field);
  if (field.what != json_field::kind::whole && !beyond) return wrong_type(field, "a whole number");
  const bool below = beyond ? field.written.front() == '-' : field.number < least;
  if (below && least == 0) return wrong(field, "must not be negative, is " + shown(field));
  if (below) return wrong(field, "must be at least " + std::to_string(least) + ", is " + shown(field));
  if (beyond || field.number > greatest) {
    return wrong(field, "must be at most " + std::to_string(greatest) + ", in plain digits, is " + shown(field));
  }
  into = field.number;
  return {};
}

result read_amount(const json_field& field, bool may_be_unlimited, std::int64_t& into) {
  if (may_be_unlimited && field.what == json_field::kind::text) {
    if (field.written != "unlimited") return wrong_type(field, "a whole number or \"unlimited\"");
    into = unlimited;
    return {};
  }
  return read_whole(field, 0, most, into);
}

result read_flag(const json_field& field, bool& into) {
  if (field.what != json_field::kind::boolean) return wrong_type(field, "true or false");
  into = field.truth;
  return {};
}

result read_capacity(const json_field& field, std::size_t depth, bool may_be_unlimited, capacity& into) {
  if (field.path.size() == depth) {
    if (field.what == json_field::kind::object) return {};
    return wrong_type(field, "an object with slots and tokens");
  }
  const std::string& name = field.path[depth];
  if (name == "slots") return read_amount(field, may_be_unlimited, into.slots);
  if (name == "tokens") return read_amount(field, may_be_unlimited, into.tokens);
  return wrong(field, "unknown field; known here are slots, tokens");
}

result read_class(const json_field& field, class_policy& into) {
  const std::string& name = field.path[2];
  if (name == "floor") return read_capacity(field, 3, false, into.floor);
  if (name == "ceiling") return read_capacity(field, 3, true, into.ceiling);
  std::int64_t number = 0;
  if (name == "priority") {
    const result bad = read_whole(field, std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), number);
    if (!bad) into.priority = static_cast<int>(number);
    return bad;
  }
  if (name == "preemptible") return read_flag(field, into.preemptible);
  if (name == "restore_within_ms") {
    constexpr std::int64_t longest = std::chrono::duration_cast<std::chrono::milliseconds>(duration::max()).count();
    const result bad = read_whole(field, 0, longest, number);
    if (!bad) into.restore_within = std::chrono::milliseconds(number);
    return bad;
  }
  if (name == "max_waiting") {
    const result bad = read_amount(field, true, number);
    if (!bad)
      into.max_waiting =
          number == unlimited ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(number);
    return bad;
  }
  return wrong(field,
               "unknown field; known here are priority, floor, ceiling, preemptible, restore_within_ms, max_waiting");
}

result read_classes(const json_field& field, policy& into) {
  if (field.path.size() == 1) {
    if (field.what == json_field::kind::object) return {};
    return wrong_type(field, "an object with an object for each class");
  }
  auto found = into.find(field.path[1]);
  if (field.path.size() == 2) {
    if (field.what != json_field::kind::object) return wrong_type(field, "an object");
    if (found) return {};
    if (into.classes.size() == max_workloads) {
      return wrong(field, "one class too many; at most " + std::to_string(max_workloads) +
                              " are allowed, interactive and batch included");
    }
    into.add_class(class_policy(field.path[1]));
    return {};
  }
  return read_class(field, into[*found]);
}

result read_field(const json_field& field, policy& into) {
  const std::string& name = field.path[0];
  if (name == "capacity") return {};
  if (name == "classes") return read_classes(field, into);
  std::int64_t number = 0;
  if (name == "max_waiting") {
    const result bad = read_whole(field, 0, most, number);
    if (!bad) into.max_waiting = static_cast<std::size_t>(number);
    return bad;
  }
  if (name == "max_preemptions") {
    const result bad = read_whole(field, 0, std::numeric_limits<int>::max(), number);
    if (!bad) into.max_preemptions = static_cast<int>(number);
    return bad;
  }
  if (name == "revision") {
    const result bad = read_whole(field, 0, most, number);
    if (!bad) into.revision = static_cast<std::uint64_t>(number);
    return bad;
  }
  return wrong(field, "unknown field; known here are revision, capacity, classes, max_waiting, max_preemptions");
}

/// The capacity comes first wherever it stands, since the defaults depend on it.
expected<capacity, error> total_of(const std::vector<json_field>& fields) {
  capacity total{-1, -1};
  for (const json_field& field : fields) {
    if (field.path[0] != "capacity") continue;
    if (result bad = read_capacity(field, 1, true, total)) return unexpected<error>(std::move(*bad));
  }
  for (const auto& [number, name] : {std::pair(total.slots, "capacity.slots"), {total.tokens, "capacity.tokens"}}) {
    if (number < 0) return unexpected<error>(error(errc::invalid_configuration, std::string(name) + ": is missing"));
  }
  return total;
}

error about(const std::filesystem::path& file, const std::string& what) {
  return {errc::invalid_configuration, file.string() + ": " + what};
}

}  // namespace

expected<policy, error> read_policy(std::string_view json) {
  constexpr std::size_t max_depth = 4;
  auto fields = config::read_json_fields(json, max_depth);
  if (!fields) return unexpected<error>(std::move(fields.error()));
  const auto total = total_of(*fields);
  if (!total) return unexpected<error>(total.error());

  policy made(*total);
  for (const json_field& field : *fields) {
    if (result bad = read_field(field, made)) return unexpected<error>(std::move(*bad));
  }
  if (auto checked = validate(made); !checked) return unexpected<error>(std::move(checked.error()));
  return made;
}

expected<policy, error> read_policy_file(const std::filesystem::path& file) {
  // Not an ifstream, which loses the system's reason.
  errno = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(
      std::fopen(file.c_str(), "rb"), [](std::FILE* opened) { return opened == nullptr ? 0 : std::fclose(opened); });
  std::string text;
  std::array<char, 4096> piece;
  while (in != nullptr) {
    const std::size_t read = std::fread(piece.data(), 1, piece.size(), in.get());
    text.append(piece.data(), read);
    if (read < piece.size()) break;
  }
  if (in == nullptr || std::ferror(in.get()) != 0) {
    const int why = errno;
    return unexpected<error>(about(file, "cannot be read: " + std::generic_category().message(why)));
  }
  auto made = read_policy(text);
  if (!made) return unexpected<error>(about(file, made.error().message()));
  return made;
}

}  // namespace sluice
