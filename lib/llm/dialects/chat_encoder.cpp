#include "llm/dialects/chat_encoder.hpp"

#include "llm/dialects/json_writing.hpp"
#include "llm/dialects/request_check.hpp"
#include "llm/dialects/wire_ids.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace sluice::llm {

namespace {

using json = json_value;

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

// The body's own.
constexpr std::size_t most_fields = 16;

class encoder {
 public:
  encoder(const request& asked, const encoding& how)
      : asked_(asked), how_(how), check_(asked, dialect::openai_chat), ids_(asked.messages, id_alphabet::any) {}

  expected<std::string, error> body() {
    json out = object_with_room(most_fields + asked_.extra_fields.size());
    out["model"] = asked_.model;
    json& messages = out["messages"];
    for (std::size_t i = 0; i < asked_.messages.size(); ++i) messages.push_back(encode_message(asked_.messages[i], i));
    add_tools(out);
    add_settings(out);
    add_format(out);
    check_.add_extras(out, {"model", "messages", "stream", "stream_options"});
    if (!check_.holds()) return unexpected<error>(check_.why());
    return written(out);
  }

 private:
  json encode_message(const message& said, std::size_t at) {
    json out = object_with_room(4);
    out["role"] = role_name(said.who);
    if (!said.parts.empty()) {
      out["content"] = parts(said, at);
    } else if (said.text.empty() && !said.tool_calls.empty()) {
      out["content"] = nullptr;
    } else {
      out["content"] = told_result(said);
    }
    for (std::size_t i = 0; i < said.tool_calls.size(); ++i) {
      const tool_call& call = said.tool_calls[i];
      out["tool_calls"].push_back({{"id", ids_.of_call(at, i)},
                                   {"type", "function"},
                                   {"function", {{"name", sent_name(call)}, {"arguments", sent_arguments(call)}}}});
    }
    if (said.who == role::tool) out["tool_call_id"] = ids_.of_result(at);
    for (const json& block : check_.opaque(said, at)) out.update(block);
    return out;
  }

  json parts(const message& said, std::size_t at) {
    json list = json::array();
    if (const std::string text = told_result(said); !text.empty()) list.push_back({{"type", "text"}, {"text", text}});
    for (std::size_t i = 0; i < said.parts.size(); ++i) list.push_back(part(said, said.parts[i], part_name(at, i)));
    return list;
  }

  json part(const message& said, const content_part& part, const std::string& name) {
    switch (part.what) {
      case content_part::kind::text: return {{"type", "text"}, {"text", part.content}};
      case content_part::kind::native: return check_.native(part, name);
      case content_part::kind::image:
      case content_part::kind::file: break;
    }
    if (said.who != role::user) {
      check_.cannot_express(name + ": a picture or file of the role " + role_name(said.who),
                            "put it into a user's message");
    }
    if (part.what == content_part::kind::file) {
      return {{"type", "file"}, {"file", {{"filename", part.name}, {"file_data", data_url(part)}}}};
    }
    return {{"type", "image_url"}, {"image_url", {{"url", part.media_type.empty() ? part.content : data_url(part)}}}};
  }

  void add_tools(json& out) {
    if (!check_.offers_tools()) return;
    for (const tool& offered : asked_.tools) {
      json function = {
          {"name", offered.name}, {"description", offered.description}, {"parameters", check_.parameters(offered)}};
      if (offered.strict) function["strict"] = true;
      out["tools"].push_back({{"type", "function"}, {"function", std::move(function)}});
    }
    if (!asked_.forced_tool.empty()) {
      out["tool_choice"] = {{"type", "function"}, {"function", {{"name", asked_.forced_tool}}}};
    } else if (asked_.choice) {
      out["tool_choice"] = choice_name(*asked_.choice);
    }
    if (asked_.parallel_tool_calls) out["parallel_tool_calls"] = *asked_.parallel_tool_calls;
  }

  void add_settings(json& out) const {
    if (asked_.max_output_tokens) {
      const bool present = how_.output_limit == output_limit_field::max_completion_tokens;
      out[present ? "max_completion_tokens" : "max_tokens"] = *asked_.max_output_tokens;
    }
    if (asked_.temperature) out["temperature"] = *asked_.temperature;
    if (asked_.seed) out["seed"] = *asked_.seed;
    if (!asked_.stop.empty()) out["stop"] = asked_.stop;
    if (!asked_.reasoning_effort.empty()) out["reasoning_effort"] = asked_.reasoning_effort;
    if (!asked_.end_user.empty()) out["user"] = asked_.end_user;
    if (how_.streamed) {
      out["stream"] = true;
      if (how_.ask_usage) out["stream_options"] = {{"include_usage", true}};
    }
  }

  void add_format(json& out) {
    if (asked_.format.what == output_format::kind::json_object) out["response_format"] = {{"type", "json_object"}};
    if (asked_.format.what != output_format::kind::json_schema) return;
    out["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", asked_.format.name}, {"strict", asked_.format.strict}, {"schema", check_.schema()}}}};
  }

  const request& asked_;
  const encoding& how_;
  request_check check_;
  wire_ids ids_;
};

}  // namespace

expected<std::string, error> encode_chat(const request& asked, const encoding& how) {
  return encoder(asked, how).body();
}

}  // namespace sluice::llm
