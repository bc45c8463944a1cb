#include "drawing.hpp"

#include "markup.hpp"
#include "thinning.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice_sim {
namespace {

constexpr std::size_t columns = 300;
constexpr std::size_t most_bars = 150;
// Points that are shown as such on their line.
constexpr std::size_t few = 20;
constexpr std::size_t crowded = 1'000;
constexpr double length_of_tick = 7;
// Parts of the axis of x over which a running share is taken, and at how many places.
constexpr double windows = 16;
constexpr std::size_t places = 120;

void open(const canvas& on, const layer& which, std::string_view kind) {
  on.to += "<g" + attribute("class", "series " + std::string(kind) + " c" + std::to_string(which.colour)) +
           attribute("data-name", which.what->name) + ">";
}

void close(const canvas& on) { on.to += "</g>\n"; }

std::string place(const canvas& on, const std::pair<double, double>& point) {
  return px(on.x(point.first)) + ',' + px(on.y(point.second));
}

void polyline(const canvas& on, const points& through, std::string_view kind) {
  on.to += "<polyline" + attribute("class", kind) + " points=\"";
  for (std::size_t i = 0; i < through.size(); ++i) {
    if (i > 0) on.to += ' ';
    on.to += place(on, through[i]);
  }
  on.to += "\"/>";
}

points as_steps(const points& all) {
  points corners;
  for (const auto& each : all) {
    if (!corners.empty() && corners.back().second != each.second) {
      corners.emplace_back(each.first, corners.back().second);
    }
    corners.push_back(each);
  }
  return corners;
}

// Between two rows of heights over the same x.
void area(const canvas& on, const std::vector<double>& x, const std::vector<double>& below,
          const std::vector<double>& above, const std::string& fill) {
  on.to += "<polygon" + fill + " points=\"";
  for (std::size_t i = 0; i < x.size(); ++i) on.to += place(on, {x[i], above[i]}) + ' ';
  for (std::size_t i = x.size(); i-- > 0;) on.to += place(on, {x[i], below[i]}) + (i > 0 ? " " : "");
  on.to += "\"/>";
}

}  // namespace

void draw_line(const canvas& on, const layer& which) {
  open(on, which, "line");
  const points all = finite(which.what->points);
  polyline(on, thinned(all, columns), "value");
  if (all.size() <= few) {
    on.to += "<path class=\"dot\" d=\"";
    for (const auto& each : all) on.to += 'M' + px(on.x(each.first)) + ' ' + px(on.y(each.second)) + "h0";
    on.to += "\"/>";
  }
  close(on);
}

void draw_limit(const canvas& on, const layer& which) {
  open(on, which, "limit");
  polyline(on, as_steps(thinned(finite(which.what->points), columns)), "value");
  close(on);
}

void draw_dots(const canvas& on, const layer& which) {
  const points all = finite(which.what->points);
  points there;
  for (const auto& each : all) there.emplace_back(on.x(each.first), on.y(each.second));
  open(on, which, "dots");
  points seen = apart(there, 1.5);
  const bool crowd = seen.size() > crowded;
  if (crowd) {
    seen = apart(there, 2);
    for (auto& each : seen) each = {std::round(each.first), std::round(each.second)};
  }
  on.to += crowd ? "<path class=\"dot crowd\" d=\"" : "<path class=\"dot\" d=\"";
  for (const auto& each : seen) on.to += 'M' + px(each.first) + ' ' + px(each.second) + "h0";
  on.to += "\"/>";
  const double window = (on.x.most() - on.x.least()) / windows;
  for (const auto& [share, kind] : {std::pair{0.95, "most"}, std::pair{0.5, "half"}}) {
    for (const points& piece : running_share(all, share, window, places)) {
      polyline(on, piece, "halo");
      polyline(on, piece, kind);
    }
  }
  close(on);
}

void draw_ticks(const canvas& on, const layer& which, std::size_t row) {
  points there;
  for (const auto& each : which.what->points) {
    if (std::isfinite(each.first)) there.emplace_back(on.x(each.first), 0);
  }
  const double top = on.y.place_of_most() + 1 + static_cast<double>(row) * (length_of_tick + 2);
  open(on, which, "ticks");
  on.to += "<path d=\"";
  for (const auto& each : apart(there, 0.5)) on.to += 'M' + px(each.first) + ' ' + px(top) + 'v' + px(length_of_tick);
  on.to += "\"/>";
  close(on);
}

void draw_areas(const canvas& on, const std::vector<layer>& stacked) {
  if (stacked.empty()) return;
  std::size_t rows = stacked.front().what->points.size();
  for (const layer& each : stacked) rows = std::min(rows, each.what->points.size());
  std::vector<double> x(rows);
  std::vector<double> sums(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    x[i] = stacked.front().what->points[i].first;
    for (const layer& each : stacked) sums[i] += each.what->points[i].second;
  }
  const auto kept = peaks(x, sums, columns);
  std::vector<double> at;
  for (const std::size_t i : kept) at.push_back(x[i]);
  std::vector<double> below(kept.size());
  for (const layer& each : stacked) {
    std::vector<double> above = below;
    for (std::size_t i = 0; i < kept.size(); ++i) above[i] += each.what->points[kept[i]].second;
    const bool plain = each.what->how == mark::area;
    open(on, each, plain ? "area" : "hatched");
    area(on, at, below, above,
         plain ? std::string() : attribute("fill", "url(#hatch" + std::to_string(each.colour) + ")"));
    close(on);
    below = std::move(above);
  }
}

void draw_bars(const canvas& on, const std::vector<layer>& stacked) {
  std::vector<double> up;
  std::vector<double> down;
  for (const layer& each : stacked) {
    const points bars = averaged(finite(each.what->points), most_bars);
    const bool upwards = each.what->how == mark::bars;
    std::vector<double>& height = upwards ? up : down;
    height.resize(std::max(height.size(), bars.size()));
    const double wide = bars.size() > 1 ? on.x(bars[1].first) - on.x(bars[0].first) : 4;
    open(on, each, upwards ? "bars" : "bars below");
    on.to += "<path d=\"";
    for (std::size_t i = 0; i < bars.size(); ++i) {
      if (bars[i].second <= 0) continue;
      const double from = height[i];
      height[i] += bars[i].second;
      const double begin = on.y(upwards ? from : -from);
      const double end = on.y(upwards ? height[i] : -height[i]);
      on.to += 'M' + px(on.x(bars[i].first)) + ' ' + px(begin) + 'h' + px(std::max(0.8, wide * 0.85)) + 'V' + px(end) +
               "H" + px(on.x(bars[i].first)) + 'z';
    }
    on.to += "\"/>";
    close(on);
  }
}

}  // namespace sluice_sim
