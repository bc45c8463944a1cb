#include "picture.hpp"

#include "markup.hpp"
#include "scale.hpp"
#include "thinning.hpp"
#include "trial_plots.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace sluice_sim {
namespace {

constexpr double width = 880;
constexpr double height = 484;
constexpr double first_left = 58;
constexpr double panel_width = 252;
constexpr double between = 25;
constexpr double token_top = 96;
constexpr double token_bottom = 262;
constexpr double done_top = 318;
constexpr double done_bottom = 424;
// By then all is done behind each of the arms, on most traces.
constexpr double watched = 180;
constexpr double prompt = 5;
// Seconds around an instant over which the share of 95 % is taken.
constexpr double window = 3;
constexpr std::size_t places = 90;

struct shown_arm {
  const char* name;
  const char* says;
};
constexpr std::array arms{shown_arm{"fail-fast", "refuse what does not fit"},
                          shown_arm{"two-at-most", "queue, at most two documents at once"},
                          shown_arm{"sluice", "the default policy"}};

// Greys and two hues that stand out on white and on black alike; the colours of classes are those of the report.
constexpr const char* style =
    "svg{--page:#fff;--ink:#1c2128;--soft:#5d6673;--grid:#e3e6eb;--chat:#0b6bb3;--batch:#d9820a;--bad:#c2253a}"
    "@media (prefers-color-scheme:dark){svg{--page:#0f1318;--ink:#e3e7ec;--soft:#9aa5b1;--grid:#2a323c;--chat:#5ab4f0;"
    "--batch:#f2a93d;--bad:#ff7d8c}}"
    "text{font:12px system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--soft)}"
    ".title{font-size:16px;font-weight:600;fill:var(--ink)}.arm{font-size:14px;font-weight:600;fill:var(--ink)}"
    ".end{text-anchor:end}.middle{text-anchor:middle}"
    ".page{fill:var(--page);stroke:var(--grid)}.grid{stroke:var(--grid)}.axis{stroke:var(--soft);fill:none}"
    ".dots{stroke:var(--chat);stroke-width:3.4;stroke-linecap:round;stroke-opacity:.35}"
    ".share{fill:none;stroke:var(--chat);stroke-width:2}.halo{fill:none;stroke:var(--page);stroke-width:5;"
    "stroke-opacity:.7}.limit{stroke:var(--ink);stroke-dasharray:4 3;stroke-opacity:.6}"
    ".failed{stroke:var(--bad);stroke-width:1.4}.done{fill:var(--batch);fill-opacity:.75}"
    ".whole{stroke:var(--batch);stroke-dasharray:4 3}.bad{fill:var(--bad)}.chat{fill:var(--chat)}"
    ".batch{fill:var(--batch)}";

const points* find(const std::vector<series>& plots, std::string_view plot, std::string_view panel,
                   std::string_view name) {
  const auto found = std::find_if(plots.begin(), plots.end(), [&](const series& each) {
    return each.plot == plot && each.panel == panel && each.name == name;
  });
  return found == plots.end() ? nullptr : &found->points;
}

// What one arm did with chats and documents.
struct story {
  const points* chats = nullptr;
  const points* chats_failed = nullptr;
  const points* documents = nullptr;
  const points* documents_failed = nullptr;

