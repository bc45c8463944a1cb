// Tries a policy before it is put in force: an hour of traffic in milliseconds, decided by the code that runs in
// production.

#include <sluice/sim/random.hpp>
#include <sluice/sim/simulation.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

namespace {

void report(const char* name, const sluice::sim::class_result& work) {
  const auto seconds = [&](double share) { return std::chrono::duration<double>(work.wait_percentile(share)).count(); };
  std::cout << name << ": " << work.completed << " of " << work.arrived << " done, waited p50 " << seconds(0.5)
            << " s, p95 " << seconds(0.95) << " s, preempted " << work.preempted << '\n';
}

}  // namespace

int main() {
  //! [simulation]
  sluice::policy rules({.slots = 8, .tokens = 40'000});
  rules[sluice::interactive].restore_within = 500ms;

  sluice::sim::simulation trial(rules);
  sluice::sim::random draw(42);
  for (sluice::instant when{}; when < sluice::instant{} + 1h; when += draw.exponential(800ms))
    trial.arrive(when, {.workload = sluice::interactive, .cost = {.tokens = 1'600}, .service = draw.exponential(3s)});
  for (sluice::instant when{}; when < sluice::instant{} + 1h; when += draw.exponential(15s))
    trial.arrive(when, {.workload = sluice::batch, .cost = {.tokens = 5'000}, .service = draw.exponential(20s)});
  trial.run();
  //! [simulation]

  report("interactive", trial.result(sluice::interactive));
  report("batch", trial.result(sluice::batch));
}
