/// \file
/// `secrets`: what must be seen in no error, line of a log or record.
#pragma once

#include "llm/errors/secret.hpp"

#include <sluice/llm/client_options.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::llm {

/// The key, and whatever else of a client's settings is a credential, by the rule that `client_options::headers` tells.
/// Immutable; a copy costs a count.
class secrets {
 public:
  secrets() = default;
  /// One; none when it is empty.
  template <std::convertible_to<std::string_view> Text>
  secrets(const Text& only) {  // NOLINT(google-explicit-constructor)
    if (std::string_view(only).empty()) return;
    all_ = std::make_shared<const std::vector<std::string>>(1, std::string(std::string_view(only)));
  }
  explicit secrets(const client_options& of);

  [[nodiscard]] bool empty() const noexcept { return all_ == nullptr; }
  [[nodiscard]] std::size_t longest() const noexcept;

  /// The first place where one of them stands; as `find_secret`. `whole`: what may be the beginning of one at the end
  /// of the text does not count.
  [[nodiscard]] secret_place find(std::string_view text, bool whole) const noexcept;

 private:
  std::shared_ptr<const std::vector<std::string>> all_;
};

}  // namespace sluice::llm
