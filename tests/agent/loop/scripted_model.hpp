/// \file
/// `scripted_model`: what a model says, turn by turn, written as each dialect writes it.
#pragma once

#include <sluice/llm/dialect.hpp>
#include <sluice/testing/scripted_transport.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent::test {

/// One answer. A plain value; the functions chain.
class said {
 public:
  said() = default;
  explicit said(std::string words) : text(std::move(words)) {}

  said calls(std::string name, std::string arguments, std::string id = {}) && {
    if (id.empty()) id = "call_" + std::to_string(made.size());
    made.push_back({std::move(name), std::move(arguments), std::move(id)});
    return std::move(*this);
  }
  /// As OpenAI's chat completions call it: `stop`, `length`, `tool_calls`, `content_filter`; `paused` is Anthropic's
  /// alone.
  said ends(std::string reason) && {
    finish = std::move(reason);
    return std::move(*this);
  }
  said took(std::int64_t input_tokens, std::int64_t output_tokens) && {
    input = input_tokens;
    output = output_tokens;
    return std::move(*this);
  }

  struct call {
    std::string name;
    std::string arguments;
    std::string id;
  };
  std::string text;
  std::vector<call> made;
  std::string finish;
  std::int64_t input = 100;
  std::int64_t output = 10;
};

namespace wire {

using json = nlohmann::ordered_json;

inline std::string chat(const said& what) {
  json message = {{"role", "assistant"}, {"content", what.text}};
  for (const auto& each : what.made) {
    message["tool_calls"].push_back(
        {{"id", each.id}, {"type", "function"}, {"function", {{"name", each.name}, {"arguments", each.arguments}}}});
  }
  const std::string finish = !what.finish.empty() ? what.finish : what.made.empty() ? "stop" : "tool_calls";
  return json{{"id", "c1"},
              {"model", "m"},
              {"choices", {{{"index", 0}, {"message", message}, {"finish_reason", finish}}}},
              {"usage", {{"prompt_tokens", what.input}, {"completion_tokens", what.output}}}}
      .dump();
}

inline std::string messages(const said& what) {
  json content = json::array();
  if (!what.text.empty()) content.push_back({{"type", "text"}, {"text", what.text}});
  for (const auto& each : what.made) {
    content.push_back(
        {{"type", "tool_use"}, {"id", each.id}, {"name", each.name}, {"input", json::parse(each.arguments)}});
  }
  std::string finish = what.made.empty() ? "end_turn" : "tool_use";
  if (what.finish == "length") finish = "max_tokens";
  if (what.finish == "paused") finish = "pause_turn";
  return json{{"id", "m1"},
              {"type", "message"},
              {"role", "assistant"},
              {"model", "m"},
              {"content", content},
              {"stop_reason", finish},
              {"usage", {{"input_tokens", what.input}, {"output_tokens", what.output}}}}
      .dump();
}

inline std::string responses(const said& what) {
  json output = json::array();
  if (!what.text.empty()) {
    output.push_back({{"type", "message"},
                      {"id", "msg_1"},
                      {"role", "assistant"},
                      {"content", {{{"type", "output_text"}, {"text", what.text}}}}});
  }
  for (const auto& each : what.made) {
    output.push_back({{"type", "function_call"},
                      {"id", "fc_" + each.id},
                      {"call_id", each.id},
                      {"name", each.name},
                      {"arguments", each.arguments}});
  }
  const bool cut = what.finish == "length";
  json answer = {
      {"id", "resp_1"},
      {"object", "response"},
      {"status", cut ? "incomplete" : "completed"},
      {"model", "m"},
      {"output", output},
      {"usage",
       {{"input_tokens", what.input}, {"output_tokens", what.output}, {"total_tokens", what.input + what.output}}}};
  if (cut) answer["incomplete_details"] = {{"reason", "max_output_tokens"}};
  return answer.dump();
}

}  // namespace wire

/// The answer as a whole, and as a stream of OpenAI's chat completions.
inline testing::scripted_exchange plain(const said& what, llm::dialect spoken = llm::dialect::openai_chat) {
  std::string body = spoken == llm::dialect::openai_chat        ? wire::chat(what)
                     : spoken == llm::dialect::openai_responses ? wire::responses(what)
                                                                : wire::messages(what);
  return testing::scripted_exchange(200).with_header("content-type", "application/json").with_chunk(std::move(body));
}

inline std::string event(const nlohmann::ordered_json& delta, const std::string& finish = {}) {
  using wire::json;
  const json reason = finish.empty() ? json() : json(finish);
  return "data: " +
         json{{"id", "c1"}, {"model", "m"}, {"choices", {{{"index", 0}, {"delta", delta}, {"finish_reason", reason}}}}}
             .dump() +
         "\n\n";
}

/// Each word of the text is a chunk of its own.
inline testing::scripted_exchange streamed(const said& what) {
  using wire::json;
  auto exchange = testing::scripted_exchange(200).with_header("content-type", "text/event-stream");
  for (std::size_t at = 0; at < what.text.size();) {
    const std::size_t end = std::min(what.text.find(' ', at), what.text.size() - 1) + 1;
    exchange = std::move(exchange).with_chunk(event({{"content", what.text.substr(at, end - at)}}));
    at = end;
  }
  for (std::size_t i = 0; i < what.made.size(); ++i) {
    const auto& each = what.made[i];
    exchange = std::move(exchange).with_chunk(event(
        {{"tool_calls",
          {{{"index", i}, {"id", each.id}, {"function", {{"name", each.name}, {"arguments", each.arguments}}}}}}}));
  }
  const std::string finish = !what.finish.empty() ? what.finish : what.made.empty() ? "stop" : "tool_calls";
  const json usage = {{"choices", json::array()},
                      {"usage", {{"prompt_tokens", what.input}, {"completion_tokens", what.output}}}};
  return std::move(exchange)
      .with_chunk(event(json::object(), finish))
      .with_chunk("data: " + usage.dump() + "\n\n")
      .with_chunk("data: [DONE]\n\n");
}

}  // namespace sluice::agent::test
