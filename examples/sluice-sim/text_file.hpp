/// \file
/// Text as a file that an option has named.
#pragma once

#include <filesystem>
#include <string_view>

namespace sluice_sim {

/// Replaces the file. Throws `sluice::error_exception`, which names the option, when it cannot be written.
void write_text(const std::filesystem::path& file, std::string_view text, std::string_view option);

}  // namespace sluice_sim
