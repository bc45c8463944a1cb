// Records what happens at a gate, replays it, and asks what would have become of the same work under another policy.

#include <sluice/core/event_log.hpp>
#include <sluice/core/replay.hpp>
#include <sluice/sim/comparison.hpp>
#include <sluice/sim/random.hpp>
#include <sluice/sim/simulation.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

// In production: `gate.start_recording()`, and later `gate.take_recording()`.
std::string an_hour_at_the_gate(const sluice::policy& rules) {
  std::string log;
  sluice::core::event_log_writer writer(log);
  sluice::sim::simulation gate(rules);
  gate.record(&writer);
  sluice::sim::random draw(42);
  for (sluice::instant when{}; when < sluice::instant{} + 1h; when += draw.exponential(800ms))
    gate.arrive(when, {.workload = sluice::interactive, .cost = {.tokens = 1'600}, .service = draw.exponential(3s)});
  for (sluice::instant when{}; when < sluice::instant{} + 1h; when += draw.exponential(15s))
    gate.arrive(when, {.workload = sluice::batch, .cost = {.tokens = 5'000}, .service = draw.exponential(20s)});
  gate.run();
  writer.end();
  return log;
}

}  // namespace

int main() {
  sluice::policy rules({.slots = 8, .tokens = 40'000});
  rules[sluice::interactive].floor = {.slots = 3, .tokens = 10'000};
  rules[sluice::interactive].restore_within = 10s;
  const std::string log = an_hour_at_the_gate(rules);

  //! [replay]
  const auto again = sluice::core::replay(log);
  if (!again) return std::cerr << again.error().message() << '\n', 1;
  std::cout << again->events << " events, "
            << (again->difference ? again->difference->explain() : "the same effects, byte for byte") << '\n';

  sluice::policy other = rules;
  other[sluice::interactive].floor = {.slots = 7, .tokens = 30'000};
  other[sluice::interactive].restore_within = 500ms;
  const auto found = sluice::sim::compare(log, other);
  if (!found) return std::cerr << found.error().message() << '\n', 1;
  std::cout << found->explain() << found->changed_total << " requests with another fate\n";
  //! [replay]
}
