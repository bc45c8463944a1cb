/// \file
/// Headers by name.
#pragma once

#include <sluice/http/transport.hpp>

#include "http/ascii.hpp"

#include <string_view>
#include <vector>

namespace sluice::llm {

/// The first header of that name, compared without regard to case; empty when there is none.
[[nodiscard]] inline std::string_view header_value(const std::vector<http::header>& headers,
                                                   std::string_view name) noexcept {
  for (const http::header& line : headers) {
    if (http::equal_ignoring_case(line.name(), name)) return line.value();
  }
  return {};
}

}  // namespace sluice::llm
