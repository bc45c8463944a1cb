/// \file
/// Less of what is drawn than there is, such that nobody sees the difference; and what most of many points stay below.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace sluice_sim {

using points = std::vector<std::pair<double, double>>;

/// Without the points that are not finite.
[[nodiscard]] points finite(const points& all);

/// Of the points in each of `columns` equal parts of their range of x: the first, the least, the greatest and the last,
/// in their order. Precondition: in order of x.
[[nodiscard]] points thinned(const points& all, std::size_t columns);

/// Which places to draw of several rows of the same x, so that their sum keeps its peaks: one a column.
/// Precondition: in order of x.
[[nodiscard]] std::vector<std::size_t> peaks(const std::vector<double>& x, const std::vector<double>& sums,
                                             std::size_t columns);

/// One of those that fall into the same cell of a grid, in order of x.
[[nodiscard]] points apart(const points& all, double cell);

/// Means of so many neighbours that at most `most` are left.
[[nodiscard]] points averaged(const points& all, std::size_t most);

/// What `share` of the points within `window` around an x stay below, at `places` of x; in pieces, since nothing is
/// said where fewer than five points are. Precondition: in order of x.
[[nodiscard]] std::vector<points> running_share(const points& all, double share, double window, std::size_t places);

}  // namespace sluice_sim
