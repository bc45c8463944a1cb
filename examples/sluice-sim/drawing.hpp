/// \file
/// One kind of plot each: what goes between the axes, as SVG.
#pragma once

#include "experiment.hpp"
#include "scale.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sluice_sim {

/// A series, and the number of its colour.
struct layer {
  const series* what = nullptr;
  std::size_t colour = 0;
};

/// Appends to `to`, each series as `<g class="series ..." data-name="...">`. Both scales are in units of the drawing.
struct canvas {
  std::string& to;
  scale x;
  scale y;
};

void draw_line(const canvas& on, const layer& which);
void draw_limit(const canvas& on, const layer& which);
/// The dots, and what half and 95 % of them stay below for a while.
void draw_dots(const canvas& on, const layer& which);
/// `row` counts the series of ticks from the upper edge.
void draw_ticks(const canvas& on, const layer& which, std::size_t row);
/// One on the other, in their order.
void draw_areas(const canvas& on, const std::vector<layer>& stacked);
/// One on the other from zero, upwards and downwards.
void draw_bars(const canvas& on, const std::vector<layer>& stacked);

}  // namespace sluice_sim
