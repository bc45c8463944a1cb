#include "decisions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

namespace sluice_sim {
namespace {

namespace sim = sluice::sim;

constexpr std::array started{"started at once", "started after waiting", "started when it came again"};

std::string_view next_word(std::string_view& line) {
  const auto blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  line.remove_prefix(blank == std::string_view::npos ? line.size() : blank + 1);
  return word;
}

std::int64_t number_of(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// How a request that starts has come to it.
enum class past : std::uint8_t { none, turned_away, waits };

class count {
 public:
  count(const std::vector<sim::visit>& visits, sluice::duration bucket)
      : visits_(visits), bucket_(bucket), pasts_(visits.size()), last_start_(visits.size()) {}

  void take(std::string_view line) {
    const std::int64_t when = number_of(next_word(line));
    const std::string_view what = next_word(line);
    const auto whom = static_cast<std::size_t>(number_of(next_word(line)));
    if (whom >= visits_.size()) return;
    const auto at = static_cast<std::size_t>(when / bucket_.count());
    most_ = std::max(most_, at + 1);
    if (what == "start") {
      const bool late = when > visits_[whom].arrival.time_since_epoch().count();
      const past before = pasts_[whom];
      last_start_[whom] = before == past::turned_away ? 2 : late ? 1 : 0;
      ++cell(up_, started[last_start_[whom]], at);
    } else if (what == "rejected") {
      // It never ran.
      --cell(up_, started[last_start_[whom]], at);
      ++cell(down_, "answered with 429", at);
      pasts_[whom] = past::turned_away;
    } else if (what == "refuse") {
      std::string why = line.empty() ? "refused" : "refused: " + std::string(line);
      std::replace(why.begin(), why.end(), '_', ' ');
      ++cell(down_, why, at);
      pasts_[whom] = past::turned_away;
    } else if (what == "stop") {
      ++cell(down_, "preempted", at);
      pasts_[whom] = past::waits;
    } else if (what == "hang-up") {
      ++cell(down_, "left by its caller", at);
    }
  }

  [[nodiscard]] std::vector<series> all() const {
    std::vector<series> made;
    for (const char* each : started) {
      if (const auto found = up_.find(each); found != up_.end()) made.push_back(drawn(*found, mark::bars));
    }
    for (const auto& each : down_) made.push_back(drawn(each, mark::bars_below));
    return made;
  }

 private:
  using counts = std::map<std::string, std::vector<int>>;

  static int& cell(counts& of, const std::string& kind, std::size_t at) {
    std::vector<int>& row = of[kind];
    if (row.size() <= at) row.resize(at + 1);
    return row[at];
  }

  [[nodiscard]] series drawn(const counts::value_type& of, mark how) const {
    series made{{}, of.first, "s", {}, {}, how};
    const double step = std::chrono::duration<double>(bucket_).count();
    for (std::size_t i = 0; i < most_; ++i) {
      made.points.emplace_back(step * static_cast<double>(i), i < of.second.size() ? of.second[i] : 0);
    }
    return made;
  }

  const std::vector<sim::visit>& visits_;
  sluice::duration bucket_;
  std::vector<past> pasts_;
  std::vector<std::size_t> last_start_;
  std::size_t most_ = 0;
  counts up_;
  counts down_;
};

}  // namespace

std::vector<series> decisions(std::string_view log, const std::vector<sim::visit>& visits, sluice::duration bucket) {
  count counted(visits, bucket);
  while (!log.empty()) {
    const auto end = std::min(log.find('\n'), log.size());
    counted.take(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return counted.all();
}

}  // namespace sluice_sim
