#include "experiment.hpp"
#include "options.hpp"
#include "print.hpp"

#include <sluice/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

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
  bool reached = true;
  bool first = true;
  for (const auto& each : experiments()) {
    if (!asked_for(read, each)) continue;
    const auto what = each.run(read.asked);
    if (!first) std::cout << '\n';
    first = false;
    print(std::cout, each, what);
    std::cout.flush();
    reached = reached && all_reached(what);
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
  } catch (const std::exception& failed) {
    std::cerr << "sluice-sim: " << failed.what() << '\n';
    return 2;
  }
}
