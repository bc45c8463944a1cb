#include "testing/messages_reading.hpp"

#include "testing/wire_json.hpp"

#include <algorithm>

namespace sluice::testing {
namespace {

using json = nlohmann::json;
using ids = std::vector<std::string>;

constexpr std::size_t longest_tool_name = 128;

std::string listed(const ids& all) {
  std::string text;
  for (const auto& id : all) text += (text.empty() ? "" : ", ") + id;
  return text;
}

class messages_reader {
 public:
  explicit messages_reader(mock_request& request) : request_(request) {}

  std::optional<wire_error> operator()(const json& body) {
    if (request_.header_value("anthropic-version").empty()) {
      return invalid_request("anthropic-version: header is required");
    }
    request_.model = text_at(body, "model");
    if (request_.model.empty()) return missing("model");
    if (!body.contains("max_tokens")) return missing("max_tokens");
    if (!read_limit(request_, body, "max_tokens", 1) || request_.max_output_tokens < 1) {
      return invalid_request("max_tokens: Input should be an integer greater than or equal to 1");
    }
    system(body);
    const auto& messages = array_at(body, "messages");
    if (messages.empty()) return invalid_request("messages: at least one message is required");
    for (const auto& each : messages) {
      if (auto wrong = message(each, request_.messages + 1 == messages.size())) return wrong;
      ++request_.messages;
    }
    if (auto wrong = turn_ends()) return wrong;
    if (!calls_.empty()) return unanswered(calls_);
    if (auto wrong = tools(body)) return wrong;
    request_.stream = body.value("stream", false);
    for (const auto& each : array_at(body, "stop_sequences")) request_.stop.push_back(each.get<std::string>());
    const auto metadata = body.find("metadata");
    read_sizes(request_, size_, metadata != body.end() && metadata->is_object() ? text_at(*metadata, "user_id") : "");
    return std::nullopt;
  }

 private:
  static wire_error missing(const std::string& name) { return invalid_request(name + ": Field required"); }

  std::string at(const std::string& what = {}) const { return "messages." + std::to_string(request_.messages) + what; }

  wire_error unanswered(const ids& lacking) const {
    return invalid_request(
        at() + ": `tool_use` ids were found without `tool_result` blocks immediately after: " + listed(lacking) +
        ". Each `tool_use` block must have a corresponding `tool_result` block in the next message.");
  }

  void system(const json& body) {
    const auto given = body.find("system");
    if (given == body.end() || given->is_null()) return;
    if (given->is_string()) {
      add_system(request_, given->get<std::string>());
    } else {
      for (const auto& block : given->get_ref<const json::array_t&>()) add_system(request_, text_at(block, "text"));
    }
    size_.add(request_.system);
  }

  // Neighbours of one role are one turn. At its end its results must have answered the calls before it.
  std::optional<wire_error> turn_ends() {
    if (role_ == "user") {
      ids lacking;
      for (const auto& id : calls_) {
        if (std::find(results_.begin(), results_.end(), id) == results_.end()) lacking.push_back(id);
      }
      if (!lacking.empty()) return unanswered(lacking);
      calls_.clear();
      results_.clear();
    }
    return std::nullopt;
  }

  std::optional<wire_error> message(const json& each, bool last) {
    const auto role = text_at(each, "role");
    if (role != "user" && role != "assistant") {
      return invalid_request(
          at() + ": Unexpected role \"" + role +
          "\". The Messages API accepts \"user\" and \"assistant\"; the system prompt is the top-level "
          "parameter `system`.");
    }
    if (request_.messages == 0 && role != "user") {
      return invalid_request("messages: first message must use the \"user\" role");
    }
    if (role != role_) {
      if (auto wrong = turn_ends()) return wrong;
      role_ = role;
      text_came_ = false;
      if (role == "assistant") request_.tool_results.clear();
    }
    if (!each.contains("content")) return missing(at(".content"));
    request_.last_role = role;
    request_.last_text.clear();
    const auto& content = each["content"];
    if (content.is_string() ? content.get_ref<const std::string&>().empty() : content.empty()) {
      if (last && role == "assistant") return std::nullopt;
      return invalid_request(at() +
                             ": all messages must have non-empty content except for the optional final assistant "
                             "message");
    }
    if (content.is_string()) return text(content.get<std::string>());
    std::size_t index = 0;
    for (const auto& block : content.get_ref<const json::array_t&>()) {
      place_ = at(".content." + std::to_string(index++));
      if (auto wrong = this->block(block)) return wrong;
    }
    return std::nullopt;
  }

