#include "llm/dialects/chat_decoder.hpp"

#include "llm/errors/provider_error.hpp"
#include "llm/trimmed.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace sluice::llm {

namespace {

finish_reason read_finish(std::string_view name) noexcept {
  if (name == "stop" || name == "end_turn" || name == "eos" || name == "eos_token" || name == "stop_sequence") {
    return finish_reason::stop;
  }
  if (name == "length" || name == "max_tokens" || name == "model_length") return finish_reason::length;
  if (name == "tool_calls" || name == "function_call" || name == "tool_use") return finish_reason::tool_calls;
  if (name == "content_filter") return finish_reason::content_filter;
  if (name == "refusal") return finish_reason::refusal;
  return name.empty() ? finish_reason::none : finish_reason::other;
}

// What some servers put where there is nothing.
bool is_blank(simdjson::ondemand::value from) {
  const std::string_view token = trimmed(from.raw_json_token());
  return token == "null" || token == "false" || token == "\"\"";
}

}  // namespace

expected<bool, failure> chat_decoder::event(const sse_event& from, std::vector<stream_event>& out) {
  if (trimmed(from.data) == "[DONE]") return true;
  if (from.type == "error") return unexpected<failure>(failure_of_json(from.data, hidden_));
  if (!is_worth_reading(from)) return false;
  auto read = chunk(from.data, out);
  if (!read) return unexpected<failure>(std::move(read).error());
  return false;
}

expected<void, failure> chat_decoder::chunk(std::string_view json, std::vector<stream_event>& out) {
  return read(json, out, [this, json](object top) {
    return each_member(top, [this, json](std::string_view key, value from) { return member(key, from, json); });
  });
}

expected<void, failure> chat_decoder::document(std::string_view json, std::vector<stream_event>& out) {
  auto done = chunk(json, out);
  if (!done || finished()) return done;
  return unexpected<failure>(holds_no(choice_seen_ ? "finish_reason" : "choices", json));
}

