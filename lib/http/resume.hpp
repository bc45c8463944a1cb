/// \file
/// `resume`: goes on with a coroutine that waited for its exchange.
#pragma once

#include "http/exchange.hpp"

namespace sluice::http {

/// Resumes `self` through its own executor: at once when `in_place`, and the executor allows it here; else by posting.
/// `in_place` is for handlers of the engine's own, with no lock held.
void resume(resumption self, bool in_place);

}  // namespace sluice::http
