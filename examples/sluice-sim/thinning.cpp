#include "thinning.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice_sim {
namespace {

constexpr std::size_t enough_to_speak_of = 5;

std::size_t column_of(double x, double first, double last, std::size_t columns) {
  if (last <= first) return 0;
  const double share = (x - first) / (last - first);
  return std::min(columns - 1, static_cast<std::size_t>(share * static_cast<double>(columns)));
}

}  // namespace

points finite(const points& all) {
  points kept;
  kept.reserve(all.size());
  for (const auto& each : all) {
    if (std::isfinite(each.first) && std::isfinite(each.second)) kept.push_back(each);
  }
  return kept;
}

points thinned(const points& all, std::size_t columns) {
  if (all.size() <= 4 * columns) return all;
  points kept;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t column = column_of(all[begin].first, all.front().first, all.back().first, columns);
    std::size_t least = begin;
    std::size_t most = begin;
    std::size_t end = begin;
    for (; end < all.size() && column_of(all[end].first, all.front().first, all.back().first, columns) == column;
         ++end) {
      if (all[end].second < all[least].second) least = end;
      if (all[end].second > all[most].second) most = end;
    }
    for (const std::size_t each : std::set<std::size_t>{begin, least, most, end - 1}) kept.push_back(all[each]);
    begin = end;
  }
  return kept;
}

std::vector<std::size_t> peaks(const std::vector<double>& x, const std::vector<double>& sums, std::size_t columns) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool same =
        !kept.empty() && x.size() > columns &&
        column_of(x[i], x.front(), x.back(), columns) == column_of(x[kept.back()], x.front(), x.back(), columns);
    if (!same) {
      kept.push_back(i);
    } else if (sums[i] > sums[kept.back()]) {
      kept.back() = i;
    }
  }
  return kept;
}

points apart(const points& all, double cell) {
  std::set<std::pair<long long, long long>> taken;
  points kept;
  for (const auto& each : all) {
    if (taken.emplace(std::llround(each.first / cell), std::llround(each.second / cell)).second) kept.push_back(each);
  }
  return kept;
}

points averaged(const points& all, std::size_t most) {
  const std::size_t together = (all.size() + most - 1) / most;
  if (together <= 1) return all;
  points means;
  for (std::size_t begin = 0; begin < all.size(); begin += together) {
    const std::size_t end = std::min(all.size(), begin + together);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += all[i].second;
    means.emplace_back(all[begin].first, sum / static_cast<double>(end - begin));
  }
  return means;
}

std::vector<points> running_share(const points& all, double share, double window, std::size_t places) {
  std::vector<points> pieces(1);
  if (all.empty()) return {};
  const double first = all.front().first;
  const double step = (all.back().first - first) / static_cast<double>(places);
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<double> values;
  for (std::size_t place = 0; place <= places; ++place) {
    const double x = first + step * static_cast<double>(place);
    while (end < all.size() && all[end].first <= x + window / 2) ++end;
    while (begin < end && all[begin].first < x - window / 2) ++begin;
    if (end - begin < enough_to_speak_of) {
      if (!pieces.back().empty()) pieces.emplace_back();
      continue;
    }
    values.clear();
    for (std::size_t i = begin; i < end; ++i) values.push_back(all[i].second);
    const auto rank = std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())));
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values.begin(), middle, values.end());
    pieces.back().emplace_back(x, *middle);
  }
  if (pieces.back().empty()) pieces.pop_back();
  return pieces;
}

}  // namespace sluice_sim
