/// \file
/// `reading`: an answer in some dialect, read from bytes, whole JSON or single events, and told in lines.
#pragma once

#include <sluice/llm/dialect.hpp>
#include <sluice/llm/sse_parser.hpp>

#include "llm/dialects/answer_decoder.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/trimmed.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::llm::test {

class reading {
 public:
  explicit reading(dialect spoken, std::string_view secret = "sk-secret")
      : decoder(wire_format_of(spoken).decoder(secret)) {}

  /// More of a stream's bytes. What follows the end of the stream is not read.
  void push(std::string_view bytes) {
    if (ended()) return;
    parser_.push(bytes);
    for (;;) {
      const auto event = parser_.next();
      if (!event) {
        too_large = true;
        return;
      }
      if (!*event) return;
      take(**event);
      if (ended()) return;
    }
  }

  /// The stream has ended.
  void finish() {
    if (!ended()) {
      const auto last = parser_.finish();
      if (!last) too_large = true;
      if (last && *last) {
        decoder->answer.unterminated = true;
        take(**last);
      }
    }
    if (!why) decoder->complete();
  }

  /// One event, whose JSON this is.
  void event(std::string json, std::string_view type = {}) {
    const std::size_t size = json.size();
    json.append(sse_parser::padding, '\0');
    take({type, std::string_view(json).substr(0, size), {}, false});
  }

  /// A plain answer.
  void document(std::string json) {
    const std::size_t size = json.size();
    json.append(sse_parser::padding, '\0');
    auto read = decoder->document(std::string_view(json).substr(0, size), events);
    if (!read) why = std::move(read).error();
    if (!why) decoder->complete();
  }

  [[nodiscard]] bool ended() const noexcept { return over || why.has_value() || too_large; }
  [[nodiscard]] const reply& answer() const noexcept { return decoder->answer; }
  [[nodiscard]] usage_report usage() const { return decoder->reported().value_or(usage_report{}); }
  /// The events that came before the end, one a line.
  [[nodiscard]] std::string told() const {
    std::string out;
    for (const stream_event& one : events) {
      const char* const name = one.type == stream_event::kind::text        ? "text "
                               : one.type == stream_event::kind::reasoning ? "reasoning "
                                                                           : "refusal ";
      out += name + line(one.text);
    }
    return out;
  }
  /// All that there is to tell, one a line.
  [[nodiscard]] std::string story() const {
    std::string out = told();
    out += why ? "= failed: " + line(why->message()) : over ? "= over\n" : too_large ? "= too large\n" : "= ended\n";
    const auto say = [&out](const char* name, const std::string& value) {
      if (!value.empty()) out += name + line(value);
    };
    const reply& made = answer();
    if (made.unterminated) out += "unterminated\n";
    say("finish ", std::string(to_string(made.finish)));
    say("stopped at ", made.stop_sequence);
    say("id ", made.id);
    say("model ", made.model);
    say("text ", made.text);
    say("reasoning ", made.reasoning);
    say("refusal ", made.refusal);
    for (const tool_call& call : made.tool_calls) {
      out += "call " + line(call.id + ' ' + call.name + ' ' + call.arguments + (call.valid ? "" : " !" + call.problem));
    }
    for (const opaque_block& block : made.opaque) out += "opaque " + line(block.json);
    if (const auto& said = decoder->reported()) {
      out += "usage in " + number(said->input_tokens) + " (cached " + std::to_string(said->cached_tokens) +
             ", written " + std::to_string(said->cache_written_tokens) + ") out " + number(said->output_tokens) +
             " (reasoning " + std::to_string(said->reasoning_tokens) + ")\n";
    }
    return out;
  }

  std::unique_ptr<answer_decoder> decoder;
  std::vector<stream_event> events;
  std::optional<failure> why;
  bool over = false;
  bool too_large = false;

 private:
  static std::string line(const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '\n') {
        out += "\\n";
      } else {
        out += c;
      }
    }
    return out + '\n';
  }

  static std::string number(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "?"; }

  void take(const sse_event& event) {
    if (trimmed(event.data).empty()) return;
    auto read = decoder->event(event, events);
    if (!read) {
      why = std::move(read).error();
    } else {
      over = over || *read;
    }
  }

  sse_parser parser_;
};

}  // namespace sluice::llm::test
