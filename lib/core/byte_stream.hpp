/// \file
/// Numbers as bytes, the small ones as few: `byte_sink` writes what `byte_source` reads. Both have the same members, so
/// that one description of a record serves for both.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::core {

/// Small numbers of either sign as small ones without.
[[nodiscard]] constexpr std::uint64_t folded(std::int64_t value) noexcept {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
}
[[nodiscard]] constexpr std::int64_t unfolded(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1));
}
/// The distance between two numbers, which wraps and comes back instead of overflowing.
[[nodiscard]] constexpr std::int64_t distance(std::int64_t from, std::int64_t to) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from));
}
[[nodiscard]] constexpr std::int64_t at_distance(std::int64_t from, std::int64_t by) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) + static_cast<std::uint64_t>(by));
}

class byte_sink {
 public:
  static constexpr bool reads = false;

  explicit byte_sink(std::string& to) noexcept : to_(to) {}

  void byte(const std::uint8_t& value, const char* = "") { to_.push_back(static_cast<char>(value)); }
  void number(const std::uint64_t& value, const char* = "") {
    std::uint64_t rest = value;
    for (; rest >= 0x80; rest >>= 7U) to_.push_back(static_cast<char>(0x80U | (rest & 0x7fU)));
    to_.push_back(static_cast<char>(rest));
  }
  void word(const std::uint64_t& value, const char* = "") {
    for (unsigned shift = 0; shift < 64; shift += 8) to_.push_back(static_cast<char>(value >> shift & 0xffU));
  }
  void text(const std::string& value, const char* what = "") {
    number(value.size(), what);
    to_ += value;
  }
  [[nodiscard]] static bool failed() noexcept { return false; }

 private:
  std::string& to_;
};

/// After the first failure every number is zero, and `where` and `expected` tell of it.
class byte_source {
 public:
  static constexpr bool reads = true;

  explicit byte_source(std::string_view from) noexcept : from_(from) {}

  void byte(std::uint8_t& value, const char* what) {
    value = 0;
    if (left() < 1) return fail(what);
    value = static_cast<std::uint8_t>(from_[at_++]);
  }
  void number(std::uint64_t& value, const char* what) {
    value = 0;
    const std::size_t begin = at_;
    std::uint64_t sum = 0;
    for (unsigned shift = 0; shift < 64 && !failed(); shift += 7) {
      std::uint8_t part = 0;
      byte(part, what);
      if (failed()) return;
      // One number, one spelling: no bits beyond 64, and no zeros in front.
      if ((shift == 63 && part > 1) || (shift > 0 && part == 0)) break;
      sum |= std::uint64_t{part & 0x7fU} << shift;
      if (part >= 0x80) continue;
      value = sum;
      return;
    }
    at_ = begin;
    fail(what);
  }
  void word(std::uint64_t& value, const char* what) {
    value = 0;
    if (left() < 8) return fail(what);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      value |= std::uint64_t{static_cast<std::uint8_t>(from_[at_++])} << shift;
    }
  }
  void text(std::string& value, const char* what) {
    std::uint64_t size = 0;
    number(size, what);
    value.clear();
    if (failed()) return;
    if (size > left()) return fail(what);
    value.assign(from_.substr(at_, static_cast<std::size_t>(size)));
    at_ += static_cast<std::size_t>(size);
  }

  void fail(const char* what) noexcept {
    if (failed()) return;
    expected_ = what;
    where_ = at_;
    at_ = from_.size();
  }
  [[nodiscard]] bool failed() const noexcept { return expected_ != nullptr; }
  [[nodiscard]] const char* expected() const noexcept { return expected_; }
  [[nodiscard]] std::size_t where() const noexcept { return where_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::size_t left() const noexcept { return from_.size() - at_; }

 private:
  std::string_view from_;
  std::size_t at_ = 0;
  std::size_t where_ = 0;
  const char* expected_ = nullptr;
};

/// So that one changed byte always changes it: FNV-1a.
class byte_digest {
 public:
  void add(std::string_view bytes) noexcept {
    for (const char each : bytes) value_ = (value_ ^ static_cast<std::uint8_t>(each)) * 0x100000001b3U;
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace sluice::core
