/// \file
/// `tenant`: on whose behalf work is done. Tenants of one class share it fairly, whatever each of them asks for.
#pragma once

#include <sluice/core/key.hpp>
#include <sluice/core/rate.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// Names a tenant by a number: one that the caller has, or one made from a name. Cheap to copy and to make; the name is
/// not kept. By default: nobody in particular, and all such work together is one tenant.
class tenant {
 public:
  constexpr tenant() noexcept = default;
  /// Zero is nobody in particular.
  constexpr explicit tenant(std::uint64_t key) noexcept : key_(key) {}
  /// From `key_of(name)`.
  constexpr explicit tenant(std::string_view name) noexcept : key_(key_of(name)) {}
  [[nodiscard]] constexpr std::uint64_t key() const noexcept { return key_; }
  friend constexpr bool operator==(tenant, tenant) noexcept = default;

 private:
  std::uint64_t key_ = 0;
};

/// What a tenant may have. A plain value with a constructor.
class tenant_policy {
 public:
  explicit tenant_policy(std::string tenant_name) : name(std::move(tenant_name)) {}

  /// Unique; 1 to 64 bytes without control characters.
  std::string name;
  /// Its share beside the other tenants of a class: one of weight 2 gets twice the tokens of one of weight 1 while both
  /// have work waiting. 1 to 1,000.
  std::int64_t weight = 1;
  /// What it may send, in all classes together.
  rate_limits rates{};
  friend bool operator==(const tenant_policy&, const tenant_policy&) = default;
};

}  // namespace sluice
