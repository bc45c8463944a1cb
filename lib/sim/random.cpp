#include <sluice/sim/random.hpp>

#include <cmath>

namespace sluice::sim {

random::result_type random::operator()() noexcept {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

std::int64_t random::between(std::int64_t least, std::int64_t greatest) noexcept {
  const std::uint64_t span = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
  std::uint64_t drawn = (*this)();
  if (span != max()) drawn %= span + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + drawn);
}

double random::uniform() noexcept {
  // The 53 bits that a double holds exactly.
  return static_cast<double>((*this)() >> 11) * 0x1p-53;
}

duration random::exponential(duration mean) noexcept {
  return duration(static_cast<duration::rep>(-std::log1p(-uniform()) * static_cast<double>(mean.count())));
}

}  // namespace sluice::sim
