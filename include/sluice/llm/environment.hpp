/// \file
/// `environment`: where settings are read from that a program's user makes.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace sluice::llm {

/// Gives the value of a variable, if it is set; an empty one counts as not set.
using environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The process's own (`getenv`). Not while another thread changes it.
[[nodiscard]] environment process_environment();

}  // namespace sluice::llm
