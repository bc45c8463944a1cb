#include "testing/chat_reading.hpp"
#include "testing/openai_dialect.hpp"
#include "testing/wire_json.hpp"

#include <algorithm>

namespace sluice::testing {
namespace {

using kind = answer_piece::kind;

ordered usage_of(const wire_usage& used) {
  return {{"prompt_tokens", used.input},
          {"completion_tokens", used.output},
          {"total_tokens", used.input + used.output},
          {"prompt_tokens_details", {{"cached_tokens", used.cached}}},
          {"completion_tokens_details", {{"reasoning_tokens", used.reasoning}}}};
}

std::string id_of(const wire_answer& answer) { return "chatcmpl-" + std::to_string(answer.number); }

std::string reasoning_field(const wire_answer& answer) {
  return answer.habits.reasoning_field.empty() ? "reasoning_content" : answer.habits.reasoning_field;
}

// A refusal has no finish reason of its own here.
std::string reason_of(const answer_plan& plan) { return plan.finish_reason == "refusal" ? "stop" : plan.finish_reason; }

ordered call_of(const wire_answer& answer, std::size_t index, std::size_t count) {
  const auto& call = answer.plan.calls[index];
  const auto text = answer.plan.joined(kind::arguments, count, index);
  ordered arguments(text);
  if (answer.habits.whole_tool_calls && ordered::accept(text)) arguments = ordered::parse(text);
  return {
      {"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", std::move(arguments)}}}};
}

class chat_events final : public wire_events {
 public:
  explicit chat_events(const wire_answer& answer)
      : answer_(answer),
        front_("{\"id\":" + json_text(id_of(answer)) +
               ",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":" + json_text(answer.model) +
               ",\"choices\":["),
        null_usage_(answer.include_usage && !answer.habits.no_usage && !answer.habits.usage_in_last_chunk) {}

  std::string begin(const wire_usage&) override { return choice(R"({"role":"assistant","content":""})", "null"); }

  std::string tokens(std::size_t from, std::size_t to) override {
    std::string all;
    for (const auto& piece : answer_.plan.merged(from, to)) all += event_of(piece);
    sent_ = to;
    return all;
  }

  std::string finish(const wire_usage& used) override {
    std::string all = whole_calls();
    const auto& habits = answer_.habits;
    const bool tells = !habits.no_usage;
    if (!habits.no_finish_reason) {
      const auto reason = json_text(reason_of(answer_.plan));
      all += tells && habits.usage_in_last_chunk
                 ? event(front_ + "{\"index\":0,\"delta\":{},\"finish_reason\":" + reason +
                         "}],\"usage\":" + dumped(usage_of(used)) + "}")
                 : choice("{}", reason);
    }
    if (null_usage_) all += event(front_ + "],\"usage\":" + dumped(usage_of(used)) + "}");
    return all;
  }

  std::string end_mark(const wire_usage&) override { return event("[DONE]"); }
  std::string failure(const wire_error& error) override { return event(chat_wire().error_body(error, {})); }
  std::string bad_json() override { return event(front_ + "{\"index\":0,\"delta\":{\"content\":"); }

 private:
  std::string event(std::string_view data) const { return sse_event({}, data, answer_.habits.line_end); }

  std::string choice(std::string_view delta, std::string_view reason) const {
    std::string data = front_;
    data += "{\"index\":0,\"delta\":";
    data += delta;
    data += ",\"finish_reason\":";
    data += reason;
    data += null_usage_ ? "}],\"usage\":null}" : "}]}";
    return event(data);
  }

  std::string field(std::string_view name, std::string_view text) const {
    return choice("{" + json_text(name) + ":" + json_text(text) + "}", "null");
  }

  std::string event_of(const answer_piece& piece) const {
    switch (piece.what) {
      case kind::text: return field("content", piece.text);
      case kind::refusal: return field("refusal", piece.text);
      case kind::reasoning: return field(reasoning_field(answer_), piece.text);
      case kind::call: return call_begin(piece.call);
      case kind::arguments: break;
    }
    if (answer_.habits.whole_tool_calls) return {};
    return choice("{\"tool_calls\":[{\"index\":" + std::to_string(piece.call) +
                      ",\"function\":{\"arguments\":" + json_text(piece.text) + "}}]}",
                  "null");
  }

  std::string call_begin(std::size_t index) const {
    if (answer_.habits.whole_tool_calls) return {};
    const auto& call = answer_.plan.calls[index];
    return choice("{\"tool_calls\":[{\"index\":" + std::to_string(index) + ",\"id\":" + json_text(call.id) +
                      ",\"type\":\"function\",\"function\":{\"name\":" + json_text(call.name) +
                      ",\"arguments\":\"\"}}]}",
                  "null");
  }

  std::string whole_calls() const {
    const auto count = answer_.habits.whole_tool_calls ? answer_.plan.count_of(kind::call, sent_) : 0;
    if (count == 0) return {};
    auto calls = ordered::array();
    for (std::size_t i = 0; i < count; ++i) calls.push_back(call_of(answer_, i, sent_));
    return choice("{\"tool_calls\":" + dumped(calls) + "}", "null");
  }

  const wire_answer& answer_;
  std::string front_;
  bool null_usage_;
  std::size_t sent_ = 0;
};

class chat_dialect final : public openai_dialect {
 public:
  std::optional<wire_error> read(mock_request& request) const override { return read_chat(request); }

  std::string body(const wire_answer& answer, std::size_t count, const wire_usage& used) const override {
    const auto& plan = answer.plan;
    const auto or_null = [](std::string text) { return text.empty() ? ordered(nullptr) : ordered(std::move(text)); };
    const auto refusal = plan.joined(kind::refusal, count);
    const auto calls = plan.count_of(kind::call, count);
    auto text = plan.joined(kind::text, count);
    ordered message{{"role", "assistant"},
                    {"content", calls > 0 || !refusal.empty() ? or_null(std::move(text)) : ordered(std::move(text))},
                    {"refusal", or_null(refusal)}};
    if (auto thoughts = plan.joined(kind::reasoning, count); !thoughts.empty()) {
      message[reasoning_field(answer)] = std::move(thoughts);
    }
    for (std::size_t i = 0; i < calls; ++i) message["tool_calls"].push_back(call_of(answer, i, count));
    const auto reason = answer.habits.no_finish_reason ? ordered(nullptr) : ordered(reason_of(plan));
    ordered whole{{"id", id_of(answer)},
                  {"object", "chat.completion"},
                  {"created", 1700000000},
                  {"model", answer.model},
                  {"choices", {{{"index", 0}, {"message", std::move(message)}, {"finish_reason", reason}}}}};
    if (!answer.habits.no_usage) whole["usage"] = usage_of(used);
    return dumped(whole);
  }

  std::unique_ptr<wire_events> events(const wire_answer& answer) const override {
    return std::make_unique<chat_events>(answer);
  }
};

}  // namespace

const wire_dialect& chat_wire() noexcept {
  static const chat_dialect only;
  return only;
}

}  // namespace sluice::testing
