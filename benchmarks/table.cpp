#include "table.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bars {
namespace {

/// Pairs are told apart by the names of their runs: bar, then side.
class table final : public benchmark::BenchmarkReporter {
 public:
  explicit table(std::vector<bar> rows) : rows_(std::move(rows)) {}

  bool ReportContext(const Context&) override {
    std::printf("%-40s %26s %26s %7s %6s\n", "", "ours (min..max)", "reference (min..max)", "ratio", "bar");
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) {
        std::printf("%s: %s\n", run.benchmark_name().c_str(), run.error_message.c_str());
        failed_ = true;
        continue;
      }
      const std::string name = run.run_name.function_name;
      seen_[name].push_back(run.counters.at("value"));
      print_when_whole(name.substr(0, name.rfind('/')));
    }
  }

  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  struct summary {
    double median, least, most;
  };

  static summary sum_up(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {values[values.size() / 2], values.front(), values.back()};
  }

  static std::string text(const summary& of, const char* unit) {
    char line[96];
    const int digits = of.median < 100 ? 1 : 0;
    std::snprintf(line, sizeof line, "%.*f %s (%.*f..%.*f)", digits, of.median, unit, digits, of.least, digits,
                  of.most);
    return line;
  }

  void print_when_whole(const std::string& name) {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const bar& each) { return name == each.name; });
    if (row == rows_.end()) return;
    const auto whole = [&](const char* side) {
      return seen_[name + side].size() == static_cast<std::size_t>(row->repetitions);
    };
    if (!whole("/ours") || (row->reference != nullptr && !whole("/reference"))) return;
    const summary ours = sum_up(seen_[name + "/ours"]);
    if (row->reference == nullptr) {
      std::printf("%-40s %26s %26s %7s %6s  report\n", row->name, text(ours, row->unit).c_str(), "", "", "");
    } else {
      const summary reference = sum_up(seen_[name + "/reference"]);
      const double ratio = ours.median / reference.median;
      const bool held = row->most != report_only;
      const bool good = ratio <= row->most;
      std::printf("%-40s %26s %26s %7.2f %6.2f  %s\n", row->name, text(ours, row->unit).c_str(),
                  text(reference, row->unit).c_str(), ratio, row->most, held ? (good ? "ok" : "MISS") : "report");
      failed_ = failed_ || (held && !good);
    }
    std::fflush(stdout);
  }

  std::vector<bar> rows_;
  std::map<std::string, std::vector<double>> seen_;
  bool failed_ = false;
};

void add_run(const std::string& name, measurement measure) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [measure](benchmark::State& state) {
                                 double value = 0;
                                 for ([[maybe_unused]] auto turn : state) {
                                   value = measure();
                                   state.SetIterationTime(value * 1e-9);
                                 }
                                 state.counters["value"] = value;
                               })
      ->UseManualTime()
      ->Iterations(1);
}

std::vector<bar> all_bars() {
  std::vector<bar> all;
  for (const auto& room : {uncontended_bars(), contended_bars(), waiting_bars(), exchange_bars(), core_bars(),
                           full_core_bars(), event_bars(), stream_bars(), npm_bars(), agent_bars()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

// Runs come in the order in which they are registered: ours, reference, ours, reference, so that a change of the
// machine's mood meets both.
void register_runs(const std::vector<bar>& rows) {
  for (const bar& row : rows) {
    const std::string name = row.name;
    for (int turn = 0; turn < row.repetitions; ++turn) {
      add_run(name + "/ours", row.ours);
      if (row.reference != nullptr) add_run(name + "/reference", row.reference);
    }
  }
}

}  // namespace
}  // namespace bars

int main(int argc, char** argv) {
  // Locks are cheaper in a process that never had a second thread. A gate is for those that have.
  std::thread([] {}).join();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const auto rows = bars::all_bars();
  bars::register_runs(rows);
  bars::table reporter(rows);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.failed() ? 1 : 0;
}
