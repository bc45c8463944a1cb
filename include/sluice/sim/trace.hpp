/// \file
/// `sim::trace_request`: one request of a trace, with what it will really take; and the readers of trace files.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <string>
#include <vector>

namespace sluice::sim {

/// How many attempts of a request a trace foresees.
inline constexpr std::size_t trace_attempts = 4;

/// What one attempt draws. The token counts are the provider's, and unknown to the caller until they happen.
struct attempt_draw {
  /// The factor on the wait after this attempt, should it be refused: around 1.
  double jitter = 1;
  /// Picks one of several replicas: modulo their number.
  std::uint32_t replica = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
};

/// One request of a trace. Arrivals count from `instant{}`.
struct trace_request {
  instant arrival{};
  sluice::workload workload{};
  /// On whose behalf; the files name nobody.
  sluice::tenant tenant{};
  std::int64_t input_chars = 0;
  /// The most output that the caller allows.
  std::int64_t max_tokens = 0;
  std::array<attempt_draw, trace_attempts> attempts{};

  /// What the caller can know: `ceil(input_chars / 4)` of input, and `max_tokens` of output.
  [[nodiscard]] constexpr cost estimate() const noexcept { return {(input_chars + 3) / 4 + max_tokens, max_tokens, 1}; }
};

/// Reads a replay file: `id,class,arrival_ms,input_chars,max_tokens`, and then four times
/// `jitterK,replica_drawK,input_tokensK,output_tokensK`. The class is `interactive` or `batch`; no arrival lies before
/// the one above it.
///
/// Errors: `errc::invalid_argument`, naming file, line and field. `name` stands for the file in messages.
/// Complexity: linear. Thread safety: any thread.
[[nodiscard]] expected<std::vector<trace_request>, error> read_replay(std::istream& from, const std::string& name);
/// The same from a file; one that cannot be read is an error of the same kind, with the system's reason.
[[nodiscard]] expected<std::vector<trace_request>, error> read_replay_file(const std::filesystem::path& file);

/// A request of an Azure LLM inference trace: when, and its true lengths.
struct azure_row {
  /// Since the Unix epoch, as the file has it.
  std::chrono::nanoseconds at{};
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
};

/// Reads `TIMESTAMP,ContextTokens,GeneratedTokens`, the stamp being `YYYY-MM-DD HH:MM:SS[.fraction]`. Errors and
/// complexity as for `read_replay`.
[[nodiscard]] expected<std::vector<azure_row>, error> read_azure(std::istream& from, const std::string& name);
[[nodiscard]] expected<std::vector<azure_row>, error> read_azure_file(const std::filesystem::path& file);

/// Requests of one class out of such rows. Time zero is `start`; the prompt has four characters a token, a token at
/// least; `max_tokens` is what the callers of this class always allow, and caps the output. Draws come from `seed`.
[[nodiscard]] std::vector<trace_request> from_azure(const std::vector<azure_row>& rows, workload of,
                                                    std::chrono::nanoseconds start, std::int64_t max_tokens,
                                                    std::uint64_t seed);

/// Two traces as one, in order of arrival; of two at the same instant, the one from `a` comes first.
[[nodiscard]] std::vector<trace_request> merged(const std::vector<trace_request>& a,
                                                const std::vector<trace_request>& b);

}  // namespace sluice::sim