  std::optional<wire_error> text(const std::string& said) {
    if (said.empty()) return invalid_request("messages: text content blocks must be non-empty");
    if (said.find_first_not_of(" \t\r\n") == said.npos) {
      return invalid_request("messages: text content blocks must contain non-whitespace text");
    }
    text_came_ = true;
    size_.add(said);
    request_.last_text += said;
    return std::nullopt;
  }

  std::optional<wire_error> block(const json& block) {
    const auto type = text_at(block, "type");
    const bool user = role_ == "user";
    if (type == "text") return text(text_at(block, "text"));
    if (type == "tool_result" && user) return tool_result(block);
    if (type == "tool_use" && !user) return tool_use(block);
    if (type == "thinking" && !user) {
      size_.add(text_at(block, "thinking"));
      if (text_at(block, "signature").empty()) return missing(place_ + ".thinking.signature");
      return std::nullopt;
    }
    if ((type == "image" || type == "document") && user) {
      if (!block.contains("source")) return missing(place_ + "." + type + ".source");
      ++size_.attachments;
      return std::nullopt;
    }
    for (const auto* elsewhere : {"tool_result", "tool_use", "thinking", "image", "document"}) {
      if (type == elsewhere) {
        return invalid_request(place_ + ": `" + type + "` blocks cannot be in `" + role_ + "` messages");
      }
    }
    if (type.empty()) return missing(place_ + ".type");
    return std::nullopt;
  }

  std::optional<wire_error> tool_use(const json& block) {
    for (const auto* name : {"id", "name", "input"}) {
      if (!block.contains(name)) return missing(place_ + ".tool_use." + name);
    }
    if (!block["input"].is_object()) {
      return invalid_request(place_ + ".tool_use.input: Input should be a valid dictionary");
    }
    const auto id = text_at(block, "id");
    if (std::find(calls_.begin(), calls_.end(), id) != calls_.end()) {
      return invalid_request("messages: `tool_use` ids must be unique");
    }
    size_.add(text_at(block, "name"));
    size_.add(block["input"].dump());
    calls_.push_back(id);
    return std::nullopt;
  }

  std::optional<wire_error> tool_result(const json& block) {
    const auto id = text_at(block, "tool_use_id");
    if (id.empty()) return missing(place_ + ".tool_result.tool_use_id");
    if (std::find(calls_.begin(), calls_.end(), id) == calls_.end()) {
      return invalid_request(place_ + ": unexpected `tool_use_id` found in `tool_result` blocks: " + id +
                             ". Each `tool_result` block must have a corresponding `tool_use` block in the previous "
                             "message.");
    }
    if (std::find(results_.begin(), results_.end(), id) != results_.end()) {
      return invalid_request(place_ +
                             ": each tool_use must have a single result. Found multiple `tool_result` blocks with "
                             "id: " +
                             id);
    }
    if (text_came_) return invalid_request(place_ + ": `tool_result` blocks must come before the text of their turn");
    std::string said;
    if (const auto content = block.find("content"); content != block.end() && content->is_array()) {
      for (const auto& part : *content) {
        if (text_at(part, "type") != "text") ++size_.attachments;
        said += text_at(part, "text");
      }
    } else {
      said = text_at(block, "content");
    }
    size_.add(said);
    results_.push_back(id);
    request_.last_role = "tool";
    request_.last_text += said;
    request_.tool_results.emplace_back(id, std::move(said), block.value("is_error", false));
    return std::nullopt;
  }

  std::optional<wire_error> tools(const json& body) {
    const auto& offered = array_at(body, "tools");
    for (std::size_t i = 0; i < offered.size(); ++i) {
      const auto place = "tools." + std::to_string(i);
      const auto type = text_at(offered[i], "type");
      if (type == "function") {
        return invalid_request(place +
                               ": Input tag 'function' found using 'type' does not match any of the expected tags");
      }
      // Tools that the provider runs itself have types, and schemas, of their own.
      if (!type.empty() && type != "custom") continue;
      if (!offered[i].contains("name")) return missing(place + ".custom.name");
      if (!is_tool_name(text_at(offered[i], "name"), longest_tool_name)) {
        return invalid_request(place + ".custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
      }
      if (!offered[i].contains("input_schema")) return missing(place + ".custom.input_schema");
      if (text_at(offered[i]["input_schema"], "type") != "object") {
        return invalid_request(place + ".custom.input_schema.type: Input should be 'object'");
      }
    }
    request_.tools = offered.size();
    if (!offered.empty()) size_.add(offered.dump());
    return std::nullopt;
  }

  mock_request& request_;
  prompt_size size_;
  std::string role_;
  std::string place_;
  bool text_came_ = false;
  ids calls_;
  ids results_;
};

}  // namespace

std::optional<wire_error> read_messages(mock_request& request) { return read_body(request, messages_reader(request)); }

}  // namespace sluice::testing
