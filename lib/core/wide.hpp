/// \file
/// `wide`: an integer in which neither a product of two 64-bit numbers nor a sum of many overflows.
#pragma once

namespace sluice::core {

__extension__ using wide = __int128;

}  // namespace sluice::core
