#include "testing/chat_reading.hpp"

#include "testing/wire_json.hpp"

#include <algorithm>
#include <array>

namespace sluice::testing {
namespace {

using json = nlohmann::json;

constexpr std::array<std::string_view, 6> known_roles{"system", "developer", "user", "assistant", "tool", "function"};
constexpr std::size_t longest_tool_name = 64;

class chat_reader {
 public:
  explicit chat_reader(mock_request& request) : request_(request) {}

  std::optional<wire_error> operator()(const json& body) {
    request_.model = text_at(body, "model");
    if (request_.model.empty()) return invalid_request("you must provide a model parameter");
    const auto& messages = array_at(body, "messages");
    if (messages.empty()) {
      return invalid_request("'messages' must be an array of at least one message.", "messages");
    }
    for (const auto& each : messages) {
      if (auto wrong = message(each)) return wrong;
    }
    if (auto wrong = unanswered()) return wrong;
    request_.messages = messages.size();
    if (auto wrong = tools(body)) return wrong;
    if (auto wrong = settings(body)) return wrong;
    read_sizes(request_, size_, body.contains("user") && body["user"].is_string() ? text_at(body, "user") : "");
    return std::nullopt;
  }

 private:
  std::string at(const char* what = "") const { return "messages.[" + std::to_string(index_) + "]" + what; }

  std::string content_of(const json& message) {
    const auto content = message.find("content");
    if (content == message.end() || content->is_null()) return {};
    std::string all;
    if (content->is_string()) {
      all = content->get<std::string>();
    } else {
      for (const auto& part : content->get_ref<const json::array_t&>()) {
        const auto type = text_at(part, "type");
        if (type == "image_url" || type == "input_audio" || type == "file") ++size_.attachments;
        all += text_at(part, type == "refusal" ? "refusal" : "text");
      }
    }
    size_.add(all);
    return all;
  }

  std::optional<wire_error> message(const json& each) {
    const auto role = each.is_object() ? text_at(each, "role") : std::string();
    if (role.empty()) return invalid_request("Each message must have a 'role'.", at());
    if (std::find(known_roles.begin(), known_roles.end(), role) == known_roles.end()) {
      return invalid_request("Invalid value: '" + role + "'.", at(".role"), "invalid_value");
    }
    request_.last_role = role;
    request_.last_text = content_of(each);
    if (role == "system" || role == "developer") add_system(request_, request_.last_text);
    if (role == "tool") {
      if (auto wrong = answer(text_at(each, "tool_call_id"))) return wrong;
    } else if (auto wrong = unanswered()) {
      return wrong;
    }
    if (role == "assistant") {
      request_.tool_results.clear();
      for (const auto& call : array_at(each, "tool_calls")) {
        const auto& function = call.at("function");
        size_.add(text_at(function, "name"));
        size_.add(text_at(function, "arguments"));
        open_calls_.push_back(text_at(call, "id"));
      }
    }
    ++index_;
    return std::nullopt;
  }

  std::optional<wire_error> answer(const std::string& id) {
    if (id.empty())
      return invalid_request("Missing parameter 'tool_call_id': messages with role 'tool' must have one.", at());
    const auto call = std::find(open_calls_.begin(), open_calls_.end(), id);
    if (call == open_calls_.end()) {
      return invalid_request(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          at(".role"));
    }
    open_calls_.erase(call);
    request_.tool_results.emplace_back(id, request_.last_text);
    return std::nullopt;
  }

  std::optional<wire_error> unanswered() const {
    if (open_calls_.empty()) return std::nullopt;
    std::string ids;
    for (const auto& id : open_calls_) ids += (ids.empty() ? "" : ", ") + id;
    return invalid_request(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The "
        "following tool_call_ids did not have response messages: " +
            ids,
        at(".role"));
  }

  std::optional<wire_error> tools(const json& body) {
    const auto& offered = array_at(body, "tools");
    for (std::size_t i = 0; i < offered.size(); ++i) {
      const auto place = "tools[" + std::to_string(i) + "]";
      if (text_at(offered[i], "type") != "function") continue;
      const auto function = offered[i].find("function");
      if (function == offered[i].end()) {
        return invalid_request("Missing required parameter: '" + place + ".function'.", place + ".function",
                               "missing_required_parameter");
      }
      if (!is_tool_name(text_at(*function, "name"), longest_tool_name)) {
        return invalid_request(
            "Invalid '" + place + ".function.name': expected a name of letters, digits, '_' and '-'.",
            place + ".function.name", "invalid_value");
      }
    }
    request_.tools = offered.size();
    if (!offered.empty()) size_.add(offered.dump());
    return std::nullopt;
  }

  std::optional<wire_error> settings(const json& body) {
    request_.stream = body.value("stream", false);
    if (const auto options = body.find("stream_options"); options != body.end() && !options->is_null()) {
      if (!request_.stream) {
        return invalid_request("The 'stream_options' parameter is only allowed when 'stream' is enabled.",
                               "stream_options");
      }
      request_.include_usage = options->value("include_usage", false);
    }
    for (const auto* name : {"max_tokens", "max_completion_tokens"}) {
      if (!read_limit(request_, body, name, 1)) {
        return invalid_request(std::string(name) + " must be an integer of at least 1.", name,
                               "integer_below_min_value");
      }
    }
    if (const auto stop = body.find("stop"); stop != body.end() && stop->is_string()) {
      request_.stop.push_back(stop->get<std::string>());
    } else {
      for (const auto& each : array_at(body, "stop")) request_.stop.push_back(each.get<std::string>());
    }
    return std::nullopt;
  }

  mock_request& request_;
  prompt_size size_;
  std::vector<std::string> open_calls_;
  std::size_t index_ = 0;
};

}  // namespace

std::optional<wire_error> read_chat(mock_request& request) { return read_body(request, chat_reader(request)); }

}  // namespace sluice::testing
