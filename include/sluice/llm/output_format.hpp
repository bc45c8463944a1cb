/// \file
/// `output_format`: what the model's answer is to look like.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace sluice::llm {

/// Free text, any JSON object, or JSON that follows a schema. A plain value.
class output_format {
 public:
  /// What it is.
  enum class kind : std::uint8_t {
    /// Whatever the model writes.
    text,
    /// Some JSON object.
    json_object,
    /// A JSON object after `schema`.
    json_schema,
  };

  output_format() = default;
  [[nodiscard]] static output_format json() {
    output_format made;
    made.what = kind::json_object;
    return made;
  }
  /// `schema`: a JSON schema, as text. `strict`: the provider is to hold the model to it.
  [[nodiscard]] static output_format schema_of(std::string name, std::string schema, bool strict = true) {
    output_format made;
    made.what = kind::json_schema;
    made.name = std::move(name);
    made.schema = std::move(schema);
    made.strict = strict;
    return made;
  }

  kind what = kind::text;
  std::string name;
  std::string schema;
  bool strict = true;
};

}  // namespace sluice::llm
