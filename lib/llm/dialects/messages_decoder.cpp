#include "llm/dialects/messages_decoder.hpp"

#include "llm/dialects/json_text.hpp"
#include "llm/dialects/json_writing.hpp"
#include "llm/errors/provider_error.hpp"
#include "llm/trimmed.hpp"

#include <algorithm>
#include <utility>

namespace sluice::llm {

namespace {

finish_reason read_finish(std::string_view name) noexcept {
  if (name == "end_turn" || name == "stop_sequence") return finish_reason::stop;
  if (name == "max_tokens" || name == "model_context_window_exceeded") return finish_reason::length;
  if (name == "tool_use") return finish_reason::tool_calls;
  if (name == "refusal") return finish_reason::refusal;
  if (name == "pause_turn") return finish_reason::paused;
  return name.empty() ? finish_reason::none : finish_reason::other;
}

bool is_empty_object(std::string_view text) noexcept { return text.find_first_not_of(" \t\r\n{}") == text.npos; }

}  // namespace

expected<bool, failure> messages_decoder::event(const sse_event& from, std::vector<stream_event>& out) {
  if (trimmed(from.data) == "[DONE]") return true;
  if (from.type == "error") return unexpected<failure>(failure_of_json(from.data, hidden_));
  if (!is_worth_reading(from)) return false;
  auto done = read(from.data, out, [&](object top) { return read_event(top, from.data, from.type); });
  if (!done) return unexpected<failure>(std::move(done).error());
  return over_;
}

expected<void, failure> messages_decoder::document(std::string_view text, std::vector<stream_event>& out) {
  auto done = read(text, out, [this, text](object top) -> simdjson::error_code {
    std::string_view type;
    if (const auto error = find_text(top, "type", type)) return error;
    if (type == "error") told_error_ = text;
    return read_message(top, true);
  });
  if (!done || (content_seen_ && finished())) return done;
  return unexpected<failure>(holds_no(content_seen_ ? "stop_reason" : "content", text));
}

simdjson::error_code messages_decoder::read_event(object from, std::string_view text, std::string_view named) {
  std::string_view type = named;
  if (const auto error = find_text(from, "type", type)) return error;
  if (type == "content_block_delta" || type == "content_block_start" || type == "content_block_stop") {
    words said;
    if (const auto error = read_indexed(from, said)) return error;
    if (type == "content_block_delta") add(said);
    if (type == "content_block_start") begin(said);
    return type == "content_block_stop" ? end(said) : simdjson::SUCCESS;
  }
  if (type == "message_delta") return read_end(from);
  if (type == "message_start") {
    return each_member(from, [this](std::string_view key, value member) -> simdjson::error_code {
      if (key != "message") return simdjson::SUCCESS;
      return if_object(member, [this](object message) { return read_message(message, false); });
    });
  }
  over_ = over_ || type == "message_stop";
  if (type == "error") told_error_ = text;
  // What is not looked at must be JSON all the same.
  return each_member(from, [](std::string_view, value) { return simdjson::SUCCESS; });
}

simdjson::error_code messages_decoder::read_message(object from, bool whole) {
  return each_member(from, [this, whole](std::string_view key, value member) -> simdjson::error_code {
    if (key == "id") return take(member, answer.id);
    if (key == "model") return take(member, answer.model);
    if (key == "usage") return read_usage(member, whole);
    if (!whole) return simdjson::SUCCESS;
    if (key == "content") return read_blocks(member);
    if (key == "stop_sequence") return take(member, answer.stop_sequence);
    if (key == "stop_reason") {
      std::string_view reason;
      if (const auto error = strings_.whole(member, reason)) return error;
      answer.finish = read_finish(reason);
    }
    return simdjson::SUCCESS;
  });
}

simdjson::error_code messages_decoder::read_blocks(value from) {
  return if_array(from, [this](array list) {
    content_seen_ = true;
    std::int64_t place = 0;
    return each_element(list, [this, &place](value element) {
      return if_object(element, [this, &place](object one) -> simdjson::error_code {
        words said;
        said.index = place++;
        if (const auto error = read_words(one, said)) return error;
        if (said.type == "thinking") {
          say(said.text, stream_event::kind::reasoning);
          return keep(dialect::anthropic_messages, said.raw);
        }
        begin(said);
        return end(said);
      });
    });
  });
}

// A block that begins, or a delta: their members have the same names.
simdjson::error_code messages_decoder::read_words(object from, words& into) {
  if (const auto error = from.raw_json().get(into.raw)) return error;
  bool empty = false;
  if (const auto error = from.reset().get(empty)) return error;
  return each_member(from, [this, &into](std::string_view key, value member) -> simdjson::error_code {
    if (key == "type") return strings_.whole(member, into.type);
    if (key == "text" || key == "thinking") return strings_.piece(member, into.text);
    if (key == "partial_json") return strings_.piece(member, into.input);
    if (key == "signature") return strings_.whole(member, into.signature);
    if (key == "id") return strings_.whole(member, into.id);
    if (key == "name") return strings_.whole(member, into.name);
    if (key == "input") {
      tool_call_fragment part;
      if (const auto error = arguments(member, part)) return error;
      into.input = part.arguments;
    }
    return simdjson::SUCCESS;
  });
}

simdjson::error_code messages_decoder::read_indexed(object from, words& into) {
  return each_member(from, [this, &into](std::string_view key, value member) -> simdjson::error_code {
    if (key == "index") return read_count(member, into.index);
    if (key != "delta" && key != "content_block") return simdjson::SUCCESS;
    return if_object(member, [this, &into](object inner) { return read_words(inner, into); });
  });
}

simdjson::error_code messages_decoder::read_end(object from) {
  return each_member(from, [this](std::string_view key, value member) -> simdjson::error_code {
    if (key == "usage") return read_usage(member, true);
    if (key != "delta") return simdjson::SUCCESS;
    return if_object(member, [this](object delta) {
      return each_member(delta, [this](std::string_view name, value inner) -> simdjson::error_code {
        if (name == "stop_sequence") return take(inner, answer.stop_sequence);
        if (name != "stop_reason") return simdjson::SUCCESS;
        std::string_view reason;
        if (const auto error = strings_.whole(inner, reason)) return error;
        if (const auto why = read_finish(reason); why != finish_reason::none) answer.finish = why;
        return simdjson::SUCCESS;
      });
    });
  });
}

// The figures are totals so far. What is said of the output before it has begun is no figure of it.
simdjson::error_code messages_decoder::read_usage(value from, bool final) {
  return if_object(from, [this, final](object members) -> simdjson::error_code {
    std::optional<std::int64_t> output;
    const auto grow = [](value member, std::optional<std::int64_t>& total) -> simdjson::error_code {
      std::optional<std::int64_t> said;
      if (const auto error = read_amount(member, said)) return error;
      if (said) total = std::max(*said, total.value_or(0));
      return simdjson::SUCCESS;
    };
    const auto error = each_member(members, [&](std::string_view key, value member) -> simdjson::error_code {
      if (key == "input_tokens") return grow(member, fresh_input_);
      if (key == "cache_creation_input_tokens") return grow(member, cache_written_);
      if (key == "cache_read_input_tokens") return grow(member, cache_read_);
      if (key == "output_tokens" && final) return grow(member, output);
      return simdjson::SUCCESS;
    });
    if (error) return error;
    if (!fresh_input_ && !output) return simdjson::SUCCESS;
    if (!reported_) reported_.emplace();
    if (fresh_input_) {
      reported_->cached_tokens = cache_read_.value_or(0);
      reported_->cache_written_tokens = cache_written_.value_or(0);
      reported_->input_tokens = *fresh_input_ + reported_->cached_tokens + reported_->cache_written_tokens;
    }
    if (output) reported_->output_tokens = std::max(*output, reported_->output_tokens.value_or(0));
    return simdjson::SUCCESS;
  });
}

void messages_decoder::begin(const words& said) {
  last_ = said.index.value_or(last_ + 1);
  // A block that begins anew where one has not ended: that one has ended.
  if (const auto found = open_.find(last_); found != open_.end()) static_cast<void>(close(last_, found->second));
  open_block& begun = open_[last_] = {};
  if (said.type == "text") {
    begun.kind = block_kind::text;
    say(said.text, stream_event::kind::text);
  } else if (said.type == "tool_use") {
    begun.kind = block_kind::tool_use;
    if (!is_empty_object(said.input)) begun.input = said.input;
    calls_.begin_delta();
    add_call({.index = last_, .id = said.id, .name = said.name});
  } else if (said.type == "thinking") {
    begun.kind = block_kind::thinking;
    begun.seam.append(begun.said, said.text);
    begun.signature = said.signature;
    say(said.text, stream_event::kind::reasoning);
  } else {
    begun.said = said.raw;
  }
}

void messages_decoder::add(const words& said) {
  last_ = said.index.value_or(last_);
  const auto found = open_.find(last_);
  open_block* const open = found == open_.end() ? nullptr : &found->second;
  if (said.type == "text_delta") {
    say(said.text, stream_event::kind::text);
  } else if (said.type == "thinking_delta") {
    if (open != nullptr) open->seam.append(open->said, said.text);
    say(said.text, stream_event::kind::reasoning);
  } else if (said.type == "signature_delta") {
    if (open != nullptr) open->signature += said.signature;
  } else if (said.type == "input_json_delta") {
    if (open == nullptr || open->kind == block_kind::tool_use) {
      if (open != nullptr && !said.input.empty()) open->in_pieces = true;
      calls_.begin_delta();
      add_call({.index = last_, .arguments = said.input});
    } else if (open->kind == block_kind::other) {
      open->input += said.input;
      produced_bytes_ += static_cast<std::int64_t>(said.input.size());
    }
  }
}

simdjson::error_code messages_decoder::end(const words& said) {
  last_ = said.index.value_or(last_);
  const auto found = open_.find(last_);
  if (found == open_.end()) return simdjson::SUCCESS;
  const auto error = close(last_, found->second);
  open_.erase(found);
  return error;
}

simdjson::error_code messages_decoder::close(std::int64_t index, open_block& ended) {
  switch (ended.kind) {
    case block_kind::text: return simdjson::SUCCESS;
    case block_kind::tool_use:
      if (!ended.in_pieces && !ended.input.empty()) add_call({.index = index, .arguments = ended.input, .whole = true});
      return simdjson::SUCCESS;
    case block_kind::thinking:
      ended.seam.end(ended.said);
      return keep(dialect::anthropic_messages,
                  written({{"type", "thinking"}, {"thinking", ended.said}, {"signature", ended.signature}}));
    case block_kind::other: break;
  }
  auto input = parse_object(ended.input);
  auto block = input ? parse_object(ended.said) : std::nullopt;
  if (!block) return keep(dialect::anthropic_messages, ended.said);
  (*block)["input"] = *std::move(input);
  return keep(dialect::anthropic_messages, written(*block));
}

void messages_decoder::complete() {
  // What never ended is kept when it can be; the answer is whole without it.
  for (auto& [index, block] : open_) static_cast<void>(close(index, block));
  open_.clear();
  json_decoder::complete();
}

}  // namespace sluice::llm
