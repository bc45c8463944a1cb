#include "llm/dialects/messages_encoder.hpp"

#include "llm/dialects/json_writing.hpp"
#include "llm/dialects/request_check.hpp"
#include "llm/dialects/wire_ids.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace sluice::llm {

namespace {

using json = json_value;

const char* choice_name(tool_choice how) noexcept {
  switch (how) {
    case tool_choice::automatic: return "auto";
    case tool_choice::none: return "none";
    case tool_choice::required: return "any";
  }
  return "auto";
}

json text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

// The source of a picture or a file. A picture's address may hold the picture.
json source_of(const content_part& part) {
  if (!part.media_type.empty()) return {{"type", "base64"}, {"media_type", part.media_type}, {"data", part.content}};
  constexpr std::string_view scheme = "data:", mark = ";base64,";
  const std::string_view address = part.content;
  if (const std::size_t comma = address.find(mark); address.starts_with(scheme) && comma != address.npos) {
    return {{"type", "base64"},
            {"media_type", address.substr(scheme.size(), comma - scheme.size())},
            {"data", address.substr(comma + mark.size())}};
  }
  return {{"type", "url"}, {"url", part.content}};
}

// The body's own.
constexpr std::size_t most_fields = 12;

class encoder {
 public:
  encoder(const request& asked, const encoding& how)
      : asked_(asked), how_(how), check_(asked, dialect::anthropic_messages), ids_(asked.messages, id_alphabet::word) {}

  expected<std::string, error> body() {
    json out = object_with_room(most_fields + asked_.extra_fields.size());
    out["model"] = asked_.model;
    out["max_tokens"] = asked_.max_output_tokens.value_or(how_.default_max_tokens);
    const std::size_t first = add_system(out);
    json& messages = out["messages"] = json::array();
    for (std::size_t i = first; i < asked_.messages.size(); ++i) add_message(asked_.messages[i], i, messages);
    add_tools(out);
    add_settings(out);
    if (out.contains("system")) {
      check_.add_extras(out, {"model", "messages", "stream", "system"});
    } else {
      check_.add_extras(out, {"model", "messages", "stream"});
    }
    if (!check_.holds()) return unexpected<error>(check_.why());
    return written(out);
  }

 private:
  // Gives the first message that is none of them.
  std::size_t add_system(json& out) {
    json blocks = json::array();
    std::size_t at = 0;
    for (; at < asked_.messages.size() && asked_.messages[at].who == role::system; ++at) {
      add_content(asked_.messages[at], at, blocks);
    }
    const bool plain = at == 1 && asked_.messages[0].parts.empty();
    if (!blocks.empty()) out["system"] = plain ? json(asked_.messages[0].text) : std::move(blocks);
    return at;
  }

  void add_message(const message& said, std::size_t at, json& messages) {
    switch (said.who) {
      case role::system:
        return check_.cannot_express(message_name(at) + ": a system message behind the start", "let the user say it");
      case role::assistant: return add_answer(said, at, messages);
      case role::tool: return add_result(said, at, messages);
      case role::user: break;
    }
    json& content = turn_of("user", messages);
    const std::size_t before = content.size();
    add_content(said, at, content);
    if (content.size() == before) check_.refuse(message_name(at) + " is empty");
  }

  // The content of the message that is under way, if it is of that role, else of a new one.
  json& turn_of(const char* role_name, json& messages) {
    if (messages.empty() || messages.back()["role"] != role_name) {
      results_ = 0;
      messages.push_back({{"role", role_name}, {"content", json::array()}});
    }
    return messages.back()["content"];
  }

  void add_answer(const message& said, std::size_t at, json& messages) {
    if (said.opaque.empty() && said.text.empty() && said.parts.empty() && said.tool_calls.empty()) return;
    json& content = turn_of("assistant", messages);
    for (json& block : check_.opaque(said, at)) content.push_back(std::move(block));
    add_content(said, at, content);
    for (std::size_t i = 0; i < said.tool_calls.size(); ++i) {
      const tool_call& call = said.tool_calls[i];
      const std::string field = message_name(at) + ".tool_calls[" + std::to_string(i) + "].arguments";
      content.push_back({{"type", "tool_use"},
                         {"id", ids_.of_call(at, i)},
                         {"name", sent_name(call)},
                         {"input", check_.object(sent_arguments(call), field)}});
    }
  }

