#include <sluice/sim/log_trace.hpp>

#include <sluice/sim/random.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace sluice::sim {
namespace {

/// As many as the readers of other traces let through.
constexpr std::int64_t most_tokens = 1'000'000'000;

std::int64_t within(std::int64_t tokens) { return std::clamp<std::int64_t>(tokens, 0, most_tokens); }

/// The median of what a class has used; nothing when that is not known of any.
std::optional<usage> usual_use(const recorded_run& run, std::size_t of) {
  std::vector<duration> input;
  std::vector<duration> output;
  for (const recorded_request& each : run.requests) {
    if (each.asked.workload.index() != of || !each.used || each.how != core::ending::released) continue;
    input.emplace_back(each.used->input_tokens);
    output.emplace_back(each.used->output_tokens);
  }
  if (input.empty()) return std::nullopt;
  return usage{median_of(std::move(input), {}).count(), median_of(std::move(output), {}).count()};
}

}  // namespace

expected<log_trace, error> from_log(std::string_view log, std::uint64_t seed) {
  const auto run = recorded_run::read(log);
  if (!run) return unexpected<error>(run.error());
  if (run->requests.empty())
    return unexpected<error>(error(errc::invalid_argument, "event log: there are no requests in it"));
  std::array<std::optional<usage>, max_workloads> usual;
  for (std::size_t c = 0; c < usual.size(); ++c) usual[c] = usual_use(*run, c);

  random draw(seed);
  log_trace made;
  made.requests.reserve(run->requests.size());
  const instant begin = run->requests.front().arrived;
  for (const recorded_request& each : run->requests) {
    trace_request& added = made.requests.emplace_back();
    added.arrival = instant{} + (each.arrived - begin);
    added.workload = each.asked.workload;
    added.tenant = each.asked.tenant;
    const std::int64_t output = within(each.asked.cost.output_tokens);
    const std::int64_t input = std::max<std::int64_t>(within(each.asked.cost.tokens) - output, 0);
    added.input_chars = 4 * input;
    added.max_tokens = output;
    usage used{input, output};
    if (each.used && each.how == core::ending::released) {
      used = *each.used;
    } else {
      ++made.estimated;
      const std::size_t c = each.asked.workload.index();
      if (c < usual.size() && usual[c]) used = *usual[c];
    }
    for (attempt_draw& one : added.attempts) {
      one.jitter = 0.5 + draw.uniform();
      one.replica = static_cast<std::uint32_t>(draw() >> 32U);
      one.input_tokens = within(used.input_tokens);
      one.output_tokens = within(used.output_tokens);
    }
  }
  return made;
}

expected<log_trace, error> from_log_file(const std::filesystem::path& file, std::uint64_t seed) {
  errno = 0;
  std::ifstream from(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
  if (!from.is_open() || from.bad() || (bytes.empty() && errno != 0)) {
    const int why = errno != 0 ? errno : EIO;
    return unexpected<error>(
        error(errc::invalid_argument, file.string() + ": " + std::generic_category().message(why)));
  }
  auto made = from_log(bytes, seed);
  if (!made) return unexpected<error>(error(made.error().code(), file.string() + ": " + made.error().message()));
  return made;
}

}  // namespace sluice::sim
