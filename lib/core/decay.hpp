/// \file
/// `decay`: how much of something is left after some half-lives.
#pragma once

namespace sluice::core {

/// `2^-half_lives`, to the last few bits, by + and * alone, so that it is the same on every machine. Zero beyond 1,000;
/// one for what is not positive.
[[nodiscard]] double decay(double half_lives) noexcept;

}  // namespace sluice::core
