/// \file
/// `provider_model`: how fast a mock provider works, and how much it takes on. The simulator's own model, so that what
/// is tried in virtual time and what is tested over HTTP behave alike.
#pragma once

#include <sluice/sim/provider_model.hpp>

namespace sluice::testing {

using sim::provider_model;

}  // namespace sluice::testing
