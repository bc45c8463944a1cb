#include "llm/routes/request_key.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::llm::detail {
namespace {

// Each type is taken apart by structured bindings: one that gets a field more does not compile here until it is told
// apart by it.
class writer {
 public:
  std::string text;

  template <typename Number>
  requires(std::integral<Number> || std::is_enum_v<Number>) void add(Number value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) text.push_back(static_cast<char>((bits >> shift) & 0xffU));
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(const std::string& value) {
    add(value.size());
    text += value;
  }
  template <typename Value>
  void add(const std::optional<Value>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <typename Value>
  void add(const std::vector<Value>& values) {
    add(values.size());
    for (const Value& each : values) add(each);
  }
  template <typename First, typename Second>
  void add(const std::pair<First, Second>& value) {
    all(value.first, value.second);
  }
  void add(const content_part& value) {
    const auto& [what, content, media_type, name, spoken] = value;
    all(what, content, media_type, name, spoken);
  }
  void add(const opaque_block& value) {
    const auto& [spoken, json] = value;
    all(spoken, json);
  }
  void add(const tool_call& value) {
    const auto& [id, name, arguments, valid, problem] = value;
    all(id, name, arguments, valid, problem);
  }
  void add(const tool& value) {
    const auto& [name, description, parameters, strict] = value;
    all(name, description, parameters, strict);
  }
  void add(const output_format& value) {
    const auto& [what, name, schema, strict] = value;
    all(what, name, schema, strict);
  }
  void add(const message& value) {
    const auto& [who, said, parts, tool_calls, opaque, tool_call_id, is_error] = value;
    all(who, said, parts, tool_calls, opaque, tool_call_id, is_error);
  }
  void add(const request& value) {
    const auto& [model, messages, tools, choice, forced_tool, max_output_tokens, temperature, seed, stop,
                 parallel_tool_calls, reasoning_effort, end_user, format, extra_fields] = value;
    all(model, messages, tools, choice, forced_tool, max_output_tokens, temperature, seed, stop, parallel_tool_calls,
        reasoning_effort, end_user, format, extra_fields);
  }

 private:
  template <typename... Fields>
  void all(const Fields&... fields) {
    (add(fields), ...);
  }
};

}  // namespace

std::string request_key(const request& of) {
  writer made;
  made.add(of);
  return std::move(made.text);
}

}  // namespace sluice::llm::detail
