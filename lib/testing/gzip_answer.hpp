/// \file
/// `gzip_answer`: an answer whose body is gzip-encoded.
#pragma once

#include "testing/loopback_server.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice::testing {

/// The encoding is proper gzip (RFC 1952), but of stored blocks: nothing is saved, and nothing but a checksum is
/// needed. Each `flush` ends a block, so that a client can read all that was written.
[[nodiscard]] std::unique_ptr<loopback_answer> make_gzip_answer(std::unique_ptr<loopback_answer> plain);

/// CRC-32 as gzip has it, of what `before` is the sum of and `bytes` behind that.
[[nodiscard]] std::uint32_t gzip_checksum(std::string_view bytes, std::uint32_t before = 0) noexcept;

}  // namespace sluice::testing
