#include <sluice/testing/mock_request.hpp>

#include <algorithm>
#include <cctype>

namespace sluice::testing {
namespace {

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::string_view mock_request::header_value(std::string_view name) const noexcept {
  for (const auto& line : headers) {
    if (same_name(line.name(), name)) return line.value();
  }
  return {};
}

}  // namespace sluice::testing
