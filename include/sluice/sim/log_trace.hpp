/// \file
/// `sim::from_log`: the log of a real run as a trace, so that its traffic can be put to any arm and any provider.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/sim/recorded_run.hpp>
#include <sluice/sim/trace.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace sluice::sim {

/// The requests of a log. `estimated` of them never ran to an end that the log has seen, or did not say what they used:
/// they use the median of their class.
struct log_trace {
  std::vector<trace_request> requests;
  std::uint64_t estimated = 0;
};

/// Each piece of work once, however often it was preempted. The first arrives at `instant{}`; classes are numbered as
/// in the log's policy. What was asked for is kept: the output as `max_tokens`, the rest as four characters a token.
/// All attempts use what was really used; jitter and replicas, of which a log knows nothing, are drawn from `seed`.
///
/// Errors: as `core::event_log_reader`; `errc::invalid_argument` when there are no requests.
/// Complexity: linear. Thread safety: any thread.
[[nodiscard]] expected<log_trace, error> from_log(std::string_view log, std::uint64_t seed);
/// The same from a file; one that cannot be read is an error of the same kind, with the system's reason.
[[nodiscard]] expected<log_trace, error> from_log_file(const std::filesystem::path& file, std::uint64_t seed);

}  // namespace sluice::sim
