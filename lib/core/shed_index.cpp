#include "core/shed_index.hpp"

namespace sluice::core {

void shed_index::insert(links& all, std::uint32_t index, std::size_t bucket, std::uint32_t younger,
                        std::uint32_t older) {
  if (front_.size() <= bucket) front_.resize(bucket + 1, none);
  all[index] = {younger, older};
  if (older != none) all[older].younger = index;
  if (younger != none) {
    all[younger].older = index;
  } else {
    front_[bucket] = index;
  }
  used_ |= std::uint64_t{1} << bucket;
}

void shed_index::remove(links& all, std::uint32_t index, std::int64_t tokens) noexcept {
  const std::size_t bucket = bucket_of(tokens);
  const link gone = all[index];
  if (gone.older != none) all[gone.older].younger = gone.younger;
  if (gone.younger != none) {
    all[gone.younger].older = gone.older;
  } else {
    front_[bucket] = gone.older;
    if (gone.older == none) used_ &= ~(std::uint64_t{1} << bucket);
  }
}

std::uint32_t shed_index::worst() const noexcept {
  if (used_ == 0) return none;
  return front_[static_cast<std::size_t>(std::bit_width(used_)) - 1];
}

}  // namespace sluice::core
