#include "traces.hpp"

#include <sluice/sim/traffic.hpp>

#include <algorithm>
#include <chrono>

namespace sluice_sim {
namespace {

using namespace std::chrono_literals;
namespace sim = sluice::sim;

// No chat of that provider answered with more; code was given more room.
constexpr std::int64_t most_of_a_chat = 1'000;
constexpr std::int64_t most_of_code = 2'000;

template <typename Value>
Value value_or_throw(sluice::expected<Value, sluice::error> read) {
  if (!read) throw sluice::error_exception(read.error());
  return std::move(*read);
}

std::filesystem::path first_of(const std::vector<std::filesystem::path>& candidates) {
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [](const std::filesystem::path& each) { return std::filesystem::exists(each); });
  return found == candidates.end() ? std::filesystem::path() : *found;
}

}  // namespace

std::filesystem::path default_traces() { return SLUICE_SIM_TRACES; }

std::vector<sim::trace_request> replay_trace(const settings& asked, std::uint64_t seed,
                                             std::vector<std::string>& notes) {
  const std::string name = "seed-" + std::to_string(seed) + ".csv";
  const auto file = first_of({asked.traces / "replay" / name, asked.traces / name});
  if (!file.empty()) return value_or_throw(sim::read_replay_file(file));
  notes.push_back("seed " + std::to_string(seed) + " is generated: there is no " + name);
  return sim::replay_like(seed);
}

std::vector<sim::trace_request> azure_trace(const settings& asked, std::uint64_t seed,
                                            std::vector<std::string>& notes) {
  const auto chats_file = first_of({asked.traces / "azure" / "conv.csv", asked.traces / "conv.csv"});
  const auto code_file = first_of({asked.traces / "azure" / "code.csv", asked.traces / "code.csv"});
  std::vector<sim::azure_row> chats;
  std::vector<sim::azure_row> code;
  if (!chats_file.empty() && !code_file.empty()) {
    chats = value_or_throw(sim::read_azure_file(chats_file));
    code = value_or_throw(sim::read_azure_file(code_file));
  } else {
    notes.push_back("an hour of the shape of the Azure traces is generated: there are no conv.csv and code.csv");
    chats = sim::azure_chats_like(1h, seed);
    code = sim::azure_code_like(1h, seed);
  }
  const auto start = std::min(chats.front().at, code.front().at);
  return sim::merged(sim::from_azure(chats, sluice::interactive, start, most_of_a_chat, 2 * seed),
                     sim::from_azure(code, sluice::batch, start, most_of_code, 2 * seed + 1));
}

}  // namespace sluice_sim
