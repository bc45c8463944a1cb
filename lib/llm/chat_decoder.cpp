#include "llm/chat_decoder.hpp"

#include "llm/json_reading.hpp"
#include "llm/provider_error.hpp"
#include "llm/quote.hpp"
#include "llm/trimmed.hpp"

#include <sluice/llm/sse_parser.hpp>

#include <utility>

namespace sluice::llm {

static_assert(sse_parser::padding >= simdjson::SIMDJSON_PADDING);

namespace {

finish_reason read_finish(std::string_view name) noexcept {
  if (name == "stop" || name == "end_turn" || name == "eos" || name == "stop_sequence") return finish_reason::stop;
  if (name == "length" || name == "max_tokens") return finish_reason::length;
  if (name == "tool_calls" || name == "function_call") return finish_reason::tool_calls;
  if (name == "content_filter") return finish_reason::content_filter;
  return name.empty() ? finish_reason::none : finish_reason::other;
}

}  // namespace

expected<bool, failure> chat_decoder::event(const sse_event& from, std::vector<stream_event>& out) {
  if (trimmed(from.data) == "[DONE]") return true;
  if (from.type == "error") return unexpected<failure>(failure_of_json(from.data, secret_));
  auto read = chunk(from.data, out);
  if (!read) return unexpected<failure>(std::move(read).error());
  return false;
}

expected<void, failure> chat_decoder::chunk(std::string_view json, std::vector<stream_event>& out) {
  out_ = &out;
  return read(json);
}

expected<void, failure> chat_decoder::document(std::string_view json, std::vector<stream_event>& out) {
  out_ = &out;
  auto done = read(json);
  if (!done || choice_seen_) return done;
  return unexpected<failure>(failure(errc::protocol_error,
                                     "the provider's answer holds no choices; it begins " + quote(json, secret_),
                                     call_phase::answering));
}

expected<void, failure> chat_decoder::read(std::string_view json) {
  simdjson::ondemand::document document;
  simdjson::ondemand::object top;
  if (const auto error = parser_.iterate(json.data(), json.size(), json.size() + simdjson::SIMDJSON_PADDING).get(document)) {
    return unexpected<failure>(broken(json, error));
  }
  if (const auto error = document.get_object().get(top)) return unexpected<failure>(broken(json, error));

  bool is_error = false;
  const auto error = each_member(top, [&](std::string_view key, value member) -> simdjson::error_code {
    if (key == "choices") return choices(member);
    if (key == "usage") return usage(member);
    std::string_view said;
    if (key == "id" || key == "model") {
      std::string& into = key == "id" ? answer.id : answer.model;
      if (const auto wrong = read_text(member, said)) return wrong;
      if (!said.empty()) into = said;
    } else if (key == "error") {
      bool absent = false;
      if (const auto wrong = member.is_null().get(absent)) return wrong;
      is_error = is_error || !absent;
    } else if (key == "object") {
      if (const auto wrong = read_text(member, said)) return wrong;
      is_error = is_error || said == "error";
    }
    return simdjson::SUCCESS;
  });
  if (error) return unexpected<failure>(broken(json, error));
  if (const char* rest = nullptr; document.current_location().get(rest) == simdjson::SUCCESS) {
    return unexpected<failure>(broken(json, simdjson::TRAILING_CONTENT));
  }
  if (is_error) return unexpected<failure>(failure_of_json(json, secret_));
  return {};
}

failure chat_decoder::broken(std::string_view json, simdjson::error_code why) const {
  const std::string start = quote(json, secret_);
  return failure(errc::protocol_error,
                 std::string("the provider sent broken JSON (") + simdjson::error_message(why) + ")" +
                     (start.empty() ? ": nothing at all" : ": " + start),
                 call_phase::answering);
}

simdjson::error_code chat_decoder::choices(value from) {
  return if_array(from, [this](simdjson::ondemand::array list) {
    return each_element(list, [this](value element) {
      return if_object(element, [this](object one) { return choice(one); });
    });
  });
}

simdjson::error_code chat_decoder::choice(object from) {
  // Only the first of several choices is the answer; the number may stand after what it numbers.
  std::optional<std::int64_t> index;
  value number;
  if (!from.find_field_unordered("index").get(number)) {
    if (const auto error = read_count(number, index)) return error;
  }
  bool empty = false;
  if (const auto error = from.reset().get(empty)) return error;
  if (index.value_or(0) != 0) return simdjson::SUCCESS;
  choice_seen_ = true;
  return each_member(from, [this](std::string_view key, value member) -> simdjson::error_code {
    if (key == "delta" || key == "message") return delta(member);
    if (key == "finish_reason") {
      std::string_view name;
      if (const auto error = read_text(member, name)) return error;
      if (const auto why = read_finish(name); why != finish_reason::none) answer.finish = why;
    }
    return simdjson::SUCCESS;
  });
}

simdjson::error_code chat_decoder::delta(value from) {
  return if_object(from, [this](object members) {
    bool reasoned = false;
    return each_member(members, [&](std::string_view key, value member) -> simdjson::error_code {
      if (key == "content") return content(member, stream_event::kind::text);
      if (key == "refusal") return content(member, stream_event::kind::refusal);
      if (key == "tool_calls") return tool_calls(member);
      // Some servers send the same thoughts under both names.
      if ((key == "reasoning_content" || key == "reasoning") && !reasoned) {
        const auto before = answer.reasoning.size();
        const auto error = content(member, stream_event::kind::reasoning);
        reasoned = answer.reasoning.size() != before;
        return error;
      }
      return simdjson::SUCCESS;
    });
  });
}

simdjson::error_code chat_decoder::content(value from, stream_event::kind which) {
  std::string_view said;
  if (const auto error = read_text(from, said)) return error;
  if (!said.empty()) {
    text(said, which);
    return simdjson::SUCCESS;
  }
  // A list of parts, of which the texts count.
  return if_array(from, [this, which](simdjson::ondemand::array parts) {
    return each_element(parts, [this, which](value part) {
      return if_object(part, [this, which](object members) {
        return each_member(members, [this, which](std::string_view key, value member) -> simdjson::error_code {
          std::string_view words;
          if (key != "text") return simdjson::SUCCESS;
          if (const auto error = read_text(member, words)) return error;
          text(words, which);
          return simdjson::SUCCESS;
        });
      });
    });
  });
}

void chat_decoder::text(std::string_view said, stream_event::kind which) {
  if (said.empty()) return;
  produced_bytes_ += static_cast<std::int64_t>(said.size());
  std::string& into = which == stream_event::kind::text        ? answer.text
                      : which == stream_event::kind::reasoning ? answer.reasoning
                                                               : answer.refusal;
  into += said;
  out_->emplace_back(which, std::string(said));
}

simdjson::error_code chat_decoder::tool_calls(value from) {
  calls_.begin_delta();
  return if_array(from, [this](simdjson::ondemand::array list) {
    return each_element(list, [this](value element) {
      return if_object(element, [this](object one) { return tool_call_part(one); });
    });
  });
}

simdjson::error_code chat_decoder::tool_call_part(object from) {
  tool_call_fragment part;
  const auto error = each_member(from, [&part](std::string_view key, value member) -> simdjson::error_code {
    if (key == "index") return read_count(member, part.index);
    if (key == "id") return read_text(member, part.id);
    if (key != "function") return simdjson::SUCCESS;
    return if_object(member, [&part](object function) {
      return each_member(function, [&part](std::string_view name, value inner) -> simdjson::error_code {
        if (name == "name") return read_text(inner, part.name);
        if (name != "arguments") return simdjson::SUCCESS;
        simdjson::ondemand::json_type type{};
        if (const auto wrong = inner.type().get(type)) return wrong;
        if (type == simdjson::ondemand::json_type::string) return inner.get_string().get(part.arguments);
        if (type == simdjson::ondemand::json_type::null) return simdjson::SUCCESS;
        part.whole = true;
        return simdjson::to_json_string(inner).get(part.arguments);
      });
    });
  });
  if (error) return error;
  produced_bytes_ += static_cast<std::int64_t>(part.name.size() + part.arguments.size());
  calls_.add(part);
  return simdjson::SUCCESS;
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

void chat_decoder::complete() {
  answer.tool_calls = calls_.finish(answer.finish);
  answer.announced_calls_missing = answer.finish == finish_reason::tool_calls && answer.tool_calls.empty();
}

}  // namespace sluice::llm
