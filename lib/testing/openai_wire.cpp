#include "testing/openai_wire.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace sluice::testing {
namespace {

using json = nlohmann::json;

std::string json_text(std::string_view text) { return json(text).dump(-1, ' ', false, json::error_handler_t::replace); }

std::int64_t characters(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || value < 0) return std::nullopt;
  return value;
}

// `name=N` at the start of a word.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    if (at == 0 || text[at - 1] == ' ') return number_in(text.substr(at + name.size()));
  }
  return std::nullopt;
}

wire_error invalid(std::string message, std::string code = {}) {
  return {400, std::move(message), "invalid_request_error", std::move(code)};
}

std::string text_of(const json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string all;
  if (content.is_array()) {
    for (const auto& part : content) all += part.value("text", "");
  }
  return all;
}

std::int64_t size_of(const json& message) {
  auto size = message.contains("content") ? characters(text_of(message["content"])) : 0;
  if (const auto calls = message.find("tool_calls"); calls != message.end() && calls->is_array()) {
    for (const auto& call : *calls) {
      const auto& function = call.at("function");
      size += characters(function.value("name", "")) + characters(function.value("arguments", ""));
    }
  }
  return size;
}

json usage_of(const wire_usage& used) {
  return {{"prompt_tokens", used.input},
          {"completion_tokens", used.output},
          {"total_tokens", used.input + used.output},
          {"prompt_tokens_details", {{"cached_tokens", 0}}},
          {"completion_tokens_details", {{"reasoning_tokens", used.reasoning}}}};
}

std::optional<wire_error> read_fields(mock_request& request, const json& body) {
  if (!body.is_object()) return invalid("The request body is not a JSON object.");
  request.model = body.value("model", "");
  if (request.model.empty()) return invalid("you must provide a model parameter");
  const auto messages = body.find("messages");
  if (messages == body.end() || !messages->is_array() || messages->empty()) {
    return invalid("'messages' must be an array of at least one message.");
  }
  std::int64_t size = 0;
  for (const auto& message : *messages) {
    if (!message.is_object() || message.value("role", "").empty()) return invalid("Each message must have a 'role'.");
    size += size_of(message);
  }
  request.messages = messages->size();
  request.last_role = messages->back().value("role", "");
  if (messages->back().contains("content")) request.last_text = text_of(messages->back()["content"]);
  if (const auto tools = body.find("tools"); tools != body.end()) {
    request.tools = tools->size();
    if (!tools->empty()) size += characters(tools->dump());
  }
  request.stream = body.value("stream", false);
  if (body.contains("stream_options") && body["stream_options"].is_object()) {
    request.include_usage = body["stream_options"].value("include_usage", false);
  }
  for (const auto* name : {"max_tokens", "max_completion_tokens"}) {
    const auto limit = body.find(name);
    if (limit == body.end() || limit->is_null()) continue;
    if (!limit->is_number_integer() || limit->get<std::int64_t>() < 1) {
      return invalid(std::string(name) + " must be an integer of at least 1.", "integer_below_min_value");
    }
    request.max_output_tokens = limit->get<std::int64_t>();
  }

  const auto user = body.contains("user") && body["user"].is_string() ? body["user"].get<std::string>() : "";
  auto exact = number_in(request.header_value("x-mock-input-tokens"));
  if (!exact) exact = number_after(user, "in=");
  request.input_tokens = exact.value_or((size + 3) / 4);
  auto wanted = number_in(request.header_value("x-mock-output-tokens"));
  if (!wanted) wanted = number_after(user, "out=");
  request.wanted_output_tokens = wanted.value_or(-1);
  return std::nullopt;
}

}  // namespace

wire_error usual_error(int status, std::string message, bool quota) {
  const auto made = [&](std::string usual, std::string type, std::string code = {}) {
    return wire_error(status, message.empty() ? std::move(usual) : message, std::move(type), std::move(code));
  };
  if (quota) return made("You exceeded your current quota.", "insufficient_quota", "insufficient_quota");
  switch (status) {
    case 401: return made("Incorrect API key provided.", "invalid_request_error", "invalid_api_key");
    case 404: return made("Unknown request URL.", "invalid_request_error", "unknown_url");
    case 405: return made("Method not allowed for this URL.", "invalid_request_error", "method_not_supported");
    case 413: return made("The request body is too large.", "invalid_request_error");
    case 429: return made("Rate limit reached for requests.", "requests", "rate_limit_exceeded");
    case 503: return made("The engine is currently overloaded.", "server_error");
    case 529: return made("Overloaded", "overloaded_error");
    default: break;
  }
  return status >= 500 ? made("The server had an error while processing your request.", "server_error")
                       : made("The request is not acceptable.", "invalid_request_error");
}

