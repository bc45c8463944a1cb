#include "text_file.hpp"

#include <sluice/core/error.hpp>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

namespace sluice_sim {

void write_text(const std::filesystem::path& file, std::string_view text, std::string_view option) {
  errno = 0;
  std::ofstream to(file, std::ios::binary);
  to << text;
  to.close();
  if (!to) {
    throw sluice::error_exception(sluice::error(
        sluice::errc::invalid_argument,
        std::string(option) + ": " + file.string() + ": " + std::generic_category().message(errno != 0 ? errno : EIO)));
  }
}

}  // namespace sluice_sim
