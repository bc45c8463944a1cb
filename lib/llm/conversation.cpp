#include <sluice/llm/conversation.hpp>

#include <sluice/llm/estimator.hpp>

#include "llm/dialects/call_ids.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::llm {

namespace {

bool made(const message& said, const std::string& id) noexcept {
  return std::any_of(said.tool_calls.begin(), said.tool_calls.end(),
                     [&id](const tool_call& call) { return call.id == id; });
}

bool alike(const tool_call& left, const tool_call& right) noexcept {
  return left.name == right.name && left.arguments == right.arguments;
}

message answer_to(const std::string& id, std::string text, bool is_error) {
  message result(role::tool, std::move(text));
  result.tool_call_id = id;
  result.is_error = is_error;
  return result;
}

}  // namespace

conversation::conversation(std::string system) { messages_.emplace_back(role::system, std::move(system)); }

conversation& conversation::user(std::string text) { return user(message(role::user, std::move(text))); }

conversation& conversation::user(message said) {
  said.who = role::user;
  messages_.push_back(std::move(said));
  return *this;
}

conversation& conversation::add(const reply& answer) {
  message said(role::assistant, answer.text);
  if (said.text.empty() && answer.tool_calls.empty()) said.text = answer.refusal;
  if (said.text.empty() && answer.tool_calls.empty() && answer.opaque.empty()) return *this;
  said.tool_calls = answer.tool_calls;
  said.opaque = answer.opaque;
  if (!said.tool_calls.empty()) {
    call_ids ids;
    for (const message& earlier : messages_) {
      for (const tool_call& call : earlier.tool_calls) {
        ids.take(call.id);
        static_cast<void>(ids.unique(call.id, 0));
      }
    }
    for (const tool_call& call : said.tool_calls) ids.take(call.id);
    ++replies_;
    for (std::size_t nth = 0; nth < said.tool_calls.size(); ++nth) {
      tool_call& call = said.tool_calls[nth];
      const tool_call given = call;
      call.id = ids.unique(std::move(call.id), nth);
      open_.emplace_back(given, call.id, replies_);
    }
  }
  messages_.push_back(std::move(said));
  return *this;
}

expected<void, error> conversation::tool_result(const tool_call& call, std::string text, bool is_error) {
  const auto same = [&call](const waiting_call& one) {
    return (one.call.id == call.id || one.id == call.id) && alike(one.call, call);
  };
  const auto last = std::find_if(open_.rbegin(), open_.rend(), same);
  if (last == open_.rend()) {
    return unexpected<error>(
        error(errc::invalid_argument,
              "the call \"" + call.id + "\" of tool \"" + call.name +
                  "\" waits for no result: it has one, was trimmed, or was never made in this conversation"));
  }
  const auto at = std::find_if(open_.begin(), open_.end(),
                               [&](const waiting_call& one) { return one.turn == last->turn && same(one); });
  const auto place = messages_.begin() + static_cast<std::ptrdiff_t>(place_for(at->id));
  messages_.insert(place, answer_to(at->id, std::move(text), is_error));
  open_.erase(at);
  return {};
}

std::size_t conversation::place_for(const std::string& id) const noexcept {
  std::size_t at = messages_.size();
  while (at > 0 && !made(messages_[at - 1], id)) --at;
  while (at < messages_.size() && messages_[at].who == role::tool) ++at;
  return at;
}

std::vector<tool_call> conversation::open_calls() const {
  std::vector<tool_call> calls;
  for (const waiting_call& one : open_) {
    calls.push_back(one.call);
    calls.back().id = one.id;
  }
  return calls;
}

request conversation::request_for(std::string model) const {
  request asked(std::move(model));
  asked.messages.reserve(messages_.size() + open_.size());
  auto missing = open_.begin();
  for (std::size_t at = 0; at < messages_.size(); ++at) {
    asked.add(messages_[at]);
    const bool results_end = at + 1 == messages_.size() || messages_[at + 1].who != role::tool;
    if (!results_end) continue;
    std::size_t asking = at;
    while (asking > 0 && messages_[asking].who == role::tool) --asking;
    // Both are in the order of the calls.
    while (missing != open_.end() && made(messages_[asking], missing->id)) {
      asked.add(answer_to(missing->id, std::string(no_result), true));
      ++missing;
    }
  }
  return asked;
}

std::int64_t conversation::tokens(std::string_view model) const {
  const character_estimator estimate;
  std::int64_t total = 0;
  for (const message& said : messages_) total += estimate.tokens_of(said, model);
  return total;
}

std::size_t conversation::first() const noexcept {
  return !messages_.empty() && messages_.front().who == role::system ? 1 : 0;
}

void conversation::remove(std::size_t from, std::size_t to) {
  const auto begin = messages_.begin() + static_cast<std::ptrdiff_t>(from);
  const auto end = messages_.begin() + static_cast<std::ptrdiff_t>(to);
  std::erase_if(open_, [&](const waiting_call& one) {
    return std::any_of(begin, end, [&one](const message& said) { return made(said, one.id); });
  });
  messages_.erase(begin, end);
}

std::size_t conversation::trim(std::int64_t most, std::string_view model) {
  const character_estimator estimate;
  std::vector<std::int64_t> sizes(messages_.size());
  std::int64_t total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) total += sizes[i] = estimate.tokens_of(messages_[i], model);

  const std::size_t before = messages_.size();
  // Takes pieces away from `from` on, each up to where one of the kind begins, as long as one is left behind them.
  const auto cut = [&](std::size_t from, auto begins) {
    std::size_t to = from;
    std::size_t next = from;
    while (total > most) {
      do ++next;
      while (next < messages_.size() && !begins(next));
      if (next >= messages_.size()) break;
      for (; to < next; ++to) total -= sizes[to];
    }
    remove(from, to);
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(from), sizes.begin() + static_cast<std::ptrdiff_t>(to));
  };
  if (first() >= messages_.size()) return 0;
  cut(first(),
      [this](std::size_t at) { return messages_[at].who == role::user && messages_[at - 1].who != role::user; });
  std::size_t round = first();
  while (round < messages_.size() && messages_[round].who != role::assistant) ++round;
  if (round < messages_.size()) {
    cut(round, [this](std::size_t at) { return messages_[at].who == role::assistant; });
  }
  return before - messages_.size();
}

}  // namespace sluice::llm
