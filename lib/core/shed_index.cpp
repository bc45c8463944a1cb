#include "core/shed_index.hpp"

namespace sluice::core {

void shed_index::insert(links& all, std::uint32_t index, std::size_t bucket, std::uint32_t younger,
                        std::uint32_t older) {
  if (ends_.size() <= bucket) ends_.resize(bucket + 1);
  all[index] = {younger, older};
  (older != none ? all[older].younger : ends_[bucket].oldest) = index;
  (younger != none ? all[younger].older : ends_[bucket].youngest) = index;
  used_ |= std::uint64_t{1} << bucket;
}

void shed_index::remove(links& all, std::uint32_t index, std::int64_t tokens) noexcept {
  const std::size_t bucket = bucket_of(tokens);
  const link gone = all[index];
  (gone.older != none ? all[gone.older].younger : ends_[bucket].oldest) = gone.younger;
  (gone.younger != none ? all[gone.younger].older : ends_[bucket].youngest) = gone.older;
  if (ends_[bucket].youngest == none) used_ &= ~(std::uint64_t{1} << bucket);
}

std::uint32_t shed_index::worst() const noexcept {
  if (used_ == 0) return none;
  return ends_[static_cast<std::size_t>(std::bit_width(used_)) - 1].youngest;
}

std::uint32_t shed_index::fitting(const links& all, std::int64_t tokens, std::uint32_t except) const noexcept {
  if (tokens < 0) return none;
  // Bucket b holds 2^(b-1) to 2^b - 1 tokens, and all of it fits when 2^b - 1 does.
  const auto fits = static_cast<std::uint64_t>(tokens) + 1;
  const auto buckets = static_cast<std::size_t>(std::bit_width(fits));
  std::uint64_t among = used_ & ((buckets >= 64 ? 0 : std::uint64_t{1} << buckets) - 1);
  while (among != 0) {
    const std::size_t bucket = static_cast<std::size_t>(std::bit_width(among)) - 1;
    const std::uint32_t oldest = ends_[bucket].oldest;
    if (oldest != except) return oldest;
    if (all[oldest].younger != none) return all[oldest].younger;
    among &= ~(std::uint64_t{1} << bucket);
  }
  return none;
}

}  // namespace sluice::core
