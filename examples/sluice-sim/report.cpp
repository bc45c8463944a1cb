#include "report.hpp"

#include "markup.hpp"
#include "page_style.hpp"
#include "plot.hpp"
#include "print.hpp"
#include "scale.hpp"
#include "text_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice_sim {
namespace {

// 12,345 and not 12345.
std::string grouped(std::string_view text) {
  if (text.size() < 5 || !std::all_of(text.begin(), text.end(), [](char each) { return each >= '0' && each <= '9'; })) {
    return escaped(text);
  }
  std::string spaced;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at != 0 && (text.size() - at) % 3 == 0) spaced += ',';
    spaced += text[at];
  }
  return spaced;
}

// A unit stays with what it is of.
std::string heading(std::string_view text) {
  const auto last = text.rfind(' ');
  if (last == std::string_view::npos || text.size() - last > 3) return escaped(text);
  return escaped(text.substr(0, last)) + "&#160;" + escaped(text.substr(last + 1));
}

// A figure over seeds has its range behind it, which is of less account.
std::string cell(std::string_view text) {
  const auto range = text.find(" (");
  const bool any = range != std::string_view::npos && text.back() == ')' &&
                   std::string_view("-0123456789").find(text[range + 2]) != std::string_view::npos;
  if (!any) return grouped(text);
  return grouped(text.substr(0, range)) + "<span class=\"range\">" + escaped(text.substr(range)) + "</span>";
}

void append_table(std::string& page, const table& what) {
  page += "<div><h3>" + escaped(what.title) + "</h3>\n<div class=\"wide\"><table>\n<thead><tr>";
  for (const auto& each : what.columns) page += "<th>" + heading(each) + "</th>";
  page += "</tr></thead>\n<tbody>\n";
  for (const auto& row : what.rows) {
    page += !row.empty() && row.front().starts_with("sluice") ? "<tr class=\"own\">" : "<tr>";
    for (const auto& each : row) page += "<td>" + cell(each) + "</td>";
    page += "</tr>\n";
  }
  page += "</tbody></table></div></div>\n";
}

std::string with_unit(double value, const std::string& unit) {
  return escaped(unit.empty() ? figure(value) : figure(value) + ' ' + unit);
}

// How far it is to the limit, which is a tick.
std::string drawn(const bar& which) {
  if (!std::isfinite(which.value) || !std::isfinite(which.limit)) return {};
  const double most = which.unit == "%" && std::max(which.value, which.limit) <= 100
                          ? 100
                          : 1.15 * std::max({which.value, which.limit, 1e-9});
  const scale to = scale::even(0, most, 0, 108);
  return "<svg class=\"reach\" viewBox=\"0 0 110 12\" aria-hidden=\"true\"><rect class=\"track\" y=\"4\" width=\"110\" "
         "height=\"4\"/><rect" +
         attribute("class", which.ok ? "ok" : "miss") + " y=\"3\"" + attribute("width", px(to(which.value))) +
         " height=\"6\"/><rect class=\"limit\"" + attribute("x", px(to(which.limit))) +
         " y=\"0\" width=\"2\" height=\"12\"/></svg>";
}

void append_bars(std::string& page, const std::vector<bar>& bars) {
  if (bars.empty()) return;
  page +=
      "<div><h3>To be reached</h3>\n<div class=\"wide\"><table class=\"bars-reached\">\n<thead><tr><th></th>"
      "<th>what</th><th>limit</th><th>reached</th><th></th></tr></thead>\n<tbody>\n";
  for (const auto& each : bars) {
    // How it is compared ends the text.
    const auto last = each.text.rfind(' ');
    const bool compared =
        last != std::string::npos && each.text.find_first_not_of("<>=~", last + 1) == std::string::npos;
    const std::string_view what = std::string_view(each.text).substr(0, compared ? last : each.text.size());
    const std::string how = compared ? escaped(each.text.substr(last + 1)) + "&#160;" : std::string();
    page += each.ok ? "<tr><td class=\"ok\"><b>&#10003; ok</b>" : "<tr><td class=\"miss\"><b>&#10007; MISS</b>";
    page += "</td><td>" + escaped(what) + "</td><td>" + how + with_unit(each.limit, each.unit) + "</td><td>" +
            with_unit(each.value, each.unit) + "</td><td>" + drawn(each) + "</td></tr>\n";
  }
  page += "</tbody></table></div></div>\n";
}

// Those of the same plot, in the order of their first series.
std::vector<std::vector<const series*>> by_plot(const std::vector<series>& all) {
  std::vector<std::vector<const series*>> plots;
  for (const auto& each : all) {
    const auto found =
        std::find_if(plots.begin(), plots.end(), [&each](const auto& plot) { return plot.front()->plot == each.plot; });
    (found == plots.end() ? plots.emplace_back() : *found).push_back(&each);
  }
  return plots;
}

std::string reached(const result& what) {
  const auto well = std::count_if(what.bars.begin(), what.bars.end(), [](const bar& each) { return each.ok; });
  return std::to_string(well) + " of " + std::to_string(what.bars.size()) + " reached";
}

void append_contents(std::string& page, const std::vector<finished>& all) {
  page += "<nav>\n";
  for (const auto& each : all) {
    page += "<a" + attribute("href", "#" + each.name) + ">" + escaped(each.name);
    if (!each.what.bars.empty()) {
      page += all_reached(each.what) ? " <span class=\"ok\">&#10003; " : " <span class=\"miss\">&#10007; ";
      page += reached(each.what) + "</span>";
    }
    page += "</a>\n";
  }
  page += "</nav>\n";
}

void append_experiment(std::string& page, const finished& one) {
  page += "<section" + attribute("id", one.name) + ">\n<h2>" + escaped(one.name) + ": " + escaped(one.description) +
          "</h2>\n";
  for (const auto& note : one.what.notes) page += "<p>" + escaped(note) + "</p>\n";
  page += "<div class=\"tables\">\n";
  append_bars(page, one.what.bars);
  for (const auto& each : one.what.tables) append_table(page, each);
  page += "</div>\n";
  page += "<div class=\"figures\">\n";
  for (const auto& each : by_plot(one.what.plots)) page += plot_of(each);
  page += "</div>\n";
  page += "</section>\n";
}

}  // namespace

std::string report_page(const std::vector<finished>& all) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>sluice-sim</title>\n<style>";
  page += page_style;
  page += "</style>\n</head>\n<body>\n" + hatchings() + "<header>\n<h1>sluice-sim</h1>\n";
  append_contents(page, all);
  page += "</header>\n<main>\n";
  for (const auto& each : all) append_experiment(page, each);
  page += "</main>\n<div id=\"values\"></div>\n<script>";
  page += page_script;
  return page + "</script>\n</body>\n</html>\n";
}

void write_report(const std::filesystem::path& file, const std::vector<finished>& all) {
  write_text(file, report_page(all), "--report");
}

}  // namespace sluice_sim
