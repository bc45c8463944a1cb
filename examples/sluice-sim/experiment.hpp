/// \file
/// What every experiment of sluice-sim has in common. To add one: a source of its own that defines a function returning
/// an `experiment`, and a line in experiment.cpp.
#pragma once

#include <sluice/core/policy.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice_sim {

/// What the user asked for.
struct settings {
  std::vector<std::uint64_t> seeds{1, 2, 3, 4, 5};
  /// Where the trace files are; those that are missing are replaced by generated ones.
  std::filesystem::path traces;
  /// The policy of the arm `sluice`.
  sluice::policy policy{sluice::capacity{32, 64'000}};
  /// Told of long work: what is being done, and how much of it is done.
  std::function<void(std::string_view what, double share)> progress = [](std::string_view, double) {};
};

/// A table of the result: a title, the names of its columns, and rows of as many cells.
struct table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Something that is to be reached.
struct bar {
  std::string text;
  double value = 0;
  double limit = 0;
  bool ok = false;
  /// What value and limit are in: "%", "s", or empty.
  std::string unit;
};

/// Whether `value` is at least, or at most, `limit`; one that is not a number reaches nothing.
[[nodiscard]] bar at_least(std::string text, double value, double limit, std::string unit);
[[nodiscard]] bar at_most(std::string text, double value, double limit, std::string unit);
/// Whether `value` is within `distance` of `target`; `limit` is the target.
[[nodiscard]] bar near_to(std::string text, double value, double target, double distance, std::string unit);

/// How a series is drawn.
enum class mark : std::uint8_t {
  /// A line from point to point.
  line,
  /// A dashed line that keeps its value until the next point: a limit.
  limit,
  /// A dot at each point, on a scale of factors; lines show what half and what 95 % of them stay below for a while.
  dots,
  /// A tick at the upper edge for each point, whose y is of no account: what has no value, such as a failure.
  ticks,
  /// An area on top of those before it, which have points at the same x.
  area,
  /// The same, hatched: a part that is to be told from the rest, such as what is borrowed.
  hatched,
  /// Bars at equal distances, on top of those before them.
  bars,
  /// The same, but downwards: what did not go well.
  bars_below,
};

/// A row of points of a plot, in order of x.
struct series {
  /// Series of the same plot are drawn together: "slots held".
  std::string plot;
  /// What it shows there: "interactive", "batch, borrowed". What stands before a comma has one colour.
  std::string name;
  std::string x_unit;
  std::string y_unit;
  std::vector<std::pair<double, double>> points;
  mark how = mark::line;
  /// Panels of a plot stand side by side on the same scales: "sluice", "fail-fast".
  std::string panel{};
};

struct result {
  std::vector<table> tables;
  std::vector<bar> bars;
  /// What a reader has to know: generated traces, for instance.
  std::vector<std::string> notes;
  std::vector<series> plots;
};

/// An experiment by its name. `run` throws `sluice::error_exception` when it cannot be done.
struct experiment {
  std::string name;
  std::string description;
  std::function<result(const settings&)> run;
};

/// All there are, in the order in which they are listed.
[[nodiscard]] const std::vector<experiment>& experiments();

[[nodiscard]] experiment make_e1();
[[nodiscard]] experiment make_e2();
[[nodiscard]] experiment make_e3();
[[nodiscard]] experiment make_e4();
[[nodiscard]] experiment make_e5();
[[nodiscard]] experiment make_e6();
[[nodiscard]] experiment make_e7();
[[nodiscard]] experiment make_speed();

}  // namespace sluice_sim