  // The results of a turn stand before whatever else the user's message holds.
  void add_result(const message& said, std::size_t at, json& messages) {
    json block = {{"type", "tool_result"}, {"tool_use_id", ids_.of_result(at)}};
    if (!said.parts.empty()) {
      add_content(said, at, block["content"] = json::array());
    } else if (!said.text.empty()) {
      block["content"] = said.text;
    }
    if (said.is_error) block["is_error"] = true;
    json& content = turn_of("user", messages);
    content.insert(content.begin() + results_++, std::move(block));
  }

  void add_content(const message& said, std::size_t at, json& blocks) {
    // Empty texts are refused.
    if (!said.text.empty()) blocks.push_back(text_block(said.text));
    for (std::size_t i = 0; i < said.parts.size(); ++i) {
      const content_part& part = said.parts[i];
      if (part.what == content_part::kind::text && part.content.empty()) continue;
      blocks.push_back(encode_part(said, part, part_name(at, i)));
    }
  }

  json encode_part(const message& said, const content_part& part, const std::string& name) {
    switch (part.what) {
      case content_part::kind::text: return text_block(part.content);
      case content_part::kind::native: return check_.native(part, name);
      case content_part::kind::image:
      case content_part::kind::file: break;
    }
    if (said.who == role::assistant || said.who == role::system) {
      check_.cannot_express(name + ": a picture or file of the " + (said.who == role::system ? "system" : "assistant"),
                            "put it into a user's message");
    }
    if (part.what == content_part::kind::image) return {{"type", "image"}, {"source", source_of(part)}};
    json document = {{"type", "document"}, {"source", source_of(part)}};
    if (!part.name.empty()) document["title"] = part.name;
    return document;
  }

  void add_tools(json& out) {
    if (!check_.offers_tools()) return;
    for (const tool& offered : asked_.tools) {
      if (offered.strict) {
        check_.cannot_express("tools['" + offered.name + "'].strict", "turn it off, and check the arguments");
      }
      json made = {{"name", offered.name}};
      if (!offered.description.empty()) made["description"] = offered.description;
      made["input_schema"] = check_.parameters(offered);
      out["tools"].push_back(std::move(made));
    }
    const tool_choice how = asked_.choice.value_or(tool_choice::automatic);
    json choice = {{"type", choice_name(how)}};
    if (!asked_.forced_tool.empty()) choice = {{"type", "tool"}, {"name", asked_.forced_tool}};
    const bool may_call = !asked_.forced_tool.empty() || how != tool_choice::none;
    if (asked_.parallel_tool_calls && may_call) choice["disable_parallel_tool_use"] = !*asked_.parallel_tool_calls;
    if (asked_.choice || choice.size() > 1) out["tool_choice"] = std::move(choice);
  }

  void add_settings(json& out) {
    if (asked_.seed) check_.cannot_express("seed", "leave it out");
    if (!asked_.reasoning_effort.empty()) {
      check_.cannot_express("reasoning_effort",
                            R"(say extra("thinking", "{\"type\":\"enabled\",\"budget_tokens\":2048}") instead)");
    }
    if (asked_.format.what != output_format::kind::text) {
      check_.cannot_express("format", "offer a tool with the schema, and force it");
    }
    if (asked_.temperature) out["temperature"] = *asked_.temperature;
    if (!asked_.stop.empty()) out["stop_sequences"] = asked_.stop;
    if (!asked_.end_user.empty()) out["metadata"] = {{"user_id", asked_.end_user}};
    if (how_.streamed) out["stream"] = true;
  }

  const request& asked_;
  const encoding& how_;
  request_check check_;
  wire_ids ids_;
  // At the front of the message that is under way.
  std::ptrdiff_t results_ = 0;
};

}  // namespace

expected<std::string, error> encode_messages(const request& asked, const encoding& how) {
  return encoder(asked, how).body();
}

}  // namespace sluice::llm
