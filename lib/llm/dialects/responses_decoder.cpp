#include "llm/dialects/responses_decoder.hpp"

#include "llm/errors/provider_error.hpp"
#include "llm/trimmed.hpp"

#include <algorithm>
#include <utility>

namespace sluice::llm {

namespace {

using kind = stream_event::kind;

constexpr std::string_view between_thoughts = "\n\n";

}  // namespace

expected<bool, failure> responses_decoder::event(const sse_event& from, std::vector<stream_event>& out) {
  if (trimmed(from.data) == "[DONE]") return true;
  if (from.type == "error") return unexpected<failure>(failure_of_json(from.data, hidden_));
  if (!is_worth_reading(from)) return false;
  auto done = read(from.data, out, [&](object top) { return read_event(top, from.data, from.type); });
  if (!done) return unexpected<failure>(std::move(done).error());
  if (cancelled_) return unexpected<failure>(cancelled());
  return over_;
}

expected<void, failure> responses_decoder::document(std::string_view json, std::vector<stream_event>& out) {
  auto done = read(json, out, [this](object top) { return read_response(top, {}, true); });
  if (!done) return done;
  if (cancelled_) return unexpected<failure>(cancelled());
  if (!output_seen_) return unexpected<failure>(holds_no("output", json));
  if (!unfinished_) {
    if (finished()) return {};
    return unexpected<failure>(holds_no("status", json));
  }
  return unexpected<failure>(failure(
      errc::protocol_error, "the provider gave a response that is not done; do not ask for it in the background",
      call_phase::answering));
}

failure responses_decoder::cancelled() {
  failure why(errc::provider_failed, "the provider cancelled the response before it was whole; what came is kept",
              call_phase::answering);
  why.provider_code = "cancelled";
  return why;
}

simdjson::error_code responses_decoder::read_event(object from, std::string_view json, std::string_view named) {
  std::string_view type = named;
  if (const auto error = find_text(from, "type", type)) return error;
  constexpr std::string_view prefix = "response.";
  if (type == "error") told_error_ = json;
  if (!type.starts_with(prefix)) return each_member(from, [](std::string_view, value) { return simdjson::SUCCESS; });
  type.remove_prefix(prefix.size());

  if (type == "output_item.added" || type == "output_item.done") return read_item_event(from, type.ends_with("done"));
  const bool last = type == "completed" || type == "incomplete" || type == "failed" || type == "cancelled";
  if (last) return read_ending(from, json, type, true);
  if (type == "created" || type == "in_progress" || type == "queued") return read_ending(from, json, type, false);
  words said;
  if (const auto error = read_words(from, said)) return error;
  add_words(said, type);
  return simdjson::SUCCESS;
}

simdjson::error_code responses_decoder::read_words(object from, words& into) {
  return each_member(from, [this, &into](std::string_view key, value member) -> simdjson::error_code {
    if (key == "output_index") return read_count(member, into.output_index);
    if (key == "item_id") return strings_.whole(member, into.item_id);
    const bool is_text = key == "delta" || key == "text" || key == "refusal" || key == "arguments";
    return is_text ? strings_.piece(member, into.text) : simdjson::SUCCESS;
  });
}

void responses_decoder::add_words(const words& said, std::string_view type) {
  if (type == "reasoning_summary_part.added") return begin_thought();
  const bool whole = type.ends_with(".done");
  const bool piece = type.ends_with(".delta");
  if (!whole && !piece) return;
  type = type.substr(0, type.rfind('.'));
  const std::int64_t place = place_of(said.output_index, said.item_id);
  output_seen_ = true;
  if (type == "function_call_arguments") return add_arguments(place, said.text, whole);
  const bool is_thought = type == "reasoning_summary_text" || type == "reasoning_text";
  if (type != "output_text" && type != "refusal" && !is_thought) return;
  // The end of a text repeats it, unless no piece of it has come.
  if (whole && spoken_.contains(place)) return;
  spoken_.insert(place);
  say(said.text, is_thought ? kind::reasoning : type == "refusal" ? kind::refusal : kind::text);
}

void responses_decoder::add_arguments(std::int64_t place, std::string_view text, bool whole) {
  const bool first = spoken_.insert(place).second;
  const tool_call_fragment part{.index = place, .arguments = text, .whole = whole};
  if (!whole || first) return add_call(part);
  if (!text.empty()) calls_.add(part);
}

void responses_decoder::begin_thought() {
  if (!answer.reasoning.empty()) say(between_thoughts, kind::reasoning);
}

std::int64_t responses_decoder::place_of(std::optional<std::int64_t> index, std::string_view item_id) {
  if (index) {
    next_place_ = std::max(next_place_, *index + 1);
    if (!item_id.empty()) places_.try_emplace(std::string(item_id), *index);
    return *index;
  }
  if (item_id.empty()) return std::max<std::int64_t>(0, next_place_ - 1);
  const auto [found, added] = places_.try_emplace(std::string(item_id), next_place_);
  if (added) ++next_place_;
  return found->second;
}

simdjson::error_code responses_decoder::read_item_event(object from, bool ended) {
  std::optional<std::int64_t> index;
  if (const auto error = find_count(from, "output_index", index)) return error;
  return each_member(from, [&](std::string_view key, value member) -> simdjson::error_code {
    if (key != "item") return simdjson::SUCCESS;
    return if_object(member, [&](object item) { return read_item(item, index, ended); });
  });
}

simdjson::error_code responses_decoder::read_item(object from, std::optional<std::int64_t> index, bool ended) {
  std::string_view raw, type, id;
  if (const auto error = from.raw_json().get(raw)) return error;
  bool empty = false;
  if (const auto error = from.reset().get(empty)) return error;
  if (const auto error = find_text(from, "type", type)) return error;
  if (const auto error = find_text(from, "id", id)) return error;
  const std::int64_t place = place_of(index, id);
  output_seen_ = true;
  if (type == "function_call") return read_call(from, place, ended);
  if (!ended) return simdjson::SUCCESS;
  const bool is_message = type == "message", is_thought = type == "reasoning";
  if (!is_message) {
    if (const auto error = keep(dialect::openai_responses, raw)) return error;
  }
  // What came in pieces is there already.
  if (!(is_message || is_thought) || !spoken_.insert(place).second) return simdjson::SUCCESS;
  return read_texts(from, is_message ? kind::text : kind::reasoning);
}

simdjson::error_code responses_decoder::read_call(object from, std::int64_t place, bool ended) {
  tool_call_fragment head, body;
  std::string_view id;
  head.index = place;
  const auto error = each_member(from, [&](std::string_view key, value member) -> simdjson::error_code {
    if (key == "call_id") return strings_.whole(member, head.id);
    if (key == "id") return strings_.whole(member, id);
    if (key == "name") return strings_.whole(member, head.name);
    return key == "arguments" ? arguments(member, body) : simdjson::SUCCESS;
  });
  if (error) return error;
  if (head.id.empty()) head.id = id;
  calls_.begin_delta();
  // Told twice, at the start and at the end.
  if (ended) {
    calls_.add(head);
  } else {
    add_call(head);
  }
  if (ended || !body.arguments.empty()) add_arguments(place, body.arguments, true);
  return simdjson::SUCCESS;
}

simdjson::error_code responses_decoder::read_texts(object from, kind which) {
  return each_member(from, [this, which](std::string_view key, value member) -> simdjson::error_code {
    return key == "content" || key == "summary" ? read_parts(member, which) : simdjson::SUCCESS;
  });
}

simdjson::error_code responses_decoder::read_parts(value from, kind which) {
  return if_array(from, [this, which](array list) {
    return each_element(list, [this, which](value element) {
      return if_object(element, [this, which](object part) -> simdjson::error_code {
        if (which == kind::reasoning) begin_thought();
        return each_member(part, [this, which](std::string_view key, value member) -> simdjson::error_code {
          if (key == "text") return say(member, which);
          return key == "refusal" ? say(member, kind::refusal) : simdjson::SUCCESS;
        });
      });
    });
  });
}

simdjson::error_code responses_decoder::read_ending(object from, std::string_view json, std::string_view status,
                                                    bool last) {
  over_ = over_ || last;
  bool told = false;
  const auto error = each_member(from, [&](std::string_view key, value member) -> simdjson::error_code {
    if (key != "response") return simdjson::SUCCESS;
    return if_object(member, [&](object response) {
      told = true;
      return read_response(response, status, last);
    });
  });
  if (!error && last && !told) finish_with(status, {}, json);
  return error;
}

simdjson::error_code responses_decoder::read_response(object from, std::string_view status, bool last) {
  std::string_view raw, reason;
  if (const auto error = from.raw_json().get(raw)) return error;
  bool empty = false;
  if (const auto error = from.reset().get(empty)) return error;
  // What has come item by item is there already.
  const bool only_here = last && !output_seen_;
  const auto error = each_member(from, [&](std::string_view key, value member) -> simdjson::error_code {
    if (key == "id") return take(member, answer.id);
    if (key == "model") return take(member, answer.model);
    if (key == "status") return strings_.whole(member, status);
    if (key == "usage") return read_usage(member);
    if (key == "output") return only_here ? read_output(member) : simdjson::SUCCESS;
    if (key == "error") {
      return read_error(member, raw);
    }
    if (key != "incomplete_details") return simdjson::SUCCESS;
    return if_object(member, [this, &reason](object details) {
      return each_member(details, [this, &reason](std::string_view name, value inner) {
        return name == "reason" ? strings_.whole(inner, reason) : simdjson::SUCCESS;
      });
    });
  });
  if (error) return error;
  if (last) finish_with(status, reason, raw);
  return simdjson::SUCCESS;
}

simdjson::error_code responses_decoder::read_error(value from, std::string_view whole) {
  simdjson::ondemand::json_type type{};
  if (const auto error = from.type().get(type)) return error;
  if (type == simdjson::ondemand::json_type::string) told_error_ = whole;
  return if_object(from, [this](object told) { return told.raw_json().get(told_error_); });
}

simdjson::error_code responses_decoder::read_output(value from) {
  return if_array(from, [this](array list) {
    output_seen_ = true;
    std::int64_t place = 0;
    return each_element(list, [this, &place](value element) {
      return if_object(element, [this, &place](object item) { return read_item(item, place++, true); });
    });
  });
}

void responses_decoder::finish_with(std::string_view status, std::string_view reason, std::string_view json) {
  if (status == "completed") {
    answer.finish = calls_.empty() ? finish_reason::stop : finish_reason::tool_calls;
  } else if (status == "incomplete") {
    answer.finish = reason == "max_output_tokens" ? finish_reason::length
                    : reason == "content_filter"  ? finish_reason::content_filter
                                                  : finish_reason::other;
  } else if (status.empty()) {
    // It has not said how it ended.
  } else if (status == "in_progress" || status == "queued") {
    unfinished_ = true;
  } else if (status == "cancelled") {
    cancelled_ = true;
  } else if (told_error_.empty()) {
    told_error_ = json;
  }
}

simdjson::error_code responses_decoder::read_usage(value from) {
  return if_object(from, [this](object members) -> simdjson::error_code {
    usage_report said;
    std::optional<std::int64_t> cached, reasoning;
    const auto inside = [](std::string_view wanted, std::optional<std::int64_t>& into) {
      return [wanted, &into](object details) {
        return each_member(details, [wanted, &into](std::string_view key, value member) {
          return key == wanted ? read_amount(member, into) : simdjson::SUCCESS;
        });
      };
    };
    const auto error = each_member(members, [&](std::string_view key, value member) -> simdjson::error_code {
      if (key == "input_tokens") return read_amount(member, said.input_tokens);
      if (key == "output_tokens") return read_amount(member, said.output_tokens);
      if (key == "input_tokens_details") return if_object(member, inside("cached_tokens", cached));
      if (key == "output_tokens_details") return if_object(member, inside("reasoning_tokens", reasoning));
      return simdjson::SUCCESS;
    });
    if (error || (!said.input_tokens && !said.output_tokens)) return error;
    said.cached_tokens = cached.value_or(0);
    said.reasoning_tokens = reasoning.value_or(0);
    reported_ = said;
    return simdjson::SUCCESS;
  });
}

}  // namespace sluice::llm
