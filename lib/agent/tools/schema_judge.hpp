/// \file
/// The judgement of valijson on arguments, with bounds on its work.
#pragma once

#include "agent/tools/schema_review.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sluice::agent::detail {

enum class schema_verdict : std::uint8_t {
  fits,
  /// It does not.
  unfit,
  /// To tell would take more steps than are allowed.
  too_complex,
};

/// Immutable. Thread safety: all members, from any thread.
class schema_judge {
 public:
  /// For a schema that has been reviewed, with its patterns. Throws what valijson throws for what is no schema, and
  /// an exception for one of which too many schemas, about 200, stand in each other or refer to each other.
  schema_judge(const nlohmann::json& schema, patterns compiled);
  ~schema_judge();

  /// `bytes`: the length of the arguments' text. The time is bounded by it: 100,000 steps, and 2 for each byte, where a
  /// step is one schema that one value is held against, or what takes about as long.
  [[nodiscard]] schema_verdict judge(const nlohmann::json& arguments, std::size_t bytes) const;
  /// What it is that does not fit, with its place, as far as the steps go.
  [[nodiscard]] std::string complaint(const nlohmann::json& arguments, std::size_t bytes) const;

 private:
  class rules;

  std::unique_ptr<const rules> rules_;
};

}  // namespace sluice::agent::detail
