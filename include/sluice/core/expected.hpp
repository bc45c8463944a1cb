/// \file
/// `sluice::expected`: a value, or why there is none. `std::expected` where the standard library has it,
/// else `tl::expected`, which has the same interface.
#pragma once

#include <version>

#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202202L
#include <expected>
#else
#include <tl/expected.hpp>
#endif

namespace sluice {

#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202202L
using std::expected;
using std::unexpected;
#else
using tl::expected;
using tl::unexpected;
#endif

}  // namespace sluice
