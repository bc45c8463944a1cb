/// \file
/// `read_trace`: arrivals and sizes from a file.
#pragma once

#include <sluice/core/expected.hpp>

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace contention {

/// One request of a trace.
struct trace_row {
  /// Seconds after the first row.
  double at = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
};

/// Reads CSV with the header `TIMESTAMP,ContextTokens,GeneratedTokens`, such as the public traces of Azure's LLM
/// inference. A timestamp is `YYYY-MM-DD HH:MM:SS` with a fraction or without; they must not go back.
/// Errors: one line, with the file's name and the line's number.
[[nodiscard]] sluice::expected<std::vector<trace_row>, std::string> read_trace(const std::string& file);

/// The same from a stream; `name` stands for it in errors.
[[nodiscard]] sluice::expected<std::vector<trace_row>, std::string> read_trace(std::istream& from,
                                                                               const std::string& name);

}  // namespace contention
