#include "core/key_table.hpp"

#include <utility>

namespace sluice::core {

void key_table::put(std::uint64_t key, std::uint32_t value) noexcept {
  std::size_t place = home(key);
  while (slots_[place].value != none) place = (place + 1) & mask_;
  slots_[place] = {key, value};
}

void key_table::erase(std::uint64_t key) noexcept {
  if (find(key) == none) return;
  std::size_t hole = home(key);
  while (slots_[hole].key != key) hole = (hole + 1) & mask_;
  for (std::size_t place = (hole + 1) & mask_; slots_[place].value != none; place = (place + 1) & mask_) {
    // It may move into the hole unless its home lies behind the hole.
    if (((place - home(slots_[place].key)) & mask_) < ((place - hole) & mask_)) continue;
    slots_[hole] = slots_[place];
    hole = place;
  }
  slots_[hole].value = none;
  --size_;
}

void key_table::grow() {
  const std::size_t wanted = slots_.empty() ? 16 : 2 * slots_.size();
  std::vector<slot> old = std::exchange(slots_, std::vector<slot>(wanted));
  mask_ = wanted - 1;
  shift_ = 64 - std::countr_zero(wanted);
  for (const slot& each : old) {
    if (each.value != none) put(each.key, each.value);
  }
}

}  // namespace sluice::core
