#include "llm/dialects/json_text.hpp"

#include <string>

namespace sluice::llm {

namespace {

class judge {
 public:
  json_kind kind = json_kind::none;
  bool too_deep = false;

  bool null() { return scalar(); }
  bool boolean(bool) { return scalar(); }
  bool number_integer(json_value::number_integer_t) { return scalar(); }
  bool number_unsigned(json_value::number_unsigned_t) { return scalar(); }
  bool number_float(json_value::number_float_t, const std::string&) { return scalar(); }
  bool string(std::string&) { return scalar(); }
  bool binary(json_value::binary_t&) { return scalar(); }
  bool key(std::string&) { return true; }
  bool start_object(std::size_t) { return open(json_kind::object); }
  bool start_array(std::size_t) { return open(json_kind::other); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

 private:
  bool scalar() {
    if (depth_ == 0) kind = json_kind::other;
    return true;
  }
  bool open(json_kind what) {
    if (depth_ == 0) kind = what;
    too_deep = ++depth_ > most_json_depth;
    return !too_deep;
  }
  bool close() {
    --depth_;
    return true;
  }

  std::size_t depth_ = 0;
};

}  // namespace

json_value object_with_room(std::size_t members) {
  json_value made = json_value::object();
  made.get_ref<json_value::object_t&>().reserve(members);
  return made;
}

json_kind judge_json(std::string_view text) {
  judge found;
  if (json_value::sax_parse(text, &found)) return found.kind;
  return found.too_deep ? json_kind::too_deep : json_kind::none;
}

std::optional<json_value> parse_json(std::string_view text) {
  const json_kind kind = judge_json(text);
  if (kind == json_kind::none || kind == json_kind::too_deep) return std::nullopt;
  return json_value::parse(text, nullptr, false);
}

std::optional<json_value> parse_object(std::string_view text) {
  if (judge_json(text) != json_kind::object) return std::nullopt;
  return json_value::parse(text, nullptr, false);
}

}  // namespace sluice::llm
