#include "testing/answer_plan.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::testing {
namespace {

constexpr std::int64_t default_words = 64;
constexpr std::size_t argument_fragment = 8;
constexpr std::array<std::string_view, 16> vocabulary{"water", "runs",  "down",  "to",   "the", "gate",
                                                      "and",   "waits", "until", "it",   "is",  "let",
                                                      "into",  "lower", "pools", "again"};

void add_words(std::vector<answer_piece>& pieces, std::int64_t count) {
  pieces.reserve(pieces.size() + static_cast<std::size_t>(std::max(count, std::int64_t{0})));
  for (std::int64_t i = 0; i < count; ++i) {
    std::string word(i == 0 ? "" : " ");
    word += vocabulary[static_cast<std::size_t>(i) % vocabulary.size()];
    pieces.push_back({answer_piece::kind::text, 0, std::move(word)});
  }
}

void add_split(std::vector<answer_piece>& pieces, answer_piece::kind what, std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  while (!text.empty()) {
    const auto word = text.find_first_not_of(space);
    const auto end = word == text.npos ? text.npos : text.find_first_of(space, word);
    pieces.push_back({what, 0, std::string(text.substr(0, end))});
    text.remove_prefix(end == text.npos ? text.size() : end);
  }
}

// Never cuts a character of several bytes, since each event is JSON of its own.
std::size_t fragment_size(std::string_view text) {
  auto size = std::min(argument_fragment, text.size());
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) ++size;
  return size;
}

}  // namespace

std::size_t answer_plan::count_of(answer_piece::kind what, std::size_t count) const {
  const auto end = pieces.begin() + static_cast<std::ptrdiff_t>(std::min(count, pieces.size()));
  return static_cast<std::size_t>(
      std::count_if(pieces.begin(), end, [&](const answer_piece& piece) { return piece.what == what; }));
}

std::string answer_plan::joined(answer_piece::kind what, std::size_t count, std::size_t call) const {
  std::string all;
  for (std::size_t i = 0; i < std::min(count, pieces.size()); ++i) {
    if (pieces[i].what == what && pieces[i].call == call) all += pieces[i].text;
  }
  return all;
}

std::vector<answer_piece> answer_plan::merged(std::size_t from, std::size_t to) const {
  std::vector<answer_piece> all;
  for (; from < std::min(to, pieces.size()); ++from) {
    const auto& next = pieces[from];
    if (next.what != answer_piece::kind::call && !all.empty() && all.back().what == next.what &&
        all.back().call == next.call) {
      all.back().text += next.text;
    } else {
      all.push_back(next);
    }
  }
  return all;
}

answer_plan plan_answer(const mock_reply& reply, const mock_request& request) {
  answer_plan plan;
  add_split(plan.pieces, answer_piece::kind::reasoning, reply.reasoning);
  add_split(plan.pieces, answer_piece::kind::text, reply.content);
  add_split(plan.pieces, answer_piece::kind::refusal, reply.refusal);
  plan.calls = reply.calls;
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    auto& call = plan.calls[i];
    if (call.id.empty()) {
      call.id = request.dialect == mock_dialect::anthropic_messages ? "toolu_" : "call_";
      call.id += std::to_string(request.number) + "_" + std::to_string(i);
    }
    plan.pieces.push_back({answer_piece::kind::call, i, {}});
    for (std::string_view left = call.arguments; !left.empty();) {
      const auto fragment = left.substr(0, fragment_size(left));
      plan.pieces.push_back({answer_piece::kind::arguments, i, std::string(fragment)});
      left.remove_prefix(fragment.size());
    }
  }
  if (reply.content.empty() && reply.refusal.empty() && reply.calls.empty()) {
    const auto wanted = reply.word_count >= 0 ? reply.word_count : request.wanted_output_tokens;
    add_words(plan.pieces, wanted >= 0 ? wanted : default_words);
  }

  plan.finish_reason = !reply.finish_reason.empty() ? reply.finish_reason
                       : !plan.calls.empty()        ? "tool_calls"
                       : !reply.refusal.empty()     ? "refusal"
                                                    : "stop";
  const auto limit = request.max_output_tokens;
  if (limit >= 0 && plan.pieces.size() > static_cast<std::size_t>(limit)) {
    plan.pieces.resize(static_cast<std::size_t>(limit));
    plan.finish_reason = "length";
  }
  return plan;
}

}  // namespace sluice::testing
