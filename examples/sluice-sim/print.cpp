#include "print.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace sluice_sim {
namespace {

void print_table(std::ostream& to, const table& what) {
  std::vector<std::size_t> widths;
  for (const auto& name : what.columns) widths.push_back(name.size());
  for (const auto& row : what.rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
      const std::string pad(widths[i] - cells[i].size(), ' ');
      text += i == 0 ? cells[i] + pad : "  " + pad + cells[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    to << text << '\n';
  };
  to << '\n' << what.title << '\n';
  line(what.columns);
  for (const auto& row : what.rows) line(row);
}

std::string number(double value, const std::string& unit) {
  if (std::isnan(value)) return "none";
  char text[48];
  std::snprintf(text, sizeof text, unit.empty() && value == std::floor(value) ? "%.0f" : "%.2f", value);
  return unit.empty() ? text : std::string(text) + ' ' + unit;
}

}  // namespace

void print(std::ostream& to, const experiment& which, const result& what) {
  to << which.name << ": " << which.description << '\n';
  for (const auto& note : what.notes) to << "note: " << note << '\n';
  for (const auto& each : what.tables) print_table(to, each);
  if (!what.bars.empty()) to << '\n';
  for (const auto& each : what.bars) {
    to << (each.ok ? "ok    " : "MISS  ") << each.text << ' ' << number(each.limit, each.unit) << ": "
       << number(each.value, each.unit) << '\n';
  }
}

bool all_reached(const result& what) {
  return std::all_of(what.bars.begin(), what.bars.end(), [](const bar& each) { return each.ok; });
}

}  // namespace sluice_sim
