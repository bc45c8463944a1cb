// What each event of a stream costs: found, parsed and taken apart.
#include "clocks.hpp"
#include "table.hpp"

#include "llm/chat_decoder.hpp"

#include <sluice/llm/sse_parser.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace bars {
namespace {

constexpr std::size_t events = 100'000;
constexpr std::size_t event_bytes = 250;

std::string one_event() {
  const std::string head =
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"fixed","choices":[{"index":0,"delta":{"content":")";
  const std::string tail = "\"},\"finish_reason\":null}]}\n\n";
  return head + std::string(event_bytes - head.size() - tail.size(), 'w') + tail;
}

double event_cost() {
  std::string stream;
  for (std::size_t n = 0; n < events; ++n) stream += one_event();
  sluice::llm::sse_parser parser;
  sluice::llm::chat_decoder decoder("");
  std::vector<sluice::llm::stream_event> out;
  std::size_t seen = 0;
  const double start = thread_cpu();
  for (std::size_t at = 0; at < stream.size(); at += 4'096) {
    parser.push(std::string_view(stream).substr(at, 4'096));
    for (;;) {
      const auto event = parser.next();
      if (!event) std::abort();
      if (!*event) break;
      if (!decoder.chunk((*event)->data, out)) std::abort();
      seen += out.size();
      out.clear();
    }
  }
  const double took = thread_cpu() - start;
  if (seen != events) std::abort();
  return took / events;
}

}  // namespace

std::vector<bar> event_bars() { return {{"SSE + JSON of one event of 250 bytes", "ns", event_cost, nullptr, 0, 7}}; }

}  // namespace bars
