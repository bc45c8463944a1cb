#include "http/ascii.hpp"

#include <sluice/http/transport.hpp>

namespace sluice::http {

std::string_view response::header_value(std::string_view name) const noexcept {
  for (const header& line : headers()) {
    if (equal_ignoring_case(line.name(), name)) return line.value();
  }
  return {};
}

asio::awaitable<expected<std::string, error>> read_all(response& from) {
  std::string whole;
  for (;;) {
    auto part = co_await from.read();
    if (!part) co_return unexpected(std::move(part).error());
    if (part->empty()) co_return whole;
    if (whole.empty()) {
      whole = *std::move(part);
    } else {
      whole += *part;
    }
  }
}

}  // namespace sluice::http
