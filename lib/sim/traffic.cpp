#include <sluice/sim/traffic.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

namespace sluice::sim {
namespace {

using namespace std::chrono_literals;

// Streams of draws that do not touch each other, from one seed.
std::uint64_t stream_of(std::uint64_t seed, std::uint64_t which) {
  random mixed(seed * 0x9e3779b97f4a7c15 + which);
  return mixed();
}

duration in_duration(double seconds) { return duration(std::llround(seconds * 1e9)); }

attempt_draw draw_attempt(random& draw, std::int64_t chars, std::int64_t max_tokens) {
  constexpr lognormal_size output{200, 0.9, 1, 1'000'000};
  attempt_draw drawn;
  drawn.jitter = 0.5 + draw.uniform();
  drawn.replica = static_cast<std::uint32_t>(draw() >> 32U);
  const double input = static_cast<double>(chars) / 3.6 * (0.96 + 0.08 * draw.uniform());
  drawn.input_tokens = std::max(std::int64_t{1}, static_cast<std::int64_t>(std::llround(input)));
  drawn.output_tokens = std::min(output.draw_from(draw), max_tokens);
  return drawn;
}

std::vector<trace_request> window(workload of, double rate, duration start, duration end, const lognormal_size& chars,
                                  const lognormal_size& max_tokens, std::uint64_t seed) {
  arrival_process arrivals = arrival_process::poisson(rate, stream_of(seed, 1));
  random draw(stream_of(seed, 2));
  std::vector<trace_request> made;
  for (instant at = arrivals.next() + start; at < instant{} + end; at = arrivals.next() + start) {
    trace_request& added = made.emplace_back();
    added.arrival = at;
    added.workload = of;
    added.input_chars = chars.draw_from(draw);
    added.max_tokens = max_tokens.draw_from(draw);
    for (attempt_draw& each : added.attempts) each = draw_attempt(draw, added.input_chars, added.max_tokens);
  }
  return made;
}

std::vector<azure_row> rows_of(arrival_process arrivals, duration length, const quantile_size& inputs,
                               const quantile_size& outputs, std::uint64_t seed) {
  random draw(seed);
  std::vector<azure_row> made;
  for (instant at = arrivals.next(); at < instant{} + length; at = arrivals.next()) {
    made.push_back({at.time_since_epoch(), inputs.draw_from(draw), outputs.draw_from(draw)});
  }
  return made;
}

}  // namespace

arrival_process::arrival_process(std::vector<state> states, std::uint64_t seed)
    : states_(std::move(states)), draw_(seed) {
  enter(0, instant{});
}

arrival_process arrival_process::poisson(double rate, std::uint64_t seed) {
  return arrival_process({{rate, duration::max()}}, seed);
}

arrival_process arrival_process::bursts(double calm_rate, duration calm, double burst_rate, duration burst,
                                        std::uint64_t seed) {
  return arrival_process({{calm_rate, calm}, {burst_rate, burst}}, seed);
}

arrival_process arrival_process::on_off(double rate, duration on, duration off, std::uint64_t seed) {
  return arrival_process({{rate, on}, {0, off}}, seed);
}

void arrival_process::enter(std::size_t which, instant when) {
  current_ = which;
  const duration stay = states_[which].mean_stay;
  until_ = stay == duration::max() ? never : after(when, draw_.exponential(stay));
}

instant arrival_process::next() {
  for (;;) {
    const double rate = states_[current_].rate;
    if (rate > 0) {
      const duration gap = std::max(duration(1), draw_.exponential(in_duration(1 / rate)));
      // Beyond the state's end the draw is void: the process forgets.
      if (after(now_, gap) <= until_) return now_ = after(now_, gap);
    }
    now_ = until_;
    enter((current_ + 1) % states_.size(), now_);
  }
}

double standard_normal(random& draw) noexcept {
  const double length = std::sqrt(-2 * std::log1p(-draw.uniform()));
  return length * std::cos(2 * std::numbers::pi * draw.uniform());
}

std::int64_t lognormal_size::draw_from(random& draw) const noexcept {
  const double drawn = sigma > 0 ? median * std::exp(sigma * standard_normal(draw)) : median;
  return std::clamp(static_cast<std::int64_t>(std::llround(std::min(drawn, 1e15))), least, most);
}

std::int64_t quantile_size::draw_from(random& draw) const noexcept {
  const double place = draw.uniform() * static_cast<double>(quantiles_.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto low = static_cast<double>(quantiles_[below]);
  const auto high = static_cast<double>(quantiles_[below + 1]);
  return std::llround(low + (high - low) * (place - static_cast<double>(below)));
}

std::vector<trace_request> replay_like(std::uint64_t seed) {
  constexpr lognormal_size chars{1'200, 0.75, 150, 4'800};
  constexpr lognormal_size tokens{400, 0.75, 50, 1'600};
  const auto chats = window(interactive, 6, 0s, 45s, chars, tokens, stream_of(seed, 1));
  constexpr lognormal_size documents{24'000, 0, 24'000, 24'000};
  constexpr lognormal_size answers{3'000, 0, 3'000, 3'000};
  const auto batches = window(batch, 3, 15'750ms, 38'250ms, documents, answers, stream_of(seed, 2));
  return merged(chats, batches);
}

std::vector<azure_row> azure_chats_like(duration length, std::uint64_t seed) {
  // Every twentieth of the recorded distribution.
  static const quantile_size inputs({2,    181,  207,  372,  387,  396,  403,  414,  703,  984,  1020,
                                     1045, 1071, 1097, 1130, 1189, 1315, 1876, 2734, 4083, 14050});
  static const quantile_size outputs(
      {7, 41, 54, 67, 77, 85, 91, 96, 103, 113, 129, 151, 177, 217, 384, 395, 400, 411, 424, 451, 1000});
  return rows_of(arrival_process::poisson(5.5, stream_of(seed, 1)), length, inputs, outputs, stream_of(seed, 2));
}

std::vector<azure_row> azure_code_like(duration length, std::uint64_t seed) {
  static const quantile_size inputs({3,    75,   147,  232,  386,  578,  770,  938,  1075, 1261, 1469,
                                     1690, 1909, 2164, 2433, 2745, 3192, 3919, 5186, 7302, 7437});
  static const quantile_size outputs({6, 6, 7, 7, 8, 9, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 29, 39, 55, 90, 1899});
  // Nothing at all for most of the time, and then nine a second.
  auto arrivals = arrival_process::on_off(9, 8s, 20s, stream_of(seed, 3));
  return rows_of(std::move(arrivals), length, inputs, outputs, stream_of(seed, 4));
}

}  // namespace sluice::sim
