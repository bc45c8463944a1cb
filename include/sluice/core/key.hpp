/// \file
/// `key_of`: names as numbers, so that what is named by users costs eight bytes in each request.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

/// FNV-1a of `name`, 64 bits, never zero. Two of a million names share a key with a probability of about 3e-8.
[[nodiscard]] constexpr std::uint64_t key_of(std::string_view name) noexcept {
  std::uint64_t key = 0xcbf29ce484222325U;
  for (const char byte : name) key = (key ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return key == 0 ? 1 : key;
}

}  // namespace sluice
