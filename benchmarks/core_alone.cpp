// The state machine by itself: no executor, no mutex, no clock.
#include "clocks.hpp"
#include "subject.hpp"
#include "table.hpp"

#include <sluice/core/admission.hpp>

#include <cstdlib>
#include <optional>
#include <vector>

namespace bars {
namespace {

double arrive_and_finish() {
  constexpr int rounds = 500'000;
  sluice::core::admission machine(four_classes());
  sluice::core::effects out;
  sluice::core::request what;
  what.cost = one_call;
  const double start = thread_cpu();
  for (int n = 0; n < rounds; ++n) {
    const auto id = machine.arrive_at_once(what, sluice::instant::min());
    if (!id) std::abort();
    machine.finish(*id, sluice::core::ending::released, std::nullopt, sluice::instant::min(), out);
  }
  return (thread_cpu() - start) / rounds;
}

}  // namespace

std::vector<bar> core_bars() { return {{"core alone: arrive + finish", "ns", arrive_and_finish, nullptr, 0, 9}}; }

}  // namespace bars
