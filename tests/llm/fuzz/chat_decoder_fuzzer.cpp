// Any stream of chunks, one a line: no crash, and events that add up to the answer.
#include "llm/chat_decoder.hpp"

#include <sluice/llm/sse_parser.hpp>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using sluice::llm::stream_event;
  std::string_view rest(reinterpret_cast<const char*>(bytes), size);
  sluice::llm::chat_decoder decoder("secret");
  std::vector<stream_event> events;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view{} : rest.substr(end + 1);
    std::vector<char> padded(line.begin(), line.end());
    padded.resize(line.size() + sluice::llm::sse_parser::padding);
    const std::string_view json(padded.data(), line.size());
    const auto read = line.starts_with(' ') ? decoder.document(json, events) : decoder.chunk(json, events);
    if (!read && (read.error().message().empty() || read.error().message().size() > 2'000)) std::abort();
  }
  decoder.complete();
  std::string text;
  for (const stream_event& event : events) {
    if (event.type == stream_event::kind::text) text += event.text;
  }
  if (text != decoder.answer.text) std::abort();
  std::set<std::string> ids;
  for (const auto& call : decoder.answer.tool_calls) {
    if (call.id.empty() || !ids.insert(call.id).second || call.valid != call.problem.empty()) std::abort();
  }
  if (const auto& said = decoder.reported()) {
    if (said->input_tokens.value_or(0) < 0 || said->output_tokens.value_or(0) < 0) std::abort();
    if (said->cached_tokens < 0 || said->reasoning_tokens < 0) std::abort();
  }
  return 0;
}
