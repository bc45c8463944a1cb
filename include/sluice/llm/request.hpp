/// \file
/// `request`: what to ask a model.
#pragma once

#include <sluice/llm/content.hpp>
#include <sluice/llm/output_format.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/tool_call.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::llm {

/// Who said it.
enum class role : std::uint8_t {
  /// The program, to the model.
  system,
  /// The person, or whoever asks.
  user,
  /// The model.
  assistant,
  /// A tool: the result of a call.
  tool,
};

/// One message of a conversation. A plain value.
class message {
 public:
  message(role speaker, std::string said) : who(speaker), text(std::move(said)) {}

  /// Adds what stands behind the text: a picture, a file, more words.
  message& with(content_part part) & {
    parts.push_back(std::move(part));
    return *this;
  }
  message with(content_part part) && {
    parts.push_back(std::move(part));
    return std::move(*this);
  }

  role who;
  std::string text;
  /// Behind the text, in this order.
  std::vector<content_part> parts;
  /// Of the assistant: the calls it made. One that was not valid is sent with `{}` for arguments, and with a name that
  /// servers take, since they refuse a conversation that holds broken JSON or such a name. Ids that were used twice in
  /// the conversation are made unique, and the results with them.
  std::vector<tool_call> tool_calls;
  /// Of the assistant: handed back as they came, before everything else. (Of OpenAI's chat completions: more members of
  /// the message.)
  std::vector<opaque_block> opaque;
  /// Of a tool: the call that this answers, and whether it went wrong. Where the dialect has no field for that, which
  /// is OpenAI's two, the text is sent with `Error: ` before it.
  std::string tool_call_id;
  bool is_error = false;
};

/// Whether the model may, must or must not call tools.
enum class tool_choice : std::uint8_t {
  /// As it sees fit.
  automatic,
  /// Not at all.
  none,
  /// At least one.
  required,
};

/// What to ask. A plain value; the functions chain: `request("gpt-4o-mini").system("Be brief.").user("Why?")`. Nothing
/// is checked until it is sent; what does not hold is then `errc::invalid_argument`, named, and nothing has been sent.
class request {
 public:
  /// `model_name` as the provider calls it.
  explicit request(std::string model_name) : model(std::move(model_name)) {}

  /// Adds a message.
  request& add(message added) {
    messages.push_back(std::move(added));
    return *this;
  }
  request& system(std::string text) { return add(message(role::system, std::move(text))); }
  request& user(std::string text) { return add(message(role::user, std::move(text))); }
  request& assistant(std::string text) { return add(message(role::assistant, std::move(text))); }
  /// Adds what the model answered, with its tool calls, to go on from there. The words of a refusal stand for a text
  /// that is empty.
  request& assistant(const reply& answer) {
    message said(role::assistant, answer.text.empty() ? answer.refusal : answer.text);
    said.tool_calls = answer.tool_calls;
    said.opaque = answer.opaque;
    return add(std::move(said));
  }
  /// Adds the result of the call named `call_id`.
  request& tool_result(std::string call_id, std::string text, bool is_error = false) {
    message result(role::tool, std::move(text));
    result.tool_call_id = std::move(call_id);
    result.is_error = is_error;
    return add(std::move(result));
  }

  /// Offers a tool.
  request& with_tool(tool offered) {
    tools.push_back(std::move(offered));
    return *this;
  }
  /// Whether tools are to be called. Not sent when there are no tools; that one is required does not hold then.
  request& choose(tool_choice how) {
    choice = how;
    return *this;
  }
  /// The model must call this tool, which must be offered: by `with_tool`, or as an `extra` field `tools`.
  request& force_tool(std::string name) {
    forced_tool = std::move(name);
    return *this;
  }
  /// The most tokens to produce. It is reserved while the exchange runs: the smaller, the sooner it is admitted.
  request& limit_output(std::int64_t tokens) {
    max_output_tokens = tokens;
    return *this;
  }
  request& with_temperature(double value) {
    temperature = value;
    return *this;
  }
  /// Adds a text at which the model stops.
  request& stop_at(std::string text) {
    stop.push_back(std::move(text));
    return *this;
  }
  request& with_seed(std::int64_t value) {
    seed = value;
    return *this;
  }
  /// At most one tool call in a turn.
  request& one_call_at_a_time() {
    parallel_tool_calls = false;
    return *this;
  }
  /// How hard the model is to think first: `low`, `medium`, `high`, as the provider calls it.
  request& think(std::string effort) {
    reasoning_effort = std::move(effort);
    return *this;
  }
  /// Who the request is for, as the provider wants to know it (a name that tells nobody who it is).
  request& on_behalf_of(std::string user) {
    end_user = std::move(user);
    return *this;
  }
  /// The answer is to be a JSON object.
  request& json_output() {
    format = output_format::json();
    return *this;
  }
  /// The answer is to follow a JSON schema.
  request& json_output(std::string name, std::string schema, bool strict = true) {
    format = output_format::schema_of(std::move(name), std::move(schema), strict);
    return *this;
  }
  /// Adds a field to the request's JSON, verbatim, in place of one of the same name: `extra("top_p", "0.9")`. The
  /// fields that make the call what it is (`model`, `messages` or `input`, `stream`, `stream_options`; `system` or
  /// `instructions` when there are system messages) cannot be replaced, nor the limit on output, which is
  /// reserved: use `limit_output`. It counts as part of the prompt, and `n` as so many answers.
  request& extra(std::string field, std::string json) {
    extra_fields.emplace_back(std::move(field), std::move(json));
    return *this;
  }

  std::string model;
  std::vector<message> messages;
  std::vector<tool> tools;
  std::optional<tool_choice> choice;
  /// Wins over `choice` when not empty.
  std::string forced_tool;
  std::optional<std::int64_t> max_output_tokens;
  std::optional<double> temperature;
  std::optional<std::int64_t> seed;
  std::vector<std::string> stop;
  std::optional<bool> parallel_tool_calls;
  std::string reasoning_effort;
  std::string end_user;
  output_format format;
  std::vector<std::pair<std::string, std::string>> extra_fields;
};

}  // namespace sluice::llm
