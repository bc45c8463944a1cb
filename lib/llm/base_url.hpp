/// \file
/// The server's address, checked, and what is asked below it.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <string>
#include <string_view>

namespace sluice::llm {

/// Errors: `errc::invalid_configuration`, naming `base_url`; never quoting it, since it may hold a secret.
[[nodiscard]] expected<void, error> check_base_url(std::string_view url);

/// The address of `path` below the base; a query of the base stays at the end.
/// Precondition: `check_base_url` holds.
[[nodiscard]] std::string below(std::string_view base_url, std::string_view path);

}  // namespace sluice::llm
