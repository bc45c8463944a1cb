/// \file
/// `model`: which model an exchange goes to, for what is learned about its speed and what it costs.
#pragma once

#include <sluice/core/key.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// Names a model by a number. By default: not said.
class model {
 public:
  constexpr model() noexcept = default;
  /// Zero: not said.
  constexpr explicit model(std::uint64_t key) noexcept : key_(key) {}
  /// From `key_of(name)`.
  constexpr explicit model(std::string_view name) noexcept : key_(key_of(name)) {}
  [[nodiscard]] constexpr std::uint64_t key() const noexcept { return key_; }
  friend constexpr bool operator==(model, model) noexcept = default;

 private:
  std::uint64_t key_ = 0;
};

/// What a model costs, in the caller's unit of money. None is built in: prices change, and are not the library's
/// business.
class model_price {
 public:
  explicit model_price(std::string model_name) : name(std::move(model_name)) {}

  /// As in `model(name)`.
  std::string name;
  /// For a million tokens. Not negative.
  std::int64_t input_per_million = 0;
  std::int64_t output_per_million = 0;
  friend bool operator==(const model_price&, const model_price&) = default;
};

}  // namespace sluice
