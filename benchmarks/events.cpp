// What each event of a stream costs, found, parsed and taken apart; and how many bytes of such streams one core
// decodes.
#include "clocks.hpp"
#include "table.hpp"

#include "llm/dialects/wire_format.hpp"

#include <sluice/llm/sse_parser.hpp>

#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace bars {
namespace {

constexpr std::size_t events = 100'000;
constexpr std::size_t event_bytes = 250;

using sluice::llm::dialect;

// As the providers write them, with a delta of a word or two.
std::string chat_event(const std::string& words) {
  return R"(data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion.chunk","created":1741570283,"model":"gpt-4o-2024-08-06",)"
         R"("service_tier":"default","system_fingerprint":"fp_6dd05565ef","choices":[{"index":0,"delta":{"content":")" +
         words + "\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n";
}

std::string responses_event(const std::string& words) {
  return "event: response.output_text.delta\n"
         R"(data: {"type":"response.output_text.delta","sequence_number":17,"item_id":"msg_67c9fdcf37fc8190ba82116e33fb28c5",)"
         R"("output_index":0,"content_index":0,"delta":")" +
         words + "\",\"logprobs\":[],\"obfuscation\":\"Xk2p9\"}\n\n";
}

std::string messages_event(const std::string& words) {
  return "event: content_block_delta\n"
         R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")" +
         words + "\"}}\n\n";
}

std::string stream_of(std::string (*event)(const std::string&)) {
  constexpr const char* words[] = {" the",      " capacity", " of a",    "\\n\\n",
                                   " provider", ",",         " is what", " gr\xC3\xBC\xC3\x9Ft"};
  std::string stream;
  for (std::size_t n = 0; n < events; ++n) stream += event(words[n % std::size(words)]);
  return stream;
}

// Processor time, in nanoseconds.
double decode(dialect spoken, std::string_view stream) {
  sluice::llm::sse_parser parser;
  const auto decoder = sluice::llm::wire_format_of(spoken).decoder("");
  std::vector<sluice::llm::stream_event> out;
  std::size_t seen = 0;
  const double start = thread_cpu();
  for (std::size_t at = 0; at < stream.size(); at += 4'096) {
    parser.push(stream.substr(at, 4'096));
    for (;;) {
      const auto event = parser.next();
      if (!event) std::abort();
      if (!*event) break;
      if (!decoder->event(**event, out)) std::abort();
      seen += out.size();
      out.clear();
    }
  }
  const double took = thread_cpu() - start;
  if (seen != events) std::abort();
  return took;
}

double event_cost() {
  const std::string head =
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"fixed","choices":[{"index":0,"delta":{"content":")";
  const std::string tail = "\"},\"finish_reason\":null}]}\n\n";
  const std::string event = head + std::string(event_bytes - head.size() - tail.size(), 'w') + tail;
  std::string stream;
  for (std::size_t n = 0; n < events; ++n) stream += event;
  return decode(dialect::openai_chat, stream) / events;
}

template <dialect spoken, std::string (*event)(const std::string&)>
double megabytes_per_second() {
  const std::string stream = stream_of(event);
  return static_cast<double>(stream.size()) * 1e3 / decode(spoken, stream);
}

}  // namespace

std::vector<bar> event_bars() {
  return {{"SSE + JSON of one event of 250 bytes", "ns", event_cost, nullptr, 0, 7},
          {"stream decoded: chat completions", "MB/s", megabytes_per_second<dialect::openai_chat, chat_event>, nullptr,
           0, 7},
          {"stream decoded: Responses", "MB/s", megabytes_per_second<dialect::openai_responses, responses_event>,
           nullptr, 0, 7},
          {"stream decoded: Messages", "MB/s", megabytes_per_second<dialect::anthropic_messages, messages_event>,
           nullptr, 0, 7}};
}

}  // namespace bars
