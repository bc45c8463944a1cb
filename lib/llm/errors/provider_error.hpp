/// \file
/// Failures that the provider tells of, in all the shapes in which servers tell them.
#pragma once

#include <sluice/http/transport.hpp>
#include <sluice/llm/failure.hpp>

#include "llm/errors/secrets.hpp"

#include <string_view>
#include <vector>

namespace sluice::llm {

/// An answer with an error status. `body` may be JSON of any shape, text, HTML or empty; `hidden` is kept out of what
/// is quoted of it. What the provider calls its error counts more than the status: a 429 may be a rate, a spent quota
/// or a server's load.
[[nodiscard]] failure failure_of_status(int status, const std::vector<http::header>& headers, std::string_view body,
                                        const secrets& hidden);

/// An error object where an answer was due: the body of a 200, or an event in mid-stream.
[[nodiscard]] failure failure_of_json(std::string_view json, const secrets& hidden);

/// A 200 whose body is no answer at all, such as a proxy's HTML page.
[[nodiscard]] failure failure_of_foreign_body(std::string_view content_type, std::string_view body,
                                              const secrets& hidden);

/// The provider's name for the exchange; empty when it gives none.
[[nodiscard]] std::string_view request_id_of(const std::vector<http::header>& headers) noexcept;

}  // namespace sluice::llm
