#include "llm/dialects/responses_encoder.hpp"

#include "llm/dialects/json_writing.hpp"
#include "llm/dialects/request_check.hpp"
#include "llm/dialects/wire_ids.hpp"

#include <algorithm>
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
    case tool_choice::required: return "required";
  }
  return "auto";
}

bool is_text(const content_part& part) noexcept { return part.what == content_part::kind::text; }

// The body's own.
constexpr std::size_t most_fields = 16;

class encoder {
 public:
  encoder(const request& asked, const encoding& how)
      : asked_(asked), how_(how), check_(asked, dialect::openai_responses), ids_(asked.messages, id_alphabet::any) {}

  expected<std::string, error> body() {
    json out = object_with_room(most_fields + asked_.extra_fields.size());
    out["model"] = asked_.model;
    const std::size_t first = add_instructions(out);
    json& input = out["input"] = json::array();
    for (std::size_t i = first; i < asked_.messages.size(); ++i) add_items(asked_.messages[i], i, input);
    add_tools(out);
    add_settings(out);
    add_format(out);
    if (out.contains("instructions")) {
      check_.add_extras(out, {"model", "input", "stream", "stream_options", "instructions"});
    } else {
      check_.add_extras(out, {"model", "input", "stream", "stream_options"});
    }
    if (!check_.holds()) return unexpected<error>(check_.why());
    return written(out);
  }

 private:
  // Gives the first message that is none of them.
  std::size_t add_instructions(json& out) {
    std::string text;
    std::size_t at = 0;
    for (; at < asked_.messages.size(); ++at) {
      const message& said = asked_.messages[at];
      if (said.who != role::system || !std::all_of(said.parts.begin(), said.parts.end(), is_text)) break;
      const auto add = [&text](const std::string& words) {
        if (!text.empty() && !words.empty()) text += "\n\n";
        text += words;
      };
      add(said.text);
      for (const content_part& part : said.parts) add(part.content);
    }
    if (!text.empty()) out["instructions"] = std::move(text);
    return at;
  }

  void add_items(const message& said, std::size_t at, json& input) {
    switch (said.who) {
      case role::system: return add_message(said, at, "system", "input_text", input);
      case role::user: return add_message(said, at, "user", "input_text", input);
      case role::tool:
        input.push_back(
            {{"type", "function_call_output"}, {"call_id", ids_.of_result(at)}, {"output", result(said, at)}});
        return;
      case role::assistant: break;
    }
    for (json& block : check_.opaque(said, at)) input.push_back(std::move(block));
    if (!said.text.empty() || !said.parts.empty() || said.tool_calls.empty()) {
      add_message(said, at, "assistant", "output_text", input);
    }
    for (std::size_t i = 0; i < said.tool_calls.size(); ++i) {
      const tool_call& call = said.tool_calls[i];
      input.push_back({{"type", "function_call"},
                       {"call_id", ids_.of_call(at, i)},
                       {"name", sent_name(call)},
                       {"arguments", sent_arguments(call)}});
    }
  }

  void add_message(const message& said, std::size_t at, const char* role_name, const char* text_type, json& input) {
    input.push_back({{"type", "message"}, {"role", role_name}, {"content", parts(said, at, text_type)}});
  }

  json result(const message& said, std::size_t at) {
    if (said.parts.empty()) return told_result(said);
    return parts(said, at, "input_text");
  }

  json parts(const message& said, std::size_t at, const char* text_type) {
    json list = json::array();
    if (const std::string text = told_result(said); !text.empty() || said.parts.empty()) {
      list.push_back({{"type", text_type}, {"text", text}});
    }
    for (std::size_t i = 0; i < said.parts.size(); ++i) {
      list.push_back(part(said, said.parts[i], part_name(at, i), text_type));
    }
    return list;
  }

  json part(const message& said, const content_part& part, const std::string& name, const char* text_type) {
    switch (part.what) {
      case content_part::kind::text: return {{"type", text_type}, {"text", part.content}};
      case content_part::kind::native: return check_.native(part, name);
      case content_part::kind::image:
      case content_part::kind::file: break;
    }
    if (said.who == role::assistant || said.who == role::system) {
      check_.cannot_express(name + ": a picture or file of the " + (said.who == role::system ? "system" : "assistant"),
                            "put it into a user's message");
    }
    if (part.what == content_part::kind::file) {
      return {{"type", "input_file"}, {"filename", part.name}, {"file_data", data_url(part)}};
    }
    return {{"type", "input_image"}, {"image_url", part.media_type.empty() ? part.content : data_url(part)}};
  }

  void add_tools(json& out) {
    if (!check_.offers_tools()) return;
    for (const tool& offered : asked_.tools) {
      // Without a word about it the provider takes every schema for a strict one.
      out["tools"].push_back({{"type", "function"},
                              {"name", offered.name},
                              {"description", offered.description},
                              {"parameters", check_.parameters(offered)},
                              {"strict", offered.strict}});
    }
    if (!asked_.forced_tool.empty()) {
      out["tool_choice"] = {{"type", "function"}, {"name", asked_.forced_tool}};
    } else if (asked_.choice) {
      out["tool_choice"] = choice_name(*asked_.choice);
    }
    if (asked_.parallel_tool_calls) out["parallel_tool_calls"] = *asked_.parallel_tool_calls;
  }

  void add_settings(json& out) {
    if (asked_.seed) check_.cannot_express("seed", "leave it out");
    if (!asked_.stop.empty()) check_.cannot_express("stop", "leave it out, and cut the answer instead");
    if (asked_.max_output_tokens) out["max_output_tokens"] = *asked_.max_output_tokens;
    if (asked_.temperature) out["temperature"] = *asked_.temperature;
    if (!asked_.reasoning_effort.empty()) out["reasoning"] = {{"effort", asked_.reasoning_effort}};
    if (!asked_.end_user.empty()) out["user"] = asked_.end_user;
    if (how_.streamed) out["stream"] = true;
  }

  void add_format(json& out) {
    if (asked_.format.what == output_format::kind::json_object) out["text"] = {{"format", {{"type", "json_object"}}}};
    if (asked_.format.what != output_format::kind::json_schema) return;
    out["text"] = {{"format",
                    {{"type", "json_schema"},
                     {"name", asked_.format.name},
                     {"strict", asked_.format.strict},
                     {"schema", check_.schema()}}}};
  }

  const request& asked_;
  const encoding& how_;
  request_check check_;
  wire_ids ids_;
};

}  // namespace

expected<std::string, error> encode_responses(const request& asked, const encoding& how) {
  return encoder(asked, how).body();
}

}  // namespace sluice::llm
