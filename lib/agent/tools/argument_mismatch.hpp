/// \file
/// What is wrong with arguments by their schema, in words for a model.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace sluice::agent::detail {

/// `arguments` are known not to be of the reviewed `schema`: one or two sentences that name the place and what is
/// wrong. Nothing when no simple keyword is to blame (`not`, `if`, alternatives): then only whoever judged it knows.
[[nodiscard]] std::optional<std::string> describe_mismatch(const nlohmann::json& schema,
                                                           const nlohmann::json& arguments);

}  // namespace sluice::agent::detail
