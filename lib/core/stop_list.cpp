#include "core/stop_list.hpp"

namespace sluice::core {

void stop_list::add(std::size_t c, std::uint32_t index) noexcept {
  grant& added = grants_[index];
  if (added.listed) return;
  std::uint32_t newer = no_grant;
  std::uint32_t older = newest_[c];
  while (older != no_grant && static_cast<std::int32_t>(grants_[older].number - added.number) > 0) {
    newer = older;
    older = grants_[older].older;
  }
  added.newer = newer;
  added.older = older;
  added.listed = true;
  if (older != no_grant) grants_[older].newer = index;
  if (newer != no_grant) {
    grants_[newer].older = index;
  } else {
    newest_[c] = index;
  }
  ++size_;
}

void stop_list::remove(std::size_t c, std::uint32_t index) noexcept {
  grant& gone = grants_[index];
  if (!gone.listed) return;
  gone.listed = false;
  if (gone.older != no_grant) grants_[gone.older].newer = gone.newer;
  if (gone.newer != no_grant) {
    grants_[gone.newer].older = gone.older;
  } else {
    newest_[c] = gone.older;
  }
  --size_;
}

}  // namespace sluice::core