simdjson::error_code chat_decoder::member(std::string_view key, value from, std::string_view whole) {
  if (key == "choices") return choices(from);
  if (key == "usage") return usage(from);
  if (key == "id") return take(from, answer.id);
  if (key == "model") return take(from, answer.model);
  if (key == "error") {
    bool null = false;
    if (const auto error = from.is_null().get(null)) return error;
    if (!null && !is_blank(from)) told_error_ = whole;
  } else if (key == "object") {
    std::string_view kind;
    if (const auto error = strings_.whole(from, kind)) return error;
    if (kind == "error") told_error_ = whole;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code chat_decoder::choices(value from) {
  return if_array(from, [this](array list) {
    return each_element(
        list, [this](value element) { return if_object(element, [this](object one) { return choice(one); }); });
  });
}

simdjson::error_code chat_decoder::choice(object from) {
  // Only the first of several choices is the answer; the number may stand after what it numbers, but is first as a
  // rule.
  std::optional<std::int64_t> index;
  if (const auto error = find_count(from, "index", index)) return error;
  if (index.value_or(0) != 0) return simdjson::SUCCESS;
  choice_seen_ = true;
  return each_member(from, [this](std::string_view key, value member) -> simdjson::error_code {
    if (key == "delta" || key == "message") return delta(member);
    if (key == "finish_reason") {
      std::string_view name;
      if (const auto error = strings_.whole(member, name)) return error;
      if (const auto why = read_finish(name); why != finish_reason::none) answer.finish = why;
    }
    return simdjson::SUCCESS;
  });
}

simdjson::error_code chat_decoder::delta(value from) {
  return if_object(from, [this](object members) {
    bool reasoned = false;
    return each_member(members, [this, &reasoned](std::string_view key, value member) -> simdjson::error_code {
      if (key == "content") return content(member, stream_event::kind::text);
      if (key == "refusal") return content(member, stream_event::kind::refusal);
      if (key == "tool_calls") return tool_calls(member);
      if (key == "function_call") return only_call(member);
      // Some servers send the same thoughts under both names.
      if ((key == "reasoning_content" || key == "reasoning") && !reasoned) {
        reasoned = !is_blank(member);
        return content(member, stream_event::kind::reasoning);
      }
      return simdjson::SUCCESS;
    });
  });
}

simdjson::error_code chat_decoder::content(value from, stream_event::kind which) {
  simdjson::ondemand::json_type type{};
  if (const auto error = from.type().get(type)) return error;
  if (type != simdjson::ondemand::json_type::array) return say(from, which);
  // A list of parts, of which the texts count.
  return if_array(from, [this, which](array parts) {
    return each_element(parts, [this, which](value part) {
      return if_object(part, [this, which](object members) {
        return each_member(members, [this, which](std::string_view key, value member) -> simdjson::error_code {
          return key == "text" ? say(member, which) : simdjson::SUCCESS;
        });
      });
    });
  });
}

simdjson::error_code chat_decoder::tool_calls(value from) {
  calls_.begin_delta();
  return if_array(from, [this](array list) {
    return each_element(
        list, [this](value element) { return if_object(element, [this](object one) { return tool_call_part(one); }); });
  });
}

simdjson::error_code chat_decoder::tool_call_part(object from) {
  tool_call_fragment part;
  const auto error = each_member(from, [this, &part](std::string_view key, value member) -> simdjson::error_code {
    if (key == "index") return read_count(member, part.index);
    if (key == "id") return strings_.whole(member, part.id);
    if (key == "function") return function(member, part);
    return simdjson::SUCCESS;
  });
  if (error) return error;
  add_call(part);
  return simdjson::SUCCESS;
}

// How a call was sent before there could be several.
simdjson::error_code chat_decoder::only_call(value from) {
  simdjson::ondemand::json_type type{};
  if (const auto error = from.type().get(type)) return error;
  if (type != simdjson::ondemand::json_type::object) return simdjson::SUCCESS;
  tool_call_fragment part;
  part.index = 0;
  if (const auto error = function(from, part)) return error;
  add_call(part);
  return simdjson::SUCCESS;
}

simdjson::error_code chat_decoder::function(value from, tool_call_fragment& part) {
  return if_object(from, [this, &part](object members) {
    return each_member(members, [this, &part](std::string_view key, value member) -> simdjson::error_code {
      if (key == "name") return strings_.whole(member, part.name);
      if (key == "arguments") return arguments(member, part);
      return simdjson::SUCCESS;
    });
  });
}

simdjson::error_code chat_decoder::usage(value from) {
  return if_object(from, [this](object members) {
    std::optional<std::int64_t> input, output, cached, reasoning;
    const auto inside = [](std::string_view wanted, std::optional<std::int64_t>& into) {
      return [wanted, &into](object details) {
        return each_member(details, [wanted, &into](std::string_view key, value member) {
          return key == wanted ? read_amount(member, into) : simdjson::SUCCESS;
        });
      };
    };
    const auto error = each_member(members, [&](std::string_view key, value member) -> simdjson::error_code {
      if (key == "prompt_tokens") return read_amount(member, input);
      if (key == "completion_tokens") return read_amount(member, output);
      if (key == "prompt_tokens_details") return if_object(member, inside("cached_tokens", cached));
      if (key == "completion_tokens_details") return if_object(member, inside("reasoning_tokens", reasoning));
      return simdjson::SUCCESS;
    });
    if (error) return error;
    // The last report of each figure wins; an empty object is none.
    if (!input && !output) return simdjson::SUCCESS;
    if (!reported_) reported_.emplace();
    if (input) {
      reported_->input_tokens = input;
      reported_->cached_tokens = cached.value_or(0);
    }
    if (output) {
      reported_->output_tokens = output;
      reported_->reasoning_tokens = reasoning.value_or(0);
    }
    return simdjson::SUCCESS;
  });
}

}  // namespace sluice::llm
