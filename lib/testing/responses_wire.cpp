#include "testing/openai_dialect.hpp"
#include "testing/responses_reading.hpp"
#include "testing/wire_json.hpp"

#include <utility>

namespace sluice::testing {
namespace {

using kind = answer_piece::kind;

std::string number_of(const wire_answer& answer) { return std::to_string(answer.number); }
std::string call_item_id(const wire_answer& answer, std::size_t call) {
  return "fc_" + number_of(answer) + "_" + std::to_string(call);
}

std::string status_of(const answer_plan& plan) {
  const auto& reason = plan.finish_reason;
  if (reason == "stop" || reason == "tool_calls" || reason == "refusal") return "completed";
  if (reason == "length" || reason == "content_filter") return "incomplete";
  return reason;
}

ordered reasoning_item(const wire_answer& answer, std::size_t count) {
  ordered item{{"id", "rs_" + number_of(answer)}, {"type", "reasoning"}, {"summary", ordered::array()}};
  if (count > 0) {
    item["summary"].push_back({{"type", "summary_text"}, {"text", answer.plan.joined(kind::reasoning, count)}});
  }
  if (answer.encrypted_reasoning) item["encrypted_content"] = "ZW5jcnlwdGVk" + number_of(answer);
  return item;
}

ordered part_of(kind what, const std::string& text) {
  if (what == kind::refusal) return {{"type", "refusal"}, {"refusal", text}};
  return {{"type", "output_text"}, {"annotations", ordered::array()}, {"logprobs", ordered::array()}, {"text", text}};
}

ordered message_item(const wire_answer& answer, std::size_t count, const char* status) {
  ordered item{{"id", "msg_" + number_of(answer)},
               {"type", "message"},
               {"status", status},
               {"role", "assistant"},
               {"content", ordered::array()}};
  for (const auto what : {kind::text, kind::refusal}) {
    if (answer.plan.count_of(what, count) > 0)
      item["content"].push_back(part_of(what, answer.plan.joined(what, count)));
  }
  return item;
}

ordered call_item(const wire_answer& answer, std::size_t call, std::size_t count, const char* status) {
  return {{"id", call_item_id(answer, call)},
          {"type", "function_call"},
          {"status", status},
          {"arguments", answer.plan.joined(kind::arguments, count, call)},
          {"call_id", answer.plan.calls[call].id},
          {"name", answer.plan.calls[call].name}};
}

// Only the last item of an answer that was cut is incomplete.
const char* item_status(const wire_answer& answer, bool last) {
  return last && answer.plan.finish_reason == "length" ? "incomplete" : "completed";
}

ordered response_of(const wire_answer& answer, const std::string& status) {
  return {{"id", "resp_" + number_of(answer)},
          {"object", "response"},
          {"created_at", 1700000000},
          {"status", status},
          {"background", false},
          {"error", nullptr},
          {"incomplete_details", nullptr},
          {"instructions", nullptr},
          {"max_output_tokens", nullptr},
          {"model", answer.model},
          {"output", ordered::array()},
          {"parallel_tool_calls", true},
          {"previous_response_id", nullptr},
          {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
          {"store", true},
          {"temperature", 1.0},
          {"text", {{"format", {{"type", "text"}}}}},
          {"tool_choice", "auto"},
          {"tools", ordered::array()},
          {"top_p", 1.0},
          {"truncation", "disabled"},
          {"usage", nullptr},
          {"user", nullptr},
          {"metadata", ordered::object()}};
}

ordered whole_response(const wire_answer& answer, std::size_t count, const wire_usage& used) {
  const auto& plan = answer.plan;
  const auto status = status_of(plan);
  auto response = response_of(answer, status);
  auto& output = response["output"];
  const auto calls = plan.count_of(kind::call, count);
  if (plan.count_of(kind::reasoning, count) > 0) output.push_back(reasoning_item(answer, count));
  if (plan.count_of(kind::text, count) + plan.count_of(kind::refusal, count) > 0) {
    output.push_back(message_item(answer, count, item_status(answer, calls == 0)));
  }
  for (std::size_t i = 0; i < calls; ++i)
    output.push_back(call_item(answer, i, count, item_status(answer, i + 1 == calls)));
  if (status == "incomplete") {
    response["incomplete_details"] = {
        {"reason", plan.finish_reason == "length" ? "max_output_tokens" : plan.finish_reason}};
  }
  if (status == "failed") {
    response["error"] = {{"code", "server_error"},
                         {"message", "The server had an error while processing your request."}};
  }
  if (answer.habits.no_finish_reason) response.erase("status");
  if (!answer.habits.no_usage) {
    response["usage"] = {{"input_tokens", used.input},
                         {"input_tokens_details", {{"cached_tokens", used.cached}}},
                         {"output_tokens", used.output},
                         {"output_tokens_details", {{"reasoning_tokens", used.reasoning}}},
                         {"total_tokens", used.input + used.output}};
  }
  return response;
}

class responses_events final : public wire_events {
 public:
  explicit responses_events(const wire_answer& answer) : answer_(answer) {}

  std::string begin(const wire_usage&) override {
    const auto response = response_of(answer_, "in_progress");
    auto all = event("response.created", {{"response", response}});
    all += event("response.in_progress", {{"response", response}});
    return all;
  }

  std::string tokens(std::size_t from, std::size_t to) override {
    std::string all;
    for (const auto& piece : answer_.plan.merged(from, to)) {
      sent_ = to;
      if (piece.what != open_ && !(piece.what == kind::arguments && open_ == kind::call)) {
        all += part_end();
        all += item_end(piece.what);
        all += begin_of(piece);
      } else if (piece.what == kind::call) {
        all += item_end(piece.what);
        all += begin_of(piece);
      }
      all += delta(piece);
    }
    return all;
  }

  std::string finish(const wire_usage&) override {
    auto all = part_end();
    all += item_end(std::nullopt);
    return all;
  }

  std::string end_mark(const wire_usage& used) override {
    const auto status = status_of(answer_.plan);
    const bool named = status == "incomplete" || status == "failed";
    return event("response." + (named ? status : "completed"), {{"response", whole_response(answer_, sent_, used)}});
  }

  std::string failure(const wire_error& error) override {
    return event("error", {{"code", error.code.empty() ? error.type : error.code},
                           {"message", error.message},
                           {"param", error.param.empty() ? ordered(nullptr) : ordered(error.param)}});
  }

  std::string bad_json() override {
    return sse_event("response.output_text.delta", R"({"type":"response.output_text.delta","delta":)",
                     answer_.habits.line_end);
  }

 private:
  std::string event(const std::string& name, const ordered& fields) {
    ordered data{{"type", name}, {"sequence_number", sequence_++}};
    data.update(fields);
    return sse_event(name, dumped(data), answer_.habits.line_end);
  }

  // What every event about the open item says of its place.
  ordered place() const { return {{"item_id", item_id_}, {"output_index", output_index_}}; }

  ordered in_part(const char* field, const ordered& value) const {
    auto fields = place();
    fields[open_ == kind::reasoning ? "summary_index" : "content_index"] = content_index_;
    fields[field] = value;
    return fields;
  }

  std::string item_added(std::string id, const ordered& item) {
    item_id_ = std::move(id);
    return event("response.output_item.added", {{"output_index", output_index_}, {"item", item}});
  }

  std::string begin_of(const answer_piece& piece) {
    std::string all;
    const bool message = piece.what == kind::text || piece.what == kind::refusal;
    if (piece.what == kind::reasoning) {
      all = item_added("rs_" + number_of(answer_), reasoning_item(answer_, 0));
    } else if (message && content_index_ == 0) {
      all = item_added("msg_" + number_of(answer_), message_item(answer_, 0, "in_progress"));
    } else if (!message) {
      call_ = piece.call;
      all = item_added(call_item_id(answer_, call_), call_item(answer_, call_, 0, "in_progress"));
    }
    open_ = piece.what;
    if (piece.what == kind::reasoning) {
      all += event("response.reasoning_summary_part.added", in_part("part", {{"type", "summary_text"}, {"text", ""}}));
    } else if (message) {
      all += event("response.content_part.added", in_part("part", part_of(piece.what, {})));
    }
    return all;
  }

  std::string delta(const answer_piece& piece) {
    switch (piece.what) {
      case kind::reasoning: return event("response.reasoning_summary_text.delta", in_part("delta", piece.text));
      case kind::refusal: return event("response.refusal.delta", in_part("delta", piece.text));
      case kind::arguments: {
        auto fields = place();
        fields["delta"] = piece.text;
        return event("response.function_call_arguments.delta", fields);
      }
      case kind::text: {
        auto fields = in_part("delta", piece.text);
        fields["logprobs"] = ordered::array();
        return event("response.output_text.delta", fields);
      }
      case kind::call: break;
    }
    return {};
  }

  std::string part_end() {
    if (!open_) return {};
    const auto text = answer_.plan.joined(*open_, sent_);
    std::string all;
    switch (*open_) {
      case kind::reasoning:
        all = event("response.reasoning_summary_text.done", in_part("text", text));
        all +=
            event("response.reasoning_summary_part.done", in_part("part", {{"type", "summary_text"}, {"text", text}}));
        break;
      case kind::text: {
        auto fields = in_part("text", text);
        fields["logprobs"] = ordered::array();
        all = event("response.output_text.done", fields);
        all += event("response.content_part.done", in_part("part", part_of(kind::text, text)));
        break;
      }
      case kind::refusal:
        all = event("response.refusal.done", in_part("refusal", text));
        all += event("response.content_part.done", in_part("part", part_of(kind::refusal, text)));
        break;
      case kind::call:
      case kind::arguments: break;
    }
    return all;
  }

  std::string item_end(std::optional<kind> next) {
    if (!open_) return {};
    // A refusal after text is one more part of the same message.
    if (open_ == kind::text && next == kind::refusal) {
      ++content_index_;
      return {};
    }
    std::string all;
    ordered item;
    const auto* status = item_status(answer_, !next);
    if (open_ == kind::reasoning) {
      item = reasoning_item(answer_, sent_);
    } else if (open_ == kind::call) {
      item = call_item(answer_, call_, sent_, status);
      auto fields = place();
      fields["name"] = item["name"];
      fields["arguments"] = item["arguments"];
      all = event("response.function_call_arguments.done", fields);
    } else {
      item = message_item(answer_, sent_, status);
    }
    all += event("response.output_item.done", {{"output_index", output_index_}, {"item", item}});
    ++output_index_;
    content_index_ = 0;
    open_.reset();
    return all;
  }

  const wire_answer& answer_;
  std::int64_t sequence_ = 0;
  std::size_t sent_ = 0;
  std::optional<kind> open_;
  std::string item_id_;
  std::size_t output_index_ = 0;
  std::size_t content_index_ = 0;
  std::size_t call_ = 0;
};

class responses_dialect final : public openai_dialect {
 public:
  std::optional<wire_error> read(mock_request& request) const override { return read_responses(request); }

  std::string body(const wire_answer& answer, std::size_t count, const wire_usage& used) const override {
    return dumped(whole_response(answer, count, used));
  }

  std::unique_ptr<wire_events> events(const wire_answer& answer) const override {
    return std::make_unique<responses_events>(answer);
  }
};

}  // namespace

const wire_dialect& responses_wire() noexcept {
  static const responses_dialect only;
  return only;
}

}  // namespace sluice::testing
