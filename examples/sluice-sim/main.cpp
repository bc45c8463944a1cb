#include "experiment.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "print.hpp"
#include "report.hpp"
#include "text_file.hpp"

#include <sluice/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace sluice_sim;

// One line that is written over, on a terminal alone.
void show_progress(std::string_view what, double share) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r\033[K%.*s %3.0f %%", static_cast<int>(what.size()), what.data(), 100 * share);
  if (share >= 1) std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
}

bool asked_for(const options& read, const experiment& which) {
  return read.names.empty() || std::find(read.names.begin(), read.names.end(), which.name) != read.names.end();
}

int run(options read) {
  read.asked.progress = show_progress;
  std::vector<finished> all;
  bool reached = true;
  for (const auto& each : experiments()) {
    if (!asked_for(read, each)) continue;
    if (!all.empty()) std::cout << '\n';
    all.push_back({each.name, each.description, each.run(read.asked)});
    print(std::cout, each, all.back().what);
    std::cout.flush();
    reached = reached && all_reached(all.back().what);
  }
  if (!read.report.empty()) write_report(read.report, all);
  for (const auto& each : all) {
    if (each.name == "E1" && !read.picture.empty()) write_text(read.picture, picture_of(each.what.plots), "--plot");
  }
  return reached ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto read = sluice_sim::read_options(argc, argv);
    if (!read) {
      (read.error().exit_code == 0 ? std::cout : std::cerr) << read.error().text;
      return read.error().exit_code;
    }
    return run(std::move(*read));
  } catch (const sluice::error_exception& failed) {
    std::cerr << "sluice-sim: " << failed.why().message() << '\n';
    return 2;
  } catch (const std::exception& failed) {
    std::cerr << "sluice-sim: " << failed.what() << '\n';
    return 2;
  }
}
