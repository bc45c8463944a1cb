#include "agent/tools/schema_pattern.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::agent::detail {

namespace {

// The instructions of a pattern that counts as small.
constexpr std::size_t small_program = 128;
// What a pattern that repeats what is repeated may grow to.
constexpr std::int64_t most_memory = std::int64_t{4} << 20U;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool are_hex(std::string_view digits, std::size_t count) {
  return digits.size() >= count && std::all_of(digits.begin(), digits.begin() + count, is_hex);
}

/// Calls `visit(at, in_class)` for each place at which a character, an escape, or a bracket begins.
template <typename Visit>
void each_place(std::string_view pattern, Visit visit) {
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (!visit(at, in_class)) return;
    if (pattern[at] == '\\') {
      ++at;
    } else if (pattern[at] == '[') {
      in_class = true;
    } else if (pattern[at] == ']') {
      in_class = false;
    }
  }
}

/// What the two write differently: `\u00e9`, `\cJ`, `(?<name>`, `[` within a class, empty classes, and what `.` is not.
std::string translated(std::string_view pattern) {
  std::string made;
  std::size_t copied = 0;
  const auto put = [&](std::size_t at, std::size_t length, std::string_view instead) {
    made += pattern.substr(copied, at - copied);
    made += instead;
    copied = at + length;
  };
  each_place(pattern, [&](std::size_t at, bool in_class) {
    const std::string_view rest = pattern.substr(at);
    if (rest.starts_with("\\u") && are_hex(rest.substr(2), 4)) {
      put(at, 6, "\\x{" + std::string(rest.substr(2, 4)) + '}');
    } else if (!in_class && rest.starts_with("[]")) {
      put(at, 2, "[^\\x{0}-\\x{10ffff}]");
    } else if (!in_class && rest.starts_with("[^]")) {
      put(at, 3, "[\\x{0}-\\x{10ffff}]");
    } else if (rest.starts_with("\\/")) {
      put(at, 2, "/");
    } else if (in_class && rest.starts_with('[')) {
      put(at, 1, "\\[");
    } else if (!in_class && rest.starts_with('.')) {
      put(at, 1, "[^\\n\\r\\x{2028}\\x{2029}]");
    } else if (!in_class && rest.starts_with("(?<") && rest.size() > 3 && rest[3] != '=' && rest[3] != '!') {
      put(at, std::min(rest.find('>'), rest.size() - 1) + 1, "(");
    }
    return true;
  });
  put(pattern.size(), 0, "");
  return made;
}

/// How long the group is with which `pattern` begins; nothing when it is not closed.
std::optional<std::size_t> group_length(std::string_view pattern) {
  std::optional<std::size_t> length;
  std::size_t depth = 0;
  each_place(pattern, [&](std::size_t at, bool in_class) {
    if (in_class) return true;
    if (pattern[at] == '(') ++depth;
    if (pattern[at] == ')' && --depth == 0) length = at + 1;
    return !length.has_value();
  });
  return length;
}

bool has_alternatives(std::string_view pattern) {
  bool found = false;
  std::size_t depth = 0;
  each_place(pattern, [&](std::size_t at, bool in_class) {
    if (in_class) return true;
    if (pattern[at] == '(') ++depth;
    if (pattern[at] == ')' && depth > 0) --depth;
    found = found || (pattern[at] == '|' && depth == 0);
    return !found;
  });
  return found;
}

}  // namespace

class schema_pattern::part {
 public:
  std::unique_ptr<const RE2> compiled;
  bool is_to_match = true;
};

schema_pattern::schema_pattern() noexcept = default;
schema_pattern::schema_pattern(schema_pattern&&) noexcept = default;
schema_pattern& schema_pattern::operator=(schema_pattern&&) noexcept = default;
schema_pattern::~schema_pattern() = default;

expected<schema_pattern, std::string> schema_pattern::compile(std::string_view pattern) {
  schema_pattern made;
  std::string problem;
  std::size_t instructions = 0;
  const auto add = [&](std::string_view text, bool is_to_match) {
    RE2::Options how;
    how.set_log_errors(false);
    how.set_max_mem(most_memory);
    part each;
    each.compiled = std::make_unique<const RE2>(translated(text), how);
    each.is_to_match = is_to_match;
    if (!each.compiled->ok() && problem.empty()) problem = each.compiled->error();
    if (each.compiled->ok()) instructions += static_cast<std::size_t>(each.compiled->ProgramSize());
    made.parts_.push_back(std::move(each));
  };

  std::string_view rest = pattern;
  if (pattern.starts_with("^(?") && !has_alternatives(pattern)) {
    rest.remove_prefix(1);
    while (rest.starts_with("(?=") || rest.starts_with("(?!")) {
      const auto length = group_length(rest);
      // What is repeated is no part of its own.
      if (!length || (*length < rest.size() && std::string_view("*+?{").find(rest[*length]) != std::string_view::npos))
        break;
      add("^(?:" + std::string(rest.substr(3, *length - 4)) + ')', rest[2] == '=');
      rest.remove_prefix(*length);
    }
    add('^' + std::string(rest), true);
  } else {
    add(pattern, true);
  }
  if (!problem.empty()) return unexpected<std::string>(std::move(problem));
  made.weight_ = 1 + instructions / small_program;
  return made;
}

bool schema_pattern::found_in(std::string_view text) const {
  const re2::StringPiece piece(text.data(), text.size());
  return std::all_of(parts_.begin(), parts_.end(), [&](const part& each) {
    return each.compiled->Match(piece, 0, piece.size(), RE2::UNANCHORED, nullptr, 0) == each.is_to_match;
  });
}

}  // namespace sluice::agent::detail