std::string error_body(const wire_error& error) {
  const json body{{"error",
                   {{"message", error.message},
                    {"type", error.type},
                    {"param", nullptr},
                    {"code", error.code.empty() ? json(nullptr) : json(error.code)}}}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string models_body(const std::vector<std::string>& names) {
  json body{{"object", "list"}, {"data", json::array()}};
  for (const auto& name : names) {
    body["data"].push_back({{"id", name}, {"object", "model"}, {"created", 1700000000}, {"owned_by", "sluice"}});
  }
  return body.dump();
}

std::optional<wire_error> read_chat(mock_request& request) {
  try {
    return read_fields(request, json::parse(request.body));
  } catch (const json::parse_error&) {
    return invalid("We could not parse the JSON body of your request.");
  } catch (const json::exception& failure) {
    return invalid(std::string("The request has a field of the wrong type: ") + failure.what());
  }
}

std::string decimal_seconds(duration length) {
  const auto milliseconds = std::max<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(length).count(), 0);
  auto text = std::to_string(milliseconds / 1000);
  if (const auto rest = milliseconds % 1000; rest != 0) {
    const auto digits = std::to_string(1000 + rest).substr(1);
    text += '.' + digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  return text;
}

std::string go_duration(duration length) {
  using namespace std::chrono;
  if (length <= duration::zero()) return "0s";
  if (length < seconds(1)) return std::to_string(ceil<milliseconds>(length).count()) + "ms";
  const auto whole_hours = floor<hours>(length);
  const auto whole_minutes = floor<minutes>(length - whole_hours);
  std::string text;
  if (whole_hours.count() > 0) text += std::to_string(whole_hours.count()) + "h";
  if (!text.empty() || whole_minutes.count() > 0) text += std::to_string(whole_minutes.count()) + "m";
  return text + decimal_seconds(length - whole_hours - whole_minutes) + "s";
}

std::string plain_body(std::string_view id, std::string_view model, const answer_plan& plan, std::size_t count,
                       std::optional<wire_usage> used) {
  using kind = answer_piece::kind;
  const auto text = plan.joined(kind::text, count);
  json message{{"role", "assistant"}, {"content", text}, {"refusal", nullptr}};
  if (const auto thoughts = plan.joined(kind::reasoning, count); !thoughts.empty()) {
    message["reasoning_content"] = thoughts;
  }
  if (const auto calls = plan.count_of(kind::call, count); calls > 0) {
    if (text.empty()) message["content"] = nullptr;
    for (std::size_t i = 0; i < calls; ++i) {
      message["tool_calls"].push_back(
          {{"id", plan.calls[i].id},
           {"type", "function"},
           {"function", {{"name", plan.calls[i].name}, {"arguments", plan.joined(kind::arguments, count, i)}}}});
    }
  }
  json body{{"id", id},
            {"object", "chat.completion"},
            {"created", 1700000000},
            {"model", model},
            {"choices", {{{"index", 0}, {"message", std::move(message)}, {"finish_reason", plan.finish_reason}}}}};
  if (used) body["usage"] = usage_of(*used);
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

chat_events::chat_events(std::string_view id, std::string_view model, bool usage_asked, std::string_view line_end)
    : front_("{\"id\":" + json_text(id) + ",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":" +
             json_text(model) + ",\"choices\":["),
      usage_asked_(usage_asked),
      line_end_(line_end) {}

std::string chat_events::event(std::string_view data) const {
  std::string text("data: ");
  text.reserve(text.size() + data.size() + 2 * line_end_.size());
  text += data;
  text += line_end_;
  text += line_end_;
  return text;
}

std::string chat_events::choice(std::string_view delta, std::string_view reason) const {
  std::string data = front_;
  data += "{\"index\":0,\"delta\":";
  data += delta;
  data += ",\"finish_reason\":";
  data += reason;
  data += usage_asked_ ? "}],\"usage\":null}" : "}]}";
  return event(data);
}

std::string chat_events::role() const { return choice(R"({"role":"assistant","content":""})", "null"); }

std::string chat_events::tokens(const answer_plan& plan, std::size_t from, std::size_t to) const {
  using kind = answer_piece::kind;
  std::string all;
  std::string text;
  while (from < to) {
    const auto& first = plan.pieces[from];
    text.clear();
    do {
      text += plan.pieces[from].text;
      ++from;
    } while (from < to && first.what != kind::call && plan.pieces[from].what == first.what &&
             plan.pieces[from].call == first.call);
    switch (first.what) {
      case kind::text: all += choice("{\"content\":" + json_text(text) + "}", "null"); break;
      case kind::reasoning: all += choice("{\"reasoning_content\":" + json_text(text) + "}", "null"); break;
      case kind::call: {
        const auto& call = plan.calls[first.call];
        all += choice("{\"tool_calls\":[{\"index\":" + std::to_string(first.call) + ",\"id\":" + json_text(call.id) +
                          ",\"type\":\"function\",\"function\":{\"name\":" + json_text(call.name) +
                          ",\"arguments\":\"\"}}]}",
                      "null");
        break;
      }
      case kind::arguments:
        all += choice("{\"tool_calls\":[{\"index\":" + std::to_string(first.call) +
                          ",\"function\":{\"arguments\":" + json_text(text) + "}}]}",
                      "null");
        break;
    }
  }
  return all;
}

std::string chat_events::finish(std::string_view reason) const { return choice("{}", json_text(reason)); }

std::string chat_events::usage(wire_usage used) const {
  return event(front_ + "],\"usage\":" + usage_of(used).dump() + "}");
}

std::string chat_events::failure(const wire_error& error) const { return event(error_body(error)); }

std::string chat_events::bad_json() const { return event(front_ + "{\"index\":0,\"delta\":{\"content\":"); }

std::string chat_events::done() const { return event("[DONE]"); }

}  // namespace sluice::testing
