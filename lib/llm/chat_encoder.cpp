#include "llm/chat_encoder.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <string_view>

namespace sluice::llm {

namespace {

using json = nlohmann::ordered_json;

const char* role_name(role who) noexcept {
  switch (who) {
    case role::system: return "system";
    case role::user: return "user";
    case role::assistant: return "assistant";
    case role::tool: return "tool";
  }
  return "user";
}

const char* choice_name(tool_choice how) noexcept {
  switch (how) {
    case tool_choice::automatic: return "auto";
    case tool_choice::none: return "none";
    case tool_choice::required: return "required";
  }
  return "auto";
}

json encode_call(const tool_call& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.valid ? call.arguments : std::string("{}")}}}};
}

json encode_message(const message& said) {
  json out = {{"role", role_name(said.who)}};
  if (said.text.empty() && !said.tool_calls.empty()) {
    out["content"] = nullptr;
  } else {
    out["content"] = said.text;
  }
  for (const tool_call& call : said.tool_calls) out["tool_calls"].push_back(encode_call(call));
  if (said.who == role::tool) out["tool_call_id"] = said.tool_call_id;
  return out;
}

unexpected<error> wrong(const std::string& what) {
  return unexpected<error>(error(errc::invalid_argument, "the request does not hold: " + what));
}

expected<void, error> check(const request& asked) {
  if (asked.model.empty()) return wrong("model is empty");
  if (asked.messages.empty()) return wrong("messages is empty");
  if (asked.max_output_tokens && *asked.max_output_tokens <= 0) {
    return wrong("max_output_tokens = " + std::to_string(*asked.max_output_tokens) + "; must be positive");
  }
  if (asked.temperature && !std::isfinite(*asked.temperature)) return wrong("temperature is not a number");
  return {};
}

expected<void, error> add_tools(const request& asked, json& out) {
  if (asked.tools.empty()) return {};
  json& list = out["tools"];
  for (const tool& offered : asked.tools) {
    json schema = json::parse(offered.parameters, nullptr, false);
    if (!schema.is_object()) return wrong("tools: the parameters of '" + offered.name + "' are not a JSON object");
    list.push_back({{"type", "function"},
                    {"function",
                     {{"name", offered.name}, {"description", offered.description}, {"parameters", std::move(schema)}}}});
  }
  if (!asked.forced_tool.empty()) {
    out["tool_choice"] = {{"type", "function"}, {"function", {{"name", asked.forced_tool}}}};
  } else if (asked.choice) {
    out["tool_choice"] = choice_name(*asked.choice);
  }
  return {};
}

expected<void, error> add_extras(const request& asked, json& out) {
  if (asked.format.what == output_format::kind::json_object) out["response_format"] = {{"type", "json_object"}};
  if (asked.format.what == output_format::kind::json_schema) {
    json schema = json::parse(asked.format.schema, nullptr, false);
    if (!schema.is_object()) return wrong("format.schema is not a JSON object");
    out["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", asked.format.name}, {"strict", asked.format.strict}, {"schema", std::move(schema)}}}};
  }
  for (const auto& [field, text] : asked.extra_fields) {
    for (const std::string_view ours : {"model", "messages", "stream", "stream_options"}) {
      if (field == ours) return wrong("extra: " + field + " cannot be replaced");
    }
    json value = json::parse(text, nullptr, false);
    if (value.is_discarded()) return wrong("extra: the value of " + field + " is not JSON");
    out[field] = std::move(value);
  }
  return {};
}

}  // namespace

expected<std::string, error> encode_chat(const request& asked, const encoding& how) {
  if (auto holds = check(asked); !holds) return unexpected<error>(holds.error());
  json out = {{"model", asked.model}};
  json& messages = out["messages"];
  for (const message& said : asked.messages) messages.push_back(encode_message(said));
  if (auto added = add_tools(asked, out); !added) return unexpected<error>(added.error());
  if (asked.max_output_tokens) {
    const bool present = how.output_limit == output_limit_field::max_completion_tokens;
    out[present ? "max_completion_tokens" : "max_tokens"] = *asked.max_output_tokens;
  }
  if (asked.temperature) out["temperature"] = *asked.temperature;
  if (asked.seed) out["seed"] = *asked.seed;
  if (!asked.stop.empty()) out["stop"] = asked.stop;
  if (how.streamed) {
    out["stream"] = true;
    if (how.ask_usage) out["stream_options"] = {{"include_usage", true}};
  }
  if (auto added = add_extras(asked, out); !added) return unexpected<error>(added.error());
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace sluice::llm
