/// \file
/// What all dialects share of reading requests and writing events.
#pragma once

#include <sluice/testing/mock_request.hpp>

#include "testing/wire_dialect.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::testing {

/// Keeps the order of members, as the providers have one.
using ordered = nlohmann::ordered_json;

/// A JSON string. Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);
[[nodiscard]] std::string dumped(const ordered& value);

/// One server-sent event; without a name when `name` is empty.
[[nodiscard]] std::string sse_event(std::string_view name, std::string_view data, std::string_view line_end);

/// A request that does not hold: status 400.
[[nodiscard]] wire_error invalid_request(std::string message, std::string param = {}, std::string code = {});

/// What was said so far, on the way through a request.
struct prompt_size {
  std::int64_t characters = 0;
  std::size_t attachments = 0;

  void add(std::string_view utf8);
};

/// Parses the body, has `fields` read it, and makes errors of what JSON does not hold.
[[nodiscard]] std::optional<wire_error> read_body(
    mock_request& request, const std::function<std::optional<wire_error>(const nlohmann::json&)>& fields);

/// The sizes: as they are asked for in headers and in `user`, else as measured.
void read_sizes(mock_request& request, const prompt_size& measured, std::string_view user);

/// The string at `name`; empty when there is none, or null.
[[nodiscard]] std::string text_at(const nlohmann::json& object, const char* name);
/// The array at `name`; empty when there is none, or null. Throws a type error for anything else.
[[nodiscard]] const nlohmann::json& array_at(const nlohmann::json& object, const char* name);
/// A limit on output of at least `least` at `name`, or `why`.
[[nodiscard]] bool read_limit(mock_request& request, const nlohmann::json& body, const char* name, std::int64_t least);
/// Letters, digits, `_` and `-`: 1 to `longest` of them.
[[nodiscard]] bool is_tool_name(std::string_view name, std::size_t longest);
/// Adds to the system's texts.
void add_system(mock_request& request, std::string_view text);

}  // namespace sluice::testing
