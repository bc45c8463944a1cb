/// \file
/// `wire_format`: how the requests of a dialect are written, and its answers read.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/dialect.hpp>
#include <sluice/llm/request.hpp>

#include "llm/dialects/answer_decoder.hpp"
#include "llm/errors/secrets.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace sluice::llm {

/// How to write a request. Values alone.
struct encoding {
  output_limit_field output_limit = output_limit_field::max_completion_tokens;
  /// For dialects whose requests must have a limit.
  std::int64_t default_max_tokens = 4'096;
  bool streamed = false;
  bool ask_usage = false;
};

/// Without state: one object a dialect.
class wire_format {
 public:
  wire_format() = default;
  wire_format(const wire_format&) = delete;
  wire_format& operator=(const wire_format&) = delete;
  virtual ~wire_format() = default;

  /// What stands behind the base URL.
  [[nodiscard]] virtual std::string_view path() const noexcept = 0;
  /// Headers of the dialect's own, beside the key.
  virtual void add_headers(http::request& to, const client_options& options) const = 0;
  /// The body. Bytes that are no UTF-8 become U+FFFD.
  /// Errors: `errc::invalid_argument`, naming the field that does not hold, or that the dialect cannot express.
  [[nodiscard]] virtual expected<std::string, error> encode(const request& asked, const encoding& how) const = 0;
  /// `hidden` is kept out of what failures quote.
  [[nodiscard]] virtual std::unique_ptr<answer_decoder> decoder(const secrets& hidden) const = 0;
};

[[nodiscard]] const wire_format& wire_format_of(dialect which) noexcept;

}  // namespace sluice::llm
