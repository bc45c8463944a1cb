#include "testing/messages_reading.hpp"
#include "testing/wire_json.hpp"
#include "testing/wire_time.hpp"

#include <chrono>
#include <utility>

namespace sluice::testing {
namespace {

using kind = answer_piece::kind;

std::string stop_reason(const answer_plan& plan) {
  const auto& reason = plan.finish_reason;
  if (reason == "stop" || reason == "failed") return "end_turn";
  if (reason == "length") return "max_tokens";
  if (reason == "tool_calls") return "tool_use";
  if (reason == "content_filter") return "refusal";
  return reason;
}

ordered stop_of(const wire_answer& answer) {
  const auto reason = stop_reason(answer.plan);
  const bool at_sequence = reason == "stop_sequence" && !answer.stop_sequence.empty();
  return {{"stop_reason", answer.habits.no_finish_reason ? ordered(nullptr) : ordered(reason)},
          {"stop_sequence", at_sequence ? ordered(answer.stop_sequence) : ordered(nullptr)}};
}

ordered usage_of(const wire_usage& used, std::int64_t output) {
  return {{"input_tokens", used.input - used.cached - used.cache_written},
          {"cache_creation_input_tokens", used.cache_written},
          {"cache_read_input_tokens", used.cached},
          {"output_tokens", output},
          {"service_tier", "standard"}};
}

std::string signature_of(const wire_answer& answer) { return "c2lnbmF0dXJl" + std::to_string(answer.number); }

// A call's input is an object, whatever the script says.
ordered input_of(const std::string& text) {
  const auto parsed = ordered::parse(text, nullptr, false);
  return parsed.is_object() ? parsed : ordered::object();
}

ordered block_of(const wire_answer& answer, const answer_piece& piece, const std::string& text) {
  switch (piece.what) {
    case kind::reasoning: return {{"type", "thinking"}, {"thinking", text}, {"signature", signature_of(answer)}};
    case kind::text:
    case kind::refusal: return {{"type", "text"}, {"text", text}};
    case kind::call:
    case kind::arguments: break;
  }
  const auto& call = answer.plan.calls[piece.call];
  return {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", input_of(text)}};
}

ordered message_of(const wire_answer& answer, ordered content) {
  return {{"id", "msg_" + std::to_string(answer.number)},
          {"type", "message"},
          {"role", "assistant"},
          {"model", answer.model},
          {"content", std::move(content)}};
}

class messages_events final : public wire_events {
 public:
  explicit messages_events(const wire_answer& answer) : answer_(answer) {}

  std::string begin(const wire_usage& used) override {
    auto message = message_of(answer_, ordered::array());
    message["stop_reason"] = nullptr;
    message["stop_sequence"] = nullptr;
    if (!answer_.habits.no_usage) message["usage"] = usage_of(used, 1);
    return event("message_start", {{"message", std::move(message)}});
  }

  std::string tokens(std::size_t from, std::size_t to) override {
    std::string all;
    for (const auto& piece : answer_.plan.merged(from, to)) {
      const bool goes_on = open_ && piece.what != kind::call &&
                           (piece.what == open_->what || (piece.what == kind::arguments && open_->what == kind::call));
      if (!goes_on) {
        all += block_end();
        all += block_begin(piece);
      }
      all += delta(piece);
    }
    return all;
  }

  std::string finish(const wire_usage& used) override {
    auto all = block_end();
    ordered fields{{"delta", stop_of(answer_)}};
    if (!answer_.habits.no_usage) fields["usage"] = {{"output_tokens", used.output}};
    return all + event("message_delta", fields);
  }

  std::string end_mark(const wire_usage&) override { return event("message_stop", ordered::object()); }

  std::string failure(const wire_error& error) override {
    return event("error", {{"error", {{"type", error.type}, {"message", error.message}}}});
  }

  std::string bad_json() override {
    return sse_event("content_block_delta", R"({"type":"content_block_delta","index":0,"delta":{"type":)",
                     answer_.habits.line_end);
  }

 private:
  std::string event(const std::string& name, const ordered& fields) const {
    ordered data{{"type", name}};
    data.update(fields);
    return sse_event(name, dumped(data), answer_.habits.line_end);
  }

  std::string block_begin(const answer_piece& piece) {
    open_ = piece;
    auto block = block_of(answer_, piece, {});
    if (piece.what == kind::reasoning) block["signature"] = "";
    auto all = event("content_block_start", {{"index", index_}, {"content_block", std::move(block)}});
    if (!std::exchange(pinged_, true)) all += event("ping", ordered::object());
    return all;
  }

  std::string delta_of(const char* type, const char* field, std::string_view text) const {
    std::string data("{\"type\":\"content_block_delta\",\"index\":");
    data += std::to_string(index_);
    data += ",\"delta\":{\"type\":\"";
    data += type;
    data += "\",\"";
    data += field;
    data += "\":";
    data += json_text(text);
    data += "}}";
    return sse_event("content_block_delta", data, answer_.habits.line_end);
  }

  std::string delta(const answer_piece& piece) const {
    switch (piece.what) {
      case kind::reasoning: return delta_of("thinking_delta", "thinking", piece.text);
      case kind::text:
      case kind::refusal: return delta_of("text_delta", "text", piece.text);
      case kind::call:
      case kind::arguments: break;
    }
    return delta_of("input_json_delta", "partial_json", piece.text);
  }

  std::string block_end() {
    if (!open_) return {};
    std::string all;
    if (open_->what == kind::reasoning) all = delta_of("signature_delta", "signature", signature_of(answer_));
    all += event("content_block_stop", {{"index", index_}});
    ++index_;
    open_.reset();
    return all;
  }

  const wire_answer& answer_;
  std::optional<answer_piece> open_;
  std::size_t index_ = 0;
  bool pinged_ = false;
};

class messages_dialect final : public wire_dialect {
 public:
  std::optional<wire_error> read(mock_request& request) const override { return read_messages(request); }

  wire_error usual_error(int status, std::string message, bool quota) const override {
    const auto made = [&](int code, std::string type, std::string usual) {
      return wire_error(code, message.empty() ? std::move(usual) : message, std::move(type));
    };
    if (quota) return made(400, "invalid_request_error", "Your credit balance is too low to access the API.");
    switch (status) {
      case 401: return made(status, "authentication_error", "invalid x-api-key");
      case 403: return made(status, "permission_error", "Your API key does not have permission to use this resource.");
      case 404: return made(status, "not_found_error", "Not Found");
      case 405: return made(status, "invalid_request_error", "Method Not Allowed");
      case 413: return made(status, "request_too_large", "Request exceeds the maximum size");
      case 429: return made(status, "rate_limit_error", "This request would exceed your account's rate limit.");
      case 504: return made(status, "timeout_error", "The request timed out");
      case 529: return made(status, "overloaded_error", "Overloaded");
      default: break;
    }
    return status >= 500 ? made(status, "api_error", "Internal server error")
                         : made(status, "invalid_request_error", "The request is not acceptable.");
  }

  std::string error_body(const wire_error& error, std::string_view request_id) const override {
    return dumped({{"type", "error"},
                   {"error", {{"type", error.type}, {"message", error.message}}},
                   {"request_id", std::string(request_id)}});
  }

  std::string models_body(const std::vector<std::string>& names) const override {
    ordered body{{"data", ordered::array()}, {"has_more", false}, {"first_id", nullptr}, {"last_id", nullptr}};
    for (const auto& name : names) {
      body["data"].push_back(
          {{"type", "model"}, {"id", name}, {"display_name", name}, {"created_at", "2023-11-14T22:13:20Z"}});
    }
    if (!names.empty()) {
      body["first_id"] = names.front();
      body["last_id"] = names.back();
    }
    return dumped(body);
  }

  std::vector<http::header> headers(const wire_load& load, std::string_view request_id) const override {
    std::vector<http::header> headers;
    headers.reserve(15);
    headers.emplace_back("request-id", std::string(request_id));
    const auto now = std::chrono::system_clock::now();
    const auto add = [&](const std::string& what, std::int64_t limit, std::int64_t free, std::int64_t told) {
      const auto after = free == limit ? duration() : load.retry_after;
      const auto reset = now + std::chrono::duration_cast<std::chrono::system_clock::duration>(after);
      headers.emplace_back("anthropic-ratelimit-" + what + "-limit", std::to_string(limit));
      headers.emplace_back("anthropic-ratelimit-" + what + "-remaining", std::to_string(told));
      headers.emplace_back("anthropic-ratelimit-" + what + "-reset", rfc3339(reset));
    };
    const auto thousands = (load.free_tokens + 500) / 1000 * 1000;
    add("requests", load.limit_requests, load.free_requests, load.free_requests);
    for (const auto* what : {"tokens", "input-tokens", "output-tokens"}) {
      add(what, load.limit_tokens, load.free_tokens, thousands);
    }
    return headers;
  }

  std::string body(const wire_answer& answer, std::size_t count, const wire_usage& used) const override {
    auto content = ordered::array();
    const auto pieces = answer.plan.merged(0, count);
    for (const auto& piece : pieces) {
      if (piece.what == kind::arguments) continue;
      const auto text = piece.what == kind::call ? answer.plan.joined(kind::arguments, count, piece.call) : piece.text;
      content.push_back(block_of(answer, piece, text));
    }
    auto whole = message_of(answer, std::move(content));
    whole.update(stop_of(answer));
    if (!answer.habits.no_usage) whole["usage"] = usage_of(used, used.output);
    return dumped(whole);
  }

  std::unique_ptr<wire_events> events(const wire_answer& answer) const override {
    return std::make_unique<messages_events>(answer);
  }
};

}  // namespace

const wire_dialect& messages_wire() noexcept {
  static const messages_dialect only;
  return only;
}

}  // namespace sluice::testing
