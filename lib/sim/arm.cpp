#include <sluice/sim/arm.hpp>

namespace sluice::sim {

void arm::progressed(std::uint32_t, const usage&, instant, actions&) {}
void arm::tick(instant, actions&) {}
arm_levels arm::levels() const { return {}; }

}  // namespace sluice::sim
