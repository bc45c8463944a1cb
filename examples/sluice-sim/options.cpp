#include "options.hpp"

#include "traces.hpp"

#include <sluice/config/policy_file.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

namespace sluice_sim {
namespace {

// `1,2,5` and `1-5`, also mixed.
std::optional<std::vector<std::uint64_t>> seeds_of(const std::string& text) {
  std::vector<std::uint64_t> seeds;
  std::istringstream parts(text);
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || wrong != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  for (std::string part; std::getline(parts, part, ',');) {
    const auto dash = part.find('-');
    const auto first = number(std::string_view(part).substr(0, dash));
    const auto last = dash == std::string::npos ? first : number(std::string_view(part).substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= 1'000) return std::nullopt;
    for (std::uint64_t offset = 0; offset <= *last - *first; ++offset) seeds.push_back(*first + offset);
  }
  if (seeds.empty()) return std::nullopt;
  return seeds;
}

}  // namespace

sluice::expected<options, no_options> read_options(int argc, const char* const* argv) {
  options read;
  read.asked.traces = default_traces();
  std::string seeds = "1-5";
  std::string policy_file;
  CLI::App app("Runs sluice's own admission control under virtual time, and says whether it keeps what it promises.");
  std::vector<std::string> names;
  std::string listed = "Experiments:";
  for (const auto& each : experiments()) {
    names.push_back(each.name);
    listed += "\n  " + each.name + std::string(each.name.size() < 7 ? 7 - each.name.size() : 1, ' ') + each.description;
  }
  app.footer(listed);
  app.add_option("experiment", read.names, "Which to run; all when none is named")
      ->transform(CLI::IsMember(names, CLI::ignore_case));
  app.add_option("--seeds", seeds, "Seeds, such as 1-5 or 1,7,11 (by default 1-5)");
  app.add_option("--traces", read.asked.traces, "Directory with replay/seed-N.csv and azure/{conv,code}.csv")
      ->check(CLI::ExistingDirectory);
  app.add_option("--policy", policy_file, "Policy of the arm sluice, as JSON")->check(CLI::ExistingFile);
  app.add_option("--report", read.report, "Write an HTML report to this file");
  app.add_option("--plot", read.picture, "Write E1 as one picture to this SVG file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failed) {
    std::ostringstream out;
    const int code = app.exit(failed, out, out);
    return sluice::unexpected<no_options>(no_options{out.str(), code});
  }
  const auto wrong = [](const std::string& why) {
    return sluice::unexpected<no_options>(no_options{"sluice-sim: " + why + '\n', 2});
  };
  const auto is_e1 = [](const std::string& name) { return name == "E1"; };
  if (!read.picture.empty() && !read.names.empty() && std::none_of(read.names.begin(), read.names.end(), is_e1)) {
    return wrong("--plot: the picture is of E1, which is not among the experiments");
  }
  const auto listed_seeds = seeds_of(seeds);
  if (!listed_seeds) return wrong("--seeds: '" + seeds + "' is not a list of numbers such as 1-5 or 1,7,11");
  read.asked.seeds = *listed_seeds;
  if (!policy_file.empty()) {
    auto policy = sluice::read_policy_file(policy_file);
    if (!policy) return wrong(policy.error().message());
    read.asked.policy = std::move(*policy);
  }
  return read;
}

}  // namespace sluice_sim
