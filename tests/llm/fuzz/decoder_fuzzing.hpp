/// \file
/// What the fuzzers of all decoders do.
#pragma once

#include <sluice/llm/dialect.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/llm/sse_parser.hpp>

#include "llm/dialects/answer_decoder.hpp"
#include "llm/dialects/wire_format.hpp"

#include <simdjson.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::llm::test {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

/// What holds of any answer, whole or not.
inline void check(answer_decoder& decoder, const std::vector<stream_event>& events, const wire_format& format) {
  std::string text, reasoning, refusal;
  for (const stream_event& event : events) {
    std::string& into = event.type == stream_event::kind::text      ? text
                        : event.type == stream_event::kind::refusal ? refusal
                                                                    : reasoning;
    into += event.text;
  }
  const reply& answer = decoder.answer;
  require(text == answer.text && reasoning == answer.reasoning && refusal == answer.refusal);
  for (const std::string_view one :
       {std::string_view(answer.text), std::string_view(answer.reasoning), std::string_view(answer.refusal),
        std::string_view(answer.id), std::string_view(answer.model), std::string_view(answer.stop_sequence)}) {
    require(is_utf8(one));
  }
  std::set<std::string> ids;
  request again("m");
  again.user("x").assistant(answer);
  for (const tool_call& call : answer.tool_calls) {
    require(!call.id.empty() && ids.insert(call.id).second && call.valid == call.problem.empty());
    require(is_utf8(call.id) && is_utf8(call.name) && is_utf8(call.arguments));
    again.tool_result(call.id, "done", !call.valid);
  }
  // Whatever the model said can be handed back to it.
  require(format.encode(again, {}).has_value());
  require(decoder.produced_bytes() >= 0);
  if (const auto& said = decoder.reported()) {
    require(said->input_tokens.value_or(0) >= 0 && said->output_tokens.value_or(0) >= 0);
    require(said->cached_tokens >= 0 && said->reasoning_tokens >= 0 && said->cache_written_tokens >= 0);
  }
}

/// The input is the data of one event a line, named by what stands before a tab, if anything does; a line that begins
/// with a space is a whole answer.
inline int fuzz_decoder(dialect spoken, const std::uint8_t* bytes, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(bytes), size);
  const wire_format& format = wire_format_of(spoken);
  const auto decoder = format.decoder("secret");
  std::vector<stream_event> events;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view{} : rest.substr(end + 1);
    const std::size_t tab = line.find('\t');
    const std::string_view type = tab == line.npos ? std::string_view{} : line.substr(0, tab);
    const std::string_view data = tab == line.npos ? line : line.substr(tab + 1);
    // A copy of its own, so that a read beyond its end is found.
    std::vector<char> padded(data.begin(), data.end());
    padded.resize(data.size() + sse_parser::padding);
    const std::string_view json(padded.data(), data.size());
    const auto told = [](const failure& why) { require(!why.message().empty() && why.message().size() < 2'000); };
    if (line.starts_with(' ')) {
      if (const auto read = decoder->document(json, events); !read) told(read.error());
    } else {
      if (const auto read = decoder->event({type, json, {}, false}, events); !read) told(read.error());
    }
  }
  decoder->complete();
  check(*decoder, events, format);
  return 0;
}

}  // namespace sluice::llm::test
