#include <sluice/llm/conversation.hpp>

#include <sluice/llm/estimator.hpp>

#include "llm/open_calls.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::llm {

namespace {

bool asks(const message& said) noexcept { return said.who == role::assistant && !said.tool_calls.empty(); }

message answer_to(const std::string& id, std::string text, bool is_error) {
  message result(role::tool, std::move(text));
  result.tool_call_id = id;
  result.is_error = is_error;
  return result;
}

}  // namespace

conversation::conversation() = default;
conversation::conversation(std::string system) { messages_.emplace_back(role::system, std::move(system)); }
conversation::conversation(conversation&&) noexcept = default;
conversation& conversation::operator=(conversation&&) noexcept = default;
conversation::~conversation() = default;

conversation::conversation(const conversation& other)
    : messages_(other.messages_),
      late_(other.late_),
      asking_(other.asking_),
      calls_(other.calls_ ? std::make_unique<detail::open_calls>(*other.calls_) : nullptr) {}

conversation& conversation::operator=(const conversation& other) {
  if (this != &other) *this = conversation(other);
  return *this;
}

detail::open_calls& conversation::calls() {
  if (!calls_) calls_ = std::make_unique<detail::open_calls>();
  return *calls_;
}

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
  if (asks(said)) asking_.push_back(calls().add(said.tool_calls));
  messages_.push_back(std::move(said));
  return *this;
}

expected<void, error> conversation::tool_result(const tool_call& call, std::string text, bool is_error) {
  auto answered = calls().take(call);
  if (!answered) {
    return unexpected<error>(
        error(errc::invalid_argument,
              "the call \"" + call.id + "\" of tool \"" + call.name +
                  "\" waits for no result: it has one, was trimmed, or was never made in this conversation"));
  }
  message result = answer_to(answered->second, std::move(text), is_error);
  const message& last = messages_.back();
  if (answered->first == asking_.back() && (asks(last) || last.who == role::tool)) {
    messages_.push_back(std::move(result));
  } else {
    late_.emplace_back(answered->first, std::move(result));
  }
  return {};
}

void conversation::settle() const {
  if (late_.empty()) return;
  std::stable_sort(late_.begin(), late_.end(),
                   [](const late_result& a, const late_result& b) { return a.reply < b.reply; });
  std::vector<message> settled;
  settled.reserve(messages_.size() + late_.size());
  auto next = late_.begin();
  auto reply = asking_.begin();
  for (std::size_t at = 0; at < messages_.size(); ++at) {
    const bool has_results = asks(messages_[at]) || messages_[at].who == role::tool;
    const bool results_end = at + 1 == messages_.size() || messages_[at + 1].who != role::tool;
    settled.push_back(std::move(messages_[at]));
    if (!has_results || !results_end) continue;
    for (; next != late_.end() && next->reply == *reply; ++next) settled.push_back(std::move(next->result));
    ++reply;
  }
  messages_ = std::move(settled);
  late_.clear();
}

const std::vector<message>& conversation::messages() const {
  settle();
  return messages_;
}

std::vector<tool_call> conversation::open_calls() const {
  std::vector<tool_call> open;
  if (!calls_) return open;
  for (const auto& [where, one] : calls_->all()) {
    open.push_back(one.call);
    open.back().id = one.id;
  }
  return open;
}

request conversation::request_for(std::string model) const {
  settle();
  request asked(std::move(model));
  asked.messages.reserve(messages_.size() + (calls_ ? calls_->all().size() : 0));
  auto reply = asking_.begin();
  for (std::size_t at = 0; at < messages_.size(); ++at) {
    asked.add(messages_[at]);
    const bool has_results = asks(messages_[at]) || messages_[at].who == role::tool;
    const bool results_end = at + 1 == messages_.size() || messages_[at + 1].who != role::tool;
    if (!has_results || !results_end) continue;
    const auto& open = calls_->all();
    for (auto missing = open.lower_bound({*reply, 0}); missing != open.end() && missing->first.first == *reply;
         ++missing)
      asked.add(answer_to(missing->second.id, std::string(no_result), true));
    ++reply;
  }
  return asked;
}

std::int64_t conversation::tokens(std::string_view model) const {
  settle();
  const character_estimator estimate;
  std::int64_t total = 0;
  for (const message& said : messages_) total += estimate.tokens_of(said, model);
  return total;
}

std::size_t conversation::first() const noexcept {
  return !messages_.empty() && messages_.front().who == role::system ? 1 : 0;
}

void conversation::remove(std::size_t from, std::size_t to) {
  if (from == to) return;
  const auto begin = messages_.begin() + static_cast<std::ptrdiff_t>(from);
  const auto end = messages_.begin() + static_cast<std::ptrdiff_t>(to);
  const auto gone = asking_.begin() + std::count_if(messages_.begin(), begin, asks);
  const auto kept = gone + std::count_if(begin, end, asks);
  for (auto reply = gone; reply != kept; ++reply) calls().forget(*reply);
  asking_.erase(gone, kept);
  messages_.erase(begin, end);
  calls().keep_ids_of(messages_);
}

std::size_t conversation::trim(std::int64_t most, std::string_view model) {
  settle();
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
