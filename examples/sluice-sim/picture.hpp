/// \file
/// E1 in one picture that stands alone: what chats and documents live through behind three ways to share a provider.
#pragma once

#include "experiment.hpp"

#include <string>
#include <vector>

namespace sluice_sim {

/// An SVG file with its own background, for light and dark. From the plots of E1; nothing when they lack what it shows.
[[nodiscard]] std::string picture_of(const std::vector<series>& plots);

}  // namespace sluice_sim
