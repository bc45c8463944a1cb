#include "llm/dialects/json_decoder.hpp"

#include "llm/dialects/json_text.hpp"
#include "llm/dialects/utf8_text.hpp"
#include "llm/errors/provider_error.hpp"
#include "llm/errors/quote.hpp"
#include "llm/trimmed.hpp"

#include <algorithm>
#include <bit>

namespace sluice::llm {

namespace {

constexpr std::size_t least_capacity = 512;
// Reading on demand keeps no stack, however deep it goes, unless simdjson checks itself. Room for one takes 9 KiB a
// decoder.
#if SIMDJSON_DEVELOPMENT_CHECKS
constexpr std::size_t depth = simdjson::DEFAULT_MAX_DEPTH;
#else
constexpr std::size_t depth = 1;
#endif

static_assert(static_cast<int>(stream_event::kind::text) == 0 && static_cast<int>(stream_event::kind::reasoning) == 1 &&
              static_cast<int>(stream_event::kind::refusal) == 2);

template <typename Read>
simdjson::error_code find(simdjson::ondemand::object& from, std::string_view key, Read read) {
  simdjson::ondemand::value found;
  const auto missing = from.find_field_unordered(key).get(found);
  if (missing && missing != simdjson::NO_SUCH_FIELD) return missing;
  if (!missing) {
    if (const auto error = read(found)) return error;
  }
  bool empty = false;
  return from.reset().get(empty);
}

}  // namespace

simdjson::error_code json_decoder::open(std::string_view& text, simdjson::ondemand::document& into) {
  strings_.forget();
  // Left to itself the parser would allocate anew for each event that is a byte longer than all before.
  if (parser_.capacity() < text.size()) {
    if (const auto error = parser_.allocate(std::bit_ceil(std::max(text.size(), least_capacity)), depth)) return error;
  }
  const auto error = parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING).get(into);
  return error == simdjson::UTF8_ERROR ? open_decoded(text, into) : error;
}

simdjson::error_code json_decoder::open_decoded(std::string_view& text, simdjson::ondemand::document& into) {
  decoded_ = decoded_utf8(text);
  const std::size_t size = decoded_.size();
  decoded_.append(simdjson::SIMDJSON_PADDING, '\0');
  text = std::string_view(decoded_).substr(0, size);
  return open(text, into);
}

failure json_decoder::broken(std::string_view text, simdjson::error_code why) const {
  const std::string start = quote(text, hidden_);
  return failure(errc::protocol_error,
                 std::string("the provider sent broken JSON (") + simdjson::error_message(why) + ")" +
                     (start.empty() ? ": nothing at all" : ": " + start),
                 call_phase::answering);
}

failure json_decoder::told() const { return failure_of_json(told_error_, hidden_); }

bool json_decoder::is_worth_reading(const sse_event& from) noexcept {
  if (from.type.empty() || from.type == "message") return true;
  return from.type != "ping" && trimmed(from.data).starts_with('{');
}

failure json_decoder::holds_no(const char* wanted, std::string_view text) const {
  return failure(errc::protocol_error,
                 std::string("the provider's answer holds no ") + wanted + "; it begins " + quote(text, hidden_),
                 call_phase::answering);
}

std::string& json_decoder::text_of(stream_event::kind which) noexcept {
  if (which == stream_event::kind::text) return answer.text;
  return which == stream_event::kind::reasoning ? answer.reasoning : answer.refusal;
}

void json_decoder::hand_out(stream_event::kind which, std::size_t from) {
  const std::string& whole = text_of(which);
  if (whole.size() == from) return;
  produced_bytes_ += static_cast<std::int64_t>(whole.size() - from);
  out_->emplace_back(which, whole.substr(from));
}

void json_decoder::say(std::string_view said, stream_event::kind which) {
  std::string& whole = text_of(which);
  const std::size_t before = whole.size();
  seams_[static_cast<std::size_t>(which)].append(whole, said);
  hand_out(which, before);
}

simdjson::error_code json_decoder::say(value from, stream_event::kind which) {
  std::string_view said;
  if (const auto error = strings_.piece(from, said)) return error;
  say(said, which);
  return simdjson::SUCCESS;
}

void json_decoder::end_texts() {
  for (const auto which : {stream_event::kind::text, stream_event::kind::reasoning, stream_event::kind::refusal}) {
    std::string& whole = text_of(which);
    const std::size_t before = whole.size();
    seams_[static_cast<std::size_t>(which)].end(whole);
    hand_out(which, before);
  }
}

simdjson::error_code json_decoder::keep(dialect spoken, std::string_view block) {
  switch (judge_json(block)) {
    case json_kind::object: break;
    case json_kind::too_deep: return simdjson::DEPTH_ERROR;
    case json_kind::other:
    case json_kind::none: return simdjson::TAPE_ERROR;
  }
  answer.opaque.emplace_back(spoken, std::string(block));
  return simdjson::SUCCESS;
}

void json_decoder::add_call(const tool_call_fragment& part) {
  produced_bytes_ += static_cast<std::int64_t>(part.name.size() + part.arguments.size());
  calls_.add(part);
}

simdjson::error_code json_decoder::take(value from, std::string& to) {
  std::string_view said;
  if (const auto error = strings_.whole(from, said)) return error;
  if (!said.empty() && to != said) to = said;
  return simdjson::SUCCESS;
}

simdjson::error_code json_decoder::arguments(value from, tool_call_fragment& part) {
  simdjson::ondemand::json_type type{};
  if (const auto error = from.type().get(type)) return error;
  if (type == simdjson::ondemand::json_type::string) return strings_.piece(from, part.arguments);
  if (type == simdjson::ondemand::json_type::null) return simdjson::SUCCESS;
  part.whole = true;
  return simdjson::to_json_string(from).get(part.arguments);
}

simdjson::error_code json_decoder::find_text(object& from, std::string_view key, std::string_view& into) {
  return find(from, key, [this, &into](value found) { return strings_.whole(found, into); });
}

simdjson::error_code json_decoder::find_count(object& from, std::string_view key, std::optional<std::int64_t>& into) {
  return find(from, key, [&into](value found) { return read_count(found, into); });
}

void json_decoder::complete() {
  answer.tool_calls = calls_.finish(answer.finish);
  answer.announced_calls_missing = answer.finish == finish_reason::tool_calls && answer.tool_calls.empty();
}

}  // namespace sluice::llm