  [[nodiscard]] bool whole() const { return chats && chats_failed && documents && documents_failed; }
  [[nodiscard]] std::size_t all_documents() const { return documents->size() + documents_failed->size(); }
  [[nodiscard]] double prompt_share() const {
    const auto in_time =
        std::count_if(chats->begin(), chats->end(), [](const auto& each) { return each.second <= prompt; });
    return static_cast<double>(in_time) /
           static_cast<double>(std::max<std::size_t>(1, chats->size() + chats_failed->size()));
  }
};

void text(std::string& to, double x, double y, std::string_view kind, std::string_view what) {
  to += "<text" + attribute("x", px(x)) + attribute("y", px(y)) + (kind.empty() ? "" : attribute("class", kind)) + '>' +
        escaped(what) + "</text>\n";
}

void path(std::string& to, std::string_view kind, const std::string& d) {
  to += "<path" + attribute("class", kind) + attribute("d", d) + "/>\n";
}

std::string through(const points& all, const scale& x, const scale& y) {
  std::string d;
  for (const auto& each : all) d += (d.empty() ? 'M' : 'L') + px(x(each.first)) + ' ' + px(y(each.second));
  return d;
}

void axes(std::string& to, const scale& x, const scale& y, bool named) {
  std::string lines;
  for (const double each : y.labels()) {
    lines += 'M' + px(x.place_of_least()) + ' ' + px(y(each)) + 'H' + px(x.place_of_most());
    if (named) text(to, x.place_of_least() - 6, y(each) + 4, "end", figure(each));
  }
  path(to, "grid", lines);
  path(to, "axis",
       'M' + px(x.place_of_least()) + ' ' + px(y.place_of_most()) + 'V' + px(y.place_of_least()) + 'H' +
           px(x.place_of_most()));
  for (const double each : x.labels()) {
    const bool last = each == x.labels().back();
    text(to, x(each), y.place_of_least() + 16, last ? "end" : "middle", last ? figure(each) + " s" : figure(each));
  }
}

void tokens(std::string& to, const story& of, const scale& x, const scale& y) {
  points there;
  for (const auto& each : *of.chats) there.emplace_back(x(each.first), y(each.second));
  std::string dots;
  for (const auto& each : apart(there, 1.5)) dots += 'M' + px(each.first) + ' ' + px(each.second) + "h0";
  path(to, "dots", dots);
  path(to, "limit", 'M' + px(x.place_of_least()) + ' ' + px(y(prompt)) + 'H' + px(x.place_of_most()));
  for (const points& piece : running_share(*of.chats, 0.95, window, places)) {
    path(to, "halo", through(piece, x, y));
    path(to, "share", through(piece, x, y));
  }
  std::string failed;
  for (const auto& each : *of.chats_failed) failed += 'M' + px(x(each.first)) + ' ' + px(y.place_of_most() + 1) + "v9";
  if (!failed.empty()) path(to, "failed", failed);
}

void documents(std::string& to, const story& of, const scale& x, const scale& y) {
  std::vector<double> ends;
  for (const auto& [arrival, latency] : *of.documents) ends.push_back(arrival + latency);
  std::sort(ends.begin(), ends.end());
  std::string d = 'M' + px(x.place_of_least()) + ' ' + px(y(0));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    d += 'H' + px(x(ends[i])) + 'V' + px(y(static_cast<double>(i + 1)));
  }
  path(to, "done", d + 'H' + px(x.place_of_most()) + 'V' + px(y(0)) + 'z');
  const double all = y(static_cast<double>(of.all_documents()));
  path(to, "whole", 'M' + px(x.place_of_least()) + ' ' + px(all) + 'H' + px(x.place_of_most()));
}

std::string percent(double share) {
  const double tenths = std::floor(share * 1'000) / 10;
  return figure(tenths) + " %";
}

}  // namespace

std::string picture_of(const std::vector<series>& plots) {
  std::array<story, arms.size()> stories;
  double last_arrival = 1;
  double slowest = prompt;
  double fastest = prompt;
  std::size_t most_documents = 1;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const char* arm = arms[i].name;
    stories[i] = {find(plots, first_token_plot, arm, "interactive"),
                  find(plots, first_token_plot, arm, "interactive, failed"), find(plots, latency_plot, arm, "batch"),
                  find(plots, latency_plot, arm, "batch, failed")};
    if (!stories[i].whole()) return {};
    most_documents = std::max(most_documents, stories[i].all_documents());
    for (const auto& [x, y] : *stories[i].chats) {
      last_arrival = std::max(last_arrival, x);
      slowest = std::max(slowest, y);
      fastest = std::min(fastest, y);
    }
  }
  std::string to = "<svg xmlns=\"http://www.w3.org/2000/svg\"" +
                   attribute("viewBox", "0 0 " + px(width) + ' ' + px(height)) + attribute("width", px(width)) +
                   attribute("height", px(height)) + " role=\"img\">\n";
  to += "<title>First token of chats, and documents done, behind three ways to share one provider</title>\n<style>";
  to += style;
  to += "</style>\n<rect class=\"page\" x=\"0.5\" y=\"0.5\"" + attribute("width", px(width - 1)) +
        attribute("height", px(height - 1)) + " rx=\"8\"/>\n";
  text(to, 16, 28, "title", "One provider, 45 s of chats and documents: who is served, and when");
  text(to, 16, 84, "", "s");
  text(to, 16, done_top - 12, "", "done");
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const double left = first_left + static_cast<double>(i) * (panel_width + between);
    const scale x = scale::even(0, last_arrival, left, left + panel_width);
    const scale y = scale::factors(fastest, slowest, token_bottom, token_top);
    text(to, left, 54, "arm", arms[i].name);
    text(to, left, 70, "", arms[i].says);
    axes(to, x, y, i == 0);
    tokens(to, stories[i], x, y);
    if (i == 0) text(to, left - 6, y(prompt) + 4, "end", figure(prompt));
    text(to, left, 88, "chat", percent(stories[i].prompt_share()) + " of chats: first token within 5 s");
    const scale later = scale::even(0, watched, left, left + panel_width);
    const scale count = scale::even_to_labels(0, static_cast<double>(most_documents), done_bottom, done_top);
    axes(to, later, count, i == 0);
    documents(to, stories[i], later, count);
    text(to, left, done_top - 12, "batch",
         std::to_string(stories[i].documents->size()) + " of " + std::to_string(stories[i].all_documents()) +
             " documents done");
  }
  text(to, 16, height - 14, "",
       "Dots: chats of all traces by their arrival; line: 95 % stay below it; red: failed. Below: documents done over "
       "time.");
  return to + "</svg>\n";
}

}  // namespace sluice_sim
