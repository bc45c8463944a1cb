#include "testing/responses_reading.hpp"

#include "testing/wire_json.hpp"

#include <algorithm>

namespace sluice::testing {
namespace {

using json = nlohmann::json;

constexpr std::size_t longest_tool_name = 128;
constexpr std::int64_t least_limit = 16;

class responses_reader {
 public:
  explicit responses_reader(mock_request& request) : request_(request) {}

  std::optional<wire_error> operator()(const json& body) {
    request_.model = text_at(body, "model");
    if (request_.model.empty()) return missing("model");
    if (const auto instructions = text_at(body, "instructions"); !instructions.empty()) {
      add_system(request_, instructions);
      size_.add(instructions);
    }
    if (auto wrong = input(body)) return wrong;
    // With a stored response before it the input may answer calls that are not in it.
    if (text_at(body, "previous_response_id").empty()) {
      if (auto wrong = unmatched()) return wrong;
    }
    if (auto wrong = tools(body)) return wrong;
    request_.stream = body.value("stream", false);
    if (!read_limit(request_, body, "max_output_tokens", least_limit)) {
      return invalid_request("Invalid 'max_output_tokens': expected an integer of at least 16.", "max_output_tokens",
                             "integer_below_min_value");
    }
    for (const auto& each : array_at(body, "include")) {
      if (each == "reasoning.encrypted_content") request_.encrypted_reasoning = true;
    }
    read_sizes(request_, size_, body.contains("user") && body["user"].is_string() ? text_at(body, "user") : "");
    return std::nullopt;
  }

 private:
  static wire_error missing(const std::string& name) {
    return invalid_request("Missing required parameter: '" + name + "'.", name, "missing_required_parameter");
  }

  std::string at(const char* what = "") const { return "input[" + std::to_string(request_.messages) + "]" + what; }

  std::optional<wire_error> input(const json& body) {
    const auto given = body.find("input");
    if (given == body.end() || given->is_null()) return missing("input");
    if (given->is_string()) {
      request_.messages = 1;
      request_.last_role = "user";
      request_.last_text = given->get<std::string>();
      size_.add(request_.last_text);
      return std::nullopt;
    }
    for (const auto& each : given->get_ref<const json::array_t&>()) {
      if (auto wrong = item(each)) return wrong;
      ++request_.messages;
    }
    return request_.messages > 0 ? std::nullopt : std::optional(missing("input"));
  }

  std::optional<wire_error> item(const json& each) {
    auto type = text_at(each, "type");
    if (type.empty() && each.contains("role")) type = "message";
    if (type == "message") return message(each);
    if (type == "function_call") return call(each);
    if (type == "function_call_output") return output(each);
    if (type.empty()) return missing(at(".type"));
    if (type == "reasoning") {
      (void)array_at(each, "summary");
      if (!each.contains("summary")) return missing(at(".summary"));
    }
    return std::nullopt;
  }

  std::optional<wire_error> message(const json& each) {
    const auto role = text_at(each, "role");
    if (role != "user" && role != "assistant" && role != "system" && role != "developer") {
      return invalid_request("Invalid value: '" + role + "'.", at(".role"), "invalid_value");
    }
    if (!each.contains("content")) return missing(at(".content"));
    const auto& content = each["content"];
    request_.last_role = role;
    request_.last_text.clear();
    if (content.is_string()) {
      request_.last_text = content.get<std::string>();
    } else {
      for (const auto& part : content.get_ref<const json::array_t&>()) {
        const auto type = text_at(part, "type");
        const bool is_text = type == (role == "assistant" ? "output_text" : "input_text");
        if (type == "input_image" || type == "input_file") {
          ++size_.attachments;
        } else if (!is_text && !(type == "refusal" && role == "assistant")) {
          return invalid_request("Invalid value: '" + type + "'.", at(".content"), "invalid_value");
        }
        request_.last_text += text_at(part, is_text ? "text" : "refusal");
      }
    }
    size_.add(request_.last_text);
    if (role == "system" || role == "developer") add_system(request_, request_.last_text);
    if (role == "assistant") request_.tool_results.clear();
    return std::nullopt;
  }

  std::optional<wire_error> call(const json& each) {
    for (const auto* name : {"call_id", "name", "arguments"}) {
      if (!each.contains(name)) return missing(at(".") + name);
    }
    size_.add(text_at(each, "name"));
    size_.add(text_at(each, "arguments"));
    calls_.push_back(text_at(each, "call_id"));
    request_.last_role = "assistant";
    request_.tool_results.clear();
    return std::nullopt;
  }

  std::optional<wire_error> output(const json& each) {
    for (const auto* name : {"call_id", "output"}) {
      if (!each.contains(name)) return missing(at(".") + name);
    }
    std::string said;
    if (each["output"].is_string()) {
      said = each["output"].get<std::string>();
    } else {
      for (const auto& part : each["output"].get_ref<const json::array_t&>()) {
        if (text_at(part, "type") != "input_text") ++size_.attachments;
        said += text_at(part, "text");
      }
    }
    size_.add(said);
    request_.last_role = "tool";
    request_.last_text = said;
    outputs_.push_back(text_at(each, "call_id"));
    request_.tool_results.emplace_back(outputs_.back(), std::move(said));
    return std::nullopt;
  }

  std::optional<wire_error> unmatched() const {
    const auto lacks = [](const std::vector<std::string>& ids, const std::string& id) {
      return std::find(ids.begin(), ids.end(), id) == ids.end();
    };
    for (const auto& id : calls_) {
      if (lacks(outputs_, id)) return invalid_request("No tool output found for function call " + id + ".", "input");
    }
    for (const auto& id : outputs_) {
      if (lacks(calls_, id)) {
        return invalid_request("No tool call found for function call output with call_id " + id + ".", "input");
      }
    }
    return std::nullopt;
  }

  std::optional<wire_error> tools(const json& body) {
    const auto& offered = array_at(body, "tools");
    for (std::size_t i = 0; i < offered.size(); ++i) {
      const auto place = "tools[" + std::to_string(i) + "]";
      const auto type = text_at(offered[i], "type");
      if (type.empty()) return missing(place + ".type");
      if (type != "function") continue;
      if (!offered[i].contains("name")) return missing(place + ".name");
      if (!is_tool_name(text_at(offered[i], "name"), longest_tool_name)) {
        return invalid_request("Invalid '" + place + ".name': expected a name of letters, digits, '_' and '-'.",
                               place + ".name", "invalid_value");
      }
    }
    request_.tools = offered.size();
    if (!offered.empty()) size_.add(offered.dump());
    return std::nullopt;
  }

  mock_request& request_;
  prompt_size size_;
  std::vector<std::string> calls_;
  std::vector<std::string> outputs_;
};

}  // namespace

std::optional<wire_error> read_responses(mock_request& request) {
  return read_body(request, responses_reader(request));
}

}  // namespace sluice::testing
