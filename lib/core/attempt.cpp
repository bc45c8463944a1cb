#include <sluice/core/attempt.hpp>

namespace sluice {

std::string_view to_string(attempt value) noexcept {
  switch (value) {
    case attempt::first: return "first";
    case attempt::retry: return "retry";
    case attempt::hedge: return "hedge";
  }
  return "unknown";
}

}  // namespace sluice
