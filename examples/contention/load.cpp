#include "load.hpp"

#include "trace.hpp"

#include <sluice/sim/random.hpp>

#include <algorithm>
#include <chrono>

namespace contention {
namespace {

using sluice::sim::random;

// Agents are not started in one instant: each begins somewhere in this many seconds.
constexpr double agents_begin_within = 2;

std::vector<job> random_chats(const options& asked) {
  random dice(asked.seed);
  const auto mean =
      std::chrono::duration_cast<sluice::duration>(std::chrono::duration<double>(1 / asked.chats_per_second));
  std::vector<job> chats;
  for (double at = 0;;) {
    at += std::chrono::duration<double>(dice.exponential(mean)).count();
    if (at >= asked.seconds) return chats;
    const auto input = dice.between(150, 450);
    const auto output = dice.between(20, 80);
    chats.push_back({at, input, output});
  }
}

sluice::expected<std::vector<job>, std::string> from_trace(const std::string& file, const options& asked) {
  auto rows = read_trace(file);
  if (!rows) return sluice::unexpected<std::string>(std::move(rows).error());
  std::vector<job> jobs;
  for (const auto& row : *rows) {
    const double at = row.at / asked.speed;
    if (at >= asked.seconds) break;
    // Nothing can be asked with nothing.
    jobs.push_back({at, std::max<std::int64_t>(row.input_tokens, 1), std::max<std::int64_t>(row.output_tokens, 1)});
  }
  return jobs;
}

}  // namespace

job load::next_run(int agent, int n) const {
  random dice(seed ^ (static_cast<std::uint64_t>(agent) << 32U) ^
              (static_cast<std::uint64_t>(n) + 1) * 0x9e3779b97f4a7c15U);
  const double begin = n == 0 ? dice.uniform() * agents_begin_within : 0;
  const auto input = dice.between(300, 700);
  const auto output = dice.between(20, 40);
  return {begin, input, output};
}

sluice::expected<load, std::string> make_load(const options& asked) {
  load made;
  made.seed = asked.seed;
  if (asked.interactive_trace.empty()) {
    made.chats = random_chats(asked);
  } else {
    auto chats = from_trace(asked.interactive_trace, asked);
    if (!chats) return sluice::unexpected<std::string>(std::move(chats).error());
    made.chats = std::move(*chats);
  }
  if (asked.batch_trace.empty()) {
    made.agents = asked.agents;
  } else {
    auto runs = from_trace(asked.batch_trace, asked);
    if (!runs) return sluice::unexpected<std::string>(std::move(runs).error());
    made.runs = std::move(*runs);
  }
  return made;
}

}  // namespace contention
