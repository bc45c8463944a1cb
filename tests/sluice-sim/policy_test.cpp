// The policy of all experiments stands in one file, and is the library's default.
#include <sluice/config/policy_file.hpp>
#include <sluice/core/policy.hpp>

#include <doctest/doctest.h>

TEST_CASE("the experiments' policy file says the library's default policy for their pool") {
  const auto read = sluice::read_policy_file(SLUICE_SIM_POLICY);
  REQUIRE_MESSAGE(read, (read ? "" : read.error().message()));
  CHECK(*read == sluice::policy({32, 64'000}));
}
