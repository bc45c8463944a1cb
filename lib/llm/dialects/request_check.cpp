#include "llm/dialects/request_check.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace sluice::llm {

std::string message_name(std::size_t at) { return "messages[" + std::to_string(at) + "]"; }

std::string part_name(std::size_t at, std::size_t part) {
  return message_name(at) + ".parts[" + std::to_string(part) + "]";
}

std::string data_url(const content_part& part) { return "data:" + part.media_type + ";base64," + part.content; }

std::string sent_name(const tool_call& call) {
  constexpr std::size_t most = 64;
  if (call.valid) return call.name;
  std::string name = call.name.empty() ? "unnamed" : call.name.substr(0, most);
  for (char& c : name) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!fits) c = '_';
  }
  return name;
}

std::string_view sent_arguments(const tool_call& call) noexcept {
  return call.valid && !call.arguments.empty() ? std::string_view(call.arguments) : "{}";
}

std::string told_result(const message& result) {
  constexpr std::string_view mark = "Error: ";
  return result.is_error && !result.text.starts_with(mark) ? std::string(mark) + result.text : result.text;
}

request_check::request_check(const request& asked, dialect spoken) : asked_(asked), spoken_(spoken) {
  if (asked.model.empty()) refuse("model is empty");
  if (asked.messages.empty()) refuse("messages is empty");
  if (asked.max_output_tokens && *asked.max_output_tokens <= 0) {
    refuse("max_output_tokens = " + std::to_string(*asked.max_output_tokens) + "; must be positive");
  }
  if (asked.temperature && !std::isfinite(*asked.temperature)) refuse("temperature is not a number");
  for (std::size_t i = 0; i < asked.messages.size(); ++i) check_message(asked.messages[i], i);
  check_tools();
}

void request_check::refuse(const std::string& what) {
  if (!wrong_) wrong_.emplace(errc::invalid_argument, "the request does not hold: " + what);
}

void request_check::cannot_express(const std::string& field, const std::string& advice) {
  refuse(field + " cannot be expressed in " + std::string(to_string(spoken_)) + "; " + advice);
}

void request_check::check_message(const message& said, std::size_t at) {
  const std::string name = message_name(at);
  if (said.who != role::assistant && !said.tool_calls.empty())
    refuse(name + ".tool_calls: only the assistant makes calls");
  if (said.who != role::assistant && !said.opaque.empty())
    refuse(name + ".opaque: only the assistant's answers have blocks");
  if (said.who == role::tool && said.tool_call_id.empty()) refuse(name + ".tool_call_id is empty");
  for (std::size_t i = 0; i < said.tool_calls.size(); ++i) {
    const std::string call = name + ".tool_calls[" + std::to_string(i) + "]";
    if (said.tool_calls[i].id.empty()) refuse(call + ".id is empty");
    if (said.tool_calls[i].name.empty() && said.tool_calls[i].valid) refuse(call + ".name is empty");
  }
  for (std::size_t i = 0; i < said.parts.size(); ++i) {
    const content_part& part = said.parts[i];
    if (part.what == content_part::kind::text) continue;
    if (part.content.empty()) refuse(part_name(at, i) + " is empty");
    if (part.what == content_part::kind::file && part.media_type.empty())
      refuse(part_name(at, i) + ".media_type is empty");
  }
}

bool request_check::has_tools_of_its_own() const {
  return std::any_of(asked_.extra_fields.begin(), asked_.extra_fields.end(),
                     [](const auto& field) { return field.first == "tools"; });
}

void request_check::check_tools() {
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i < asked_.tools.size(); ++i) {
    const std::string& name = asked_.tools[i].name;
    if (name.empty()) refuse("tools[" + std::to_string(i) + "].name is empty");
    if (!names.insert(name).second)
      refuse("tools[" + std::to_string(i) + "]: a tool named '" + name + "' is there already");
  }
  // What the caller offers in a field of its own is not looked into.
  if (has_tools_of_its_own()) return;
  if (!asked_.forced_tool.empty()) {
    if (!names.contains(asked_.forced_tool)) {
      refuse("forced_tool: no tool named '" + asked_.forced_tool + "' is offered");
    }
  } else if (asked_.choice == tool_choice::required && names.empty()) {
    refuse("choice: a tool call is required, and no tool is offered");
  }
}

json_value request_check::object(std::string_view text, const std::string& field) {
  if (auto parsed = parse_object(text)) return *std::move(parsed);
  refuse(judge_json(text) == json_kind::too_deep
             ? field + " is nested deeper than " + std::to_string(most_json_depth) + " levels"
             : field + " is not a JSON object");
  return json_value::object();
}

json_value request_check::parameters(const tool& offered) {
  return object(offered.parameters, "tools['" + offered.name + "'].parameters");
}

json_value request_check::schema() {
  if (asked_.format.name.empty()) refuse("format.name is empty");
  return object(asked_.format.schema, "format.schema");
}

json_value request_check::native(const content_part& part, const std::string& field) {
  if (part.spoken != spoken_) {
    refuse(field + " is a part of " + std::string(to_string(part.spoken)) + ", and the server speaks " +
           std::string(to_string(spoken_)));
  }
  return object(part.content, field);
}

json_value request_check::opaque(const message& said, std::size_t at) {
  json_value blocks = json_value::array();
  for (const opaque_block& block : said.opaque) {
    const std::string field = message_name(at) + ".opaque";
    if (block.spoken != spoken_) {
      refuse(field + " holds a block of " + std::string(to_string(block.spoken)) + ", which means nothing in " +
             std::string(to_string(spoken_)) + "; leave it out, or stay with the provider that gave it");
    }
    blocks.push_back(object(block.json, field));
  }
  return blocks;
}

void request_check::add_extras(json_value& out, std::initializer_list<std::string_view> ours) {
  for (const auto& [field, text] : asked_.extra_fields) {
    if (std::find(ours.begin(), ours.end(), field) != ours.end()) refuse("extra: " + field + " cannot be replaced");
    // What is sent is what was reserved.
    if (field == "max_tokens" || field == "max_completion_tokens" || field == "max_output_tokens") {
      refuse("extra: " + field + " would go past what is reserved; use limit_output (max_output_tokens)");
    }
    auto value = parse_json(text);
    if (!value) refuse("extra: the value of " + field + " is not JSON, or too deep");
    out[field] = value ? *std::move(value) : json_value();
  }
}

}  // namespace sluice::llm
