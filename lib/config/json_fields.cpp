#include "config/json_fields.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace sluice::config {
namespace {

using nlohmann::json;

bool plain_word(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string quoted(const std::string& text) { return json(text).dump(-1, ' ', false, json::error_handler_t::replace); }

error not_json(std::string_view text, std::size_t position, std::string_view why) {
  // The parser counts the bytes that it has read; the last of them is the one it could not use.
  const std::string_view before = text.substr(0, std::min(position == 0 ? 0 : position - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::size_t column = 1 + before.size() - line_start;
  return {errc::invalid_configuration,
          "line " + std::to_string(line) + ", column " + std::to_string(column) + ": not JSON: " + std::string(why)};
}

/// What is wrong, out of the parser's message "[json.exception.parse_error.101] parse error at line 1, column 2: ...".
std::string bare_reason(std::string message) {
  const auto at = message.find("column ");
  const auto colon = message.find(": ", at == std::string::npos ? 0 : at);
  if (colon != std::string::npos) message.erase(0, colon + 2);
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return message;
}

class collector final : public nlohmann::json_sax<json> {
 public:
  collector(std::string_view text, std::size_t max_depth) : text_(text), max_depth_(max_depth) {}

  bool null() override { return add(json_field::kind::null, "null"); }
  bool boolean(bool value) override {
    if (!add(json_field::kind::boolean, value ? "true" : "false")) return false;
    fields.back().truth = value;
    return true;
  }
  bool number_integer(number_integer_t value) override { return whole(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return add(json_field::kind::fraction, std::to_string(value));
    }
    return whole(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t, const string_t& written) override {
    return add(json_field::kind::fraction, written);
  }
  bool string(string_t& value) override { return add(json_field::kind::text, value); }
  bool binary(binary_t&) override { return add(json_field::kind::array, "binary data"); }

  bool start_object(std::size_t) override {
    const bool top = depth_ == 0;
    if (!top && !add(json_field::kind::object, "an object")) return false;
    if (++depth_ > max_depth_) {
      failure = wrong(fields.back(), "must not be an object");
      return false;
    }
    path_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    path_.back() = name;
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (!add(json_field::kind::array, "an array")) return false;
    failure = wrong(fields.back(), "must not be an array");
    return false;
  }
  bool end_array() override { return true; }

  bool parse_error(std::size_t position, const std::string&, const json::exception& why) override {
    // A number such as 1e999 is JSON, but more than the parser can hold.
    if (why.id == 406 && !path_.empty()) {
      const std::string message = why.what();
      const auto first = message.find('\'');
      const auto last = message.rfind('\'');
      json_field where;
      where.path = path_;
      where.written = first < last ? message.substr(first + 1, last - first - 1) : "";
      failure = wrong(where, "does not fit, is " + shortened(where.written));
    } else {
      failure = not_json(text_, position, bare_reason(why.what()));
    }
    return false;
  }

  std::vector<json_field> fields;
  std::optional<error> failure;

 private:
  bool whole(std::int64_t value) {
    if (!add(json_field::kind::whole, std::to_string(value))) return false;
    fields.back().number = value;
    return true;
  }

  bool add(json_field::kind what, std::string written) {
    if (path_.empty()) {
      failure = error(errc::invalid_configuration, "a policy is a JSON object, not " + written);
      return false;
    }
    json_field field;
    field.path = path_;
    field.what = what;
    field.written = std::move(written);
    if (!seen_.insert(path_).second) {
      failure = wrong(field, "stands twice");
      return false;
    }
    fields.push_back(std::move(field));
    return true;
  }

  std::string_view text_;
  std::size_t max_depth_;
  std::size_t depth_ = 0;
  std::vector<std::string> path_;
  std::set<std::vector<std::string>> seen_;
};

}  // namespace

std::string json_field::name() const {
  std::string joined;
  for (const std::string& part : path) {
    if (!joined.empty()) joined += '.';
    joined += plain_word(part) ? part : quoted(part);
  }
  return joined;
}

std::string shortened(const std::string& written) {
  constexpr std::size_t enough = 40;
  return written.size() > enough ? written.substr(0, enough) + "..." : written;
}

error wrong(const json_field& where, std::string_view what) {
  return {errc::invalid_configuration, where.name() + ": " + std::string(what)};
}

expected<std::vector<json_field>, error> read_json_fields(std::string_view text, std::size_t max_depth) {
  collector into(text, max_depth);
  json::sax_parse(text.begin(), text.end(), &into);
  if (into.failure) return unexpected<error>(std::move(*into.failure));
  return std::move(into.fields);
}

}  // namespace sluice::config
