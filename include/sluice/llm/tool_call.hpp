/// \file
/// `tool` and `tool_call`: what the model may call, and a call that it makes.
#pragma once

#include <string>
#include <utility>

namespace sluice::llm {

/// A tool that the model may call. A plain value.
class tool {
 public:
  /// `schema` is a JSON schema of the arguments, as text; text that is no JSON object is refused when it is sent.
  tool(std::string tool_name, std::string what_it_does, std::string schema = R"({"type":"object","properties":{}})")
      : name(std::move(tool_name)), description(std::move(what_it_does)), parameters(std::move(schema)) {}

  std::string name;
  std::string description;
  std::string parameters;
  /// The provider is to hold the model to the schema.
  bool strict = false;
};

/// A call that the model makes; always whole. A plain value.
///
/// A call that cannot be carried out is given all the same, with `valid` off and the reason in `problem`, so that the
/// model can be told; answer it like any other.
class tool_call {
 public:
  tool_call() = default;
  tool_call(std::string call_id, std::string tool_name, std::string json)
      : id(std::move(call_id)), name(std::move(tool_name)), arguments(std::move(json)) {}

  /// What the result refers to. Unique within one reply: one that the model left out or used twice is made up.
  std::string id;
  std::string name;
  /// JSON text of an object; `{}` when the model sent none. When not `valid`: what the model wrote.
  std::string arguments;
  bool valid = true;
  /// Why it is not valid, in one line; empty when it is.
  std::string problem;

  friend bool operator==(const tool_call&, const tool_call&) = default;
};

}  // namespace sluice::llm
