#include "report.hpp"

#include <sluice/core/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <system_error>

namespace sluice_sim {
namespace {

constexpr double width = 720;
constexpr double height = 220;
constexpr double margin = 44;
constexpr std::array colours{"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"};

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char each : text) {
    switch (each) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += each;
    }
  }
  return safe;
}

std::string number(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

void append_table(std::string& page, const table& what) {
  const auto row = [&page](const std::vector<std::string>& cells, std::string_view tag) {
    page += "<tr>";
    for (const auto& cell : cells) {
      page.append("<").append(tag).append(">").append(escaped(cell)).append("</").append(tag).append(">");
    }
    page += "</tr>\n";
  };
  page += "<h3>" + escaped(what.title) + "</h3>\n<table>\n";
  row(what.columns, "th");
  for (const auto& each : what.rows) row(each, "td");
  page += "</table>\n";
}

// The lines of one plot share its axes, which begin at zero.
void append_plot(std::string& page, const std::vector<const series*>& lines) {
  double most_x = 0;
  double most_y = 0;
  for (const series* line : lines) {
    for (const auto& [x, y] : line->points) {
      most_x = std::max(most_x, x);
      most_y = std::max(most_y, y);
    }
  }
  if (most_x <= 0 || most_y <= 0) return;
  const auto left = [most_x](double x) { return margin + x / most_x * (width - 2 * margin); };
  const auto top = [most_y](double y) { return height - margin - y / most_y * (height - 2 * margin); };
  const auto label = [&page](double x, double y, const std::string& text) {
    page.append("<text x=\"").append(number(x)).append("\" y=\"").append(number(y)).append("\">");
    page.append(escaped(text)).append("</text>\n");
  };
  page += "<h3>" + escaped(lines.front()->plot) + "</h3>\n<svg viewBox=\"0 0 " + number(width) + ' ' + number(height) +
          "\" role=\"img\">\n<path class=\"axis\" d=\"M" + number(margin) + ' ' + number(margin) + 'V' +
          number(height - margin) + 'H' + number(width - margin) + "\"/>\n";
  label(margin, margin - 8, number(most_y) + ' ' + lines.front()->y_unit);
  label(width - margin, height - margin + 16, number(most_x) + ' ' + lines.front()->x_unit);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char* colour = colours[i % colours.size()];
    page.append("<polyline stroke=\"").append(colour).append("\" points=\"");
    for (const auto& [x, y] : lines[i]->points) page.append(number(left(x))).append(",").append(number(top(y))).append(" ");
    page.append("\"/>\n<g fill=\"").append(colour).append("\">");
    label(margin + 150 * static_cast<double>(i), height - 6, lines[i]->name);
    page += "</g>\n";
  }
  page += "</svg>\n";
}

void append_experiment(std::string& page, const finished& one) {
  page += "<h2>" + escaped(one.name) + ": " + escaped(one.description) + "</h2>\n";
  for (const auto& note : one.what.notes) page += "<p>" + escaped(note) + "</p>\n";
  table bars{"Bars", {"", "what", "limit", "reached"}, {}};
  for (const auto& each : one.what.bars) {
    bars.rows.push_back({each.ok ? "ok" : "MISS", each.text, number(each.limit) + ' ' + each.unit,
                         number(each.value) + ' ' + each.unit});
  }
  if (!bars.rows.empty()) append_table(page, bars);
  for (const auto& each : one.what.tables) append_table(page, each);
  std::vector<const series*> together;
  for (const auto& each : one.what.plots) {
    if (!together.empty() && together.front()->plot != each.plot) {
      append_plot(page, together);
      together.clear();
    }
    together.push_back(&each);
  }
  if (!together.empty()) append_plot(page, together);
}

}  // namespace

std::string report_page(const std::vector<finished>& all) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>sluice-sim</title>\n<style>\n"
      "body{font:15px/1.4 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em}\n"
      "table{border-collapse:collapse;font-size:13px}td,th{padding:2px 10px;text-align:right}\n"
      "td:first-child,th:first-child{text-align:left}tr:nth-child(even){background:#f3f3f3}\n"
      "svg{width:100%;max-width:900px}polyline{fill:none;stroke-width:1.2}.axis{fill:none;stroke:#888}text{font-size:11px}\n"
      "</style></head><body>\n<h1>sluice-sim</h1>\n";
  for (const auto& each : all) append_experiment(page, each);
  return page + "</body></html>\n";
}

void write_report(const std::filesystem::path& file, const std::vector<finished>& all) {
  errno = 0;
  std::ofstream to(file, std::ios::binary);
  to << report_page(all);
  to.close();
  if (!to) {
    throw sluice::error_exception(sluice::error(
        sluice::errc::invalid_argument,
        "--report: " + file.string() + ": " + std::generic_category().message(errno != 0 ? errno : EIO)));
  }
}

}  // namespace sluice_sim
