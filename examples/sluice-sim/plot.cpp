#include "plot.hpp"

#include "drawing.hpp"
#include "markup.hpp"
#include "scale.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace sluice_sim {
namespace {

constexpr double width = 360;
constexpr double height = 200;
constexpr double left = 42;
constexpr double right = 352;
constexpr double top = 20;
constexpr double bottom = 180;

bool is_bar(mark how) { return how == mark::bars || how == mark::bars_below; }
bool is_area(mark how) { return how == mark::area || how == mark::hatched; }

// Classes and arms have colours of their own; bars have those of what went well and of what did not.
class colouring {
 public:
  std::size_t of(const series& what) {
    auto& known = what.how == mark::bars ? well_ : what.how == mark::bars_below ? badly_ : classes_;
    const auto comma = what.name.find(',');
    return known.emplace(is_bar(what.how) ? what.name : what.name.substr(0, comma), known.size()).first->second %
           colours;
  }

 private:
  std::map<std::string, std::size_t> classes_;
  std::map<std::string, std::size_t> well_;
  std::map<std::string, std::size_t> badly_;
};

struct panel {
  std::string name;
  std::vector<layer> layers;
};

struct range {
  double least = 0;
  double most = 0;
  void take(double value) {
    if (!std::isfinite(value)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

// Heights of what is stacked add up where x is the same.
void take_stacked(range& heights, const panel& of, bool (*belongs)(mark)) {
  std::vector<double> up;
  std::vector<double> down;
  for (const layer& each : of.layers) {
    if (!belongs(each.what->how)) continue;
    auto& sums = each.what->how == mark::bars_below ? down : up;
    sums.resize(std::max(sums.size(), each.what->points.size()));
    for (std::size_t i = 0; i < each.what->points.size(); ++i) sums[i] += each.what->points[i].second;
  }
  for (const double each : up) heights.take(each);
  for (const double each : down) heights.take(-each);
}

scale scale_of_y(const std::vector<panel>& panels) {
  range heights;
  double least_dot = HUGE_VAL;
  double most_dot = 0;
  for (const panel& each : panels) {
    take_stacked(heights, each, is_area);
    take_stacked(heights, each, is_bar);
    for (const layer& one : each.layers) {
      for (const auto& [x, y] : one.what->points) {
        if (one.what->how == mark::line || one.what->how == mark::limit) heights.take(y);
        if (one.what->how != mark::dots || !std::isfinite(y)) continue;
        if (y > 0) least_dot = std::min(least_dot, y);
        most_dot = std::max(most_dot, y);
      }
    }
  }
  if (most_dot > 0) return scale::factors(least_dot, std::max(most_dot, heights.most), bottom, top);
  return scale::even_to_labels(heights.least, heights.most, bottom, top);
}

scale scale_of_x(const std::vector<panel>& panels) {
  range all;
  for (const panel& each : panels) {
    for (const layer& one : each.layers) {
      for (const auto& [x, y] : one.what->points) all.take(x);
    }
  }
  return scale::even(all.least, all.most, left, right);
}

void append_text(std::string& to, double x, double y, std::string_view kind, std::string_view text) {
  to += "<text" + attribute("x", px(x)) + attribute("y", px(y)) + attribute("class", kind) + '>' + escaped(text) +
        "</text>\n";
}

void append_axes(const canvas& on, const series& like) {
  // Below zero are counts as well.
  const bool mirrored = is_bar(like.how);
  on.to += "<path class=\"grid\" d=\"";
  for (const double each : on.y.labels()) on.to += 'M' + px(left) + ' ' + px(on.y(each)) + 'H' + px(right);
  on.to += "\"/>\n";
  for (const double each : on.y.labels()) {
    append_text(on.to, left - 5, on.y(each) + 3.5, "to-the-left", short_figure(mirrored ? std::abs(each) : each));
  }
  append_text(on.to, 2, 10, "unit", like.y_unit);
  for (const double each : on.x.labels()) {
    const bool last = each == on.x.labels().back();
    const std::string text = last ? short_figure(each) + ' ' + like.x_unit : short_figure(each);
    const bool at_the_edge = on.x(each) > right - 12;
    append_text(on.to, at_the_edge ? right + 6 : on.x(each), bottom + 14, at_the_edge ? "to-the-left" : "below", text);
  }
}

// Numbers for whoever hovers: the ends of both scales, as values and as places.
std::string scales(const canvas& on) {
  std::string all;
  for (const scale& each : {on.x, on.y}) {
    for (const double value : {each.least(), each.most()}) all += figure(value) + ' ';
    for (const double value : {each.place_of_least(), each.place_of_most()}) all += px(value) + ' ';
  }
  return all + (on.y.by_factors() ? "factors" : "even");
}

void append_panel(std::string& to, const panel& which, const scale& x, const scale& y) {
  const series& like = *which.layers.front().what;
  const canvas on{to, x, y};
  to += "<figure>";
  if (!which.name.empty()) to += "<figcaption>" + escaped(which.name) + "</figcaption>";
  to += "\n<svg class=\"plot\"" + attribute("viewBox", "0 0 " + px(width) + ' ' + px(height)) + " role=\"img\"" +
        attribute("aria-label", which.name.empty() ? like.plot : like.plot + ": " + which.name) +
        attribute("data-scales", scales(on)) + attribute("data-units", like.x_unit + '|' + like.y_unit) + ">\n";
  append_axes(on, like);
  std::vector<layer> areas;
  std::vector<layer> bars;
  for (const layer& each : which.layers) {
    if (is_area(each.what->how)) areas.push_back(each);
    if (is_bar(each.what->how)) bars.push_back(each);
  }
  draw_areas(on, areas);
  draw_bars(on, bars);
  std::size_t row = 0;
  for (const layer& each : which.layers) {
    if (each.what->points.empty()) continue;
    switch (each.what->how) {
      case mark::line: draw_line(on, each); break;
      case mark::limit: draw_limit(on, each); break;
      case mark::dots: draw_dots(on, each); break;
      case mark::ticks: draw_ticks(on, each, row++); break;
      case mark::area:
      case mark::hatched:
      case mark::bars:
      case mark::bars_below: break;
    }
  }
  to += "<path class=\"axis\" d=\"M" + px(left) + ' ' + px(top) + 'V' + px(bottom) + 'H' + px(right) + "\"/>\n";
  if (y.least() < 0) to += "<path class=\"axis\" d=\"M" + px(left) + ' ' + px(y(0)) + 'H' + px(right) + "\"/>\n";
  to += "</svg></figure>\n";
}

std::string sample_of(const layer& which) {
  const std::string colour = " c" + std::to_string(which.colour);
  std::string drawn = "<svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\">";
  switch (which.what->how) {
    case mark::line: drawn += "<g class=\"line" + colour + "\"><polyline points=\"1,6 21,6\"/></g>"; break;
    case mark::limit: drawn += "<g class=\"limit" + colour + "\"><polyline points=\"1,6 21,6\"/></g>"; break;
    case mark::dots:
      drawn += "<g class=\"dots" + colour + "\"><path class=\"dot\" d=\"M4 8h0M11 4h0M18 7h0\"/></g>";
      break;
    case mark::ticks: drawn += "<g class=\"ticks" + colour + "\"><path d=\"M6 2v8M11 2v8M16 2v8\"/></g>"; break;
    case mark::area: drawn += "<g class=\"area" + colour + "\"><polygon points=\"1,1 21,1 21,11 1,11\"/></g>"; break;
    case mark::hatched:
      drawn += "<g class=\"hatched" + colour + "\"><polygon fill=\"url(#hatch" + std::to_string(which.colour) +
               ")\" points=\"1,1 21,1 21,11 1,11\"/></g>";
      break;
    case mark::bars: drawn += "<g class=\"bars" + colour + "\"><path d=\"M5 1h12v10h-12z\"/></g>"; break;
    case mark::bars_below: drawn += "<g class=\"bars below" + colour + "\"><path d=\"M5 1h12v10h-12z\"/></g>"; break;
  }
  return drawn + "</svg>";
}

void append_legend(std::string& to, const std::vector<panel>& panels) {
  std::vector<layer> named;
  for (const panel& each : panels) {
    for (const layer& one : each.layers) {
      const bool known = std::any_of(named.begin(), named.end(), [&one](const layer& other) {
        return one.what->name == other.what->name && one.what->how == other.what->how;
      });
      if (!known && !one.what->points.empty()) named.push_back(one);
    }
  }
  // Panels differ in the kinds of decisions that they have.
  std::stable_sort(named.begin(), named.end(), [](const layer& one, const layer& other) {
    return one.what->how != mark::bars_below && other.what->how == mark::bars_below;
  });
  bool dotted = false;
  to += "<ul class=\"legend\">";
  for (const layer& each : named) {
    dotted = dotted || each.what->how == mark::dots;
    to += "<li>" + sample_of(each) + escaped(each.what->name) + "</li>";
  }
  if (dotted) {
    to +=
        "<li><svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\"><g class=\"dots\"><polyline class=\"half\" "
        "points=\"1,6 21,6\"/></g></svg>half stay below (running)</li><li><svg class=\"key\" viewBox=\"0 0 22 12\" "
        "aria-hidden=\"true\"><g class=\"dots\"><polyline class=\"most\" points=\"1,6 21,6\"/></g></svg>95 % stay"
        " below (running)</li>";
  }
  to += "</ul>\n";
}

}  // namespace

std::string plot_of(const std::vector<const series*>& together) {
  std::vector<panel> panels;
  colouring colour;
  bool any = false;
  for (const series* each : together) {
    auto found =
        std::find_if(panels.begin(), panels.end(), [each](const panel& one) { return one.name == each->panel; });
    if (found == panels.end()) found = panels.insert(found, panel{each->panel, {}});
    found->layers.push_back({each, colour.of(*each)});
    any = any || !each->points.empty();
  }
  if (!any) return {};
  std::string text = "<section" + attribute("class", panels.size() == 1 ? "plots single" : "plots") + ">\n<h3>" +
                     escaped(together.front()->plot) + "</h3>\n";
  append_legend(text, panels);
  const bool threes = panels.size() % 3 == 0;
  text += "<div" + attribute("class", panels.size() < 3 ? "panels few" : threes ? "panels threes" : "panels") + ">\n";
  const scale x = scale_of_x(panels);
  const scale y = scale_of_y(panels);
  for (const panel& each : panels) append_panel(text, each, x, y);
  return text + "</div>\n</section>\n";
}

std::string hatchings() {
  std::string text = "<svg width=\"0\" height=\"0\" class=\"hidden\" aria-hidden=\"true\"><defs>\n";
  for (std::size_t i = 0; i < colours; ++i) {
    text +=
        "<pattern id=\"hatch" + std::to_string(i) + "\" class=\"c" + std::to_string(i) +
        "\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
        "<rect class=\"pale\" width=\"5\" height=\"5\"/><rect class=\"full\" width=\"2\" height=\"5\"/></pattern>\n";
  }
  return text + "</defs></svg>\n";
}

}  // namespace sluice_sim
