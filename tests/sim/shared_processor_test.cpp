#include <sluice/sim/shared_processor.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using sluice::instant;
using sluice::never;
using sluice::sim::processor_event;
using sluice::sim::processor_job;
using sluice::sim::provider_model;
using sluice::sim::shared_processor;
using kind = processor_event::kind;
using admission = sluice::sim::processor_admission;

namespace {

constexpr instant zero{};

// 400 tokens a second out, 4000 in, no latency, all output in one event.
provider_model bare() {
  provider_model model;
  model.latency = {};
  model.chunk_tokens = 1'000'000;
  return model;
}

std::vector<processor_event> run(shared_processor& machine, instant until = zero + 24h) {
  std::vector<processor_event> events;
  while (machine.next() <= until) machine.advance(machine.next(), events);
  return events;
}

instant time_of(const std::vector<processor_event>& events, std::uint64_t id, kind what) {
  for (const auto& event : events) {
    if (event.tag == id && event.what == what) return event.at;
  }
  return never;
}

bool near(instant a, instant b) { return a - b <= 10ns && b - a <= 10ns; }

}  // namespace

TEST_CASE("throughput falls with load as the formula says") {
  provider_model model;
  CHECK(model.speedup(1) == doctest::Approx(1));
  CHECK(model.speedup(2) == doctest::Approx(1.6));
  CHECK(model.speedup(32) == doctest::Approx(32 / 8.75));
  CHECK(model.share(2) == doctest::Approx(0.8));
  CHECK(model.share(0) == doctest::Approx(1));
  model.kappa = 0.1;
  CHECK(model.speedup(3) == doctest::Approx(3 / (1 + 0.5 + 0.6)));
}

TEST_CASE("one job alone: latency, prompt, output") {
  auto model = bare();
  model.latency = 40ms;
  shared_processor machine(model);
  CHECK(machine.arrive(1, {400, 200}).outcome == admission::running);
  CHECK(machine.next() == zero + 40ms);
  const auto events = run(machine);
  REQUIRE(events.size() == 3);
  CHECK(events[0].what == kind::prompt_done);
  CHECK(events[0].at == zero + 140ms);
  CHECK(events[0].tokens == 400);
  CHECK(events[1].what == kind::produced);
  CHECK(events[1].tokens == 200);
  CHECK(events[1].at == zero + 640ms);
  CHECK(events[2].what == kind::finished);
  CHECK(events[2].at == zero + 640ms);
  CHECK(machine.next() == never);
  CHECK(machine.running() == 0);
}

TEST_CASE("two equal jobs take 1.25 times as long as one, at sigma 0.25") {
  shared_processor machine(bare());
  machine.arrive(1, {0, 400});
  machine.arrive(2, {0, 400});
  const auto events = run(machine);
  CHECK(time_of(events, 1, kind::finished) == zero + 1250ms);
  CHECK(time_of(events, 2, kind::finished) == zero + 1250ms);
}

TEST_CASE("what is left goes on at the new rate when the number that runs changes") {
  shared_processor machine(bare());
  std::vector<processor_event> events;
  machine.arrive(1, {0, 400});
  machine.advance(zero + 500ms, events);
  // Job 1 has 200 tokens to go, job 2 has 100: both at 0.8 until job 2 is done, 312.5 ms later.
  machine.arrive(2, {0, 100});
  const auto rest = run(machine);
  CHECK(near(time_of(rest, 2, kind::finished), zero + 812'500us));
  // Then job 1 has 100 to go, alone.
  CHECK(near(time_of(rest, 1, kind::finished), zero + 1'062'500us));
}

TEST_CASE("a cancelled job gives its share back, and tells how far it came") {
  shared_processor machine(bare());
  std::vector<processor_event> events;
  machine.arrive(1, {0, 400});
  const auto second = machine.arrive(2, {400, 400}).ticket;
  machine.advance(zero + 100ms, events);
  // 100 ms at a share of 0.8 and 4000 tokens a second.
  auto come = machine.cancel(second);
  REQUIRE(come);
  CHECK(come->input == 320);
  CHECK(come->output == 0);
  CHECK_FALSE(machine.cancel(second));
  // Job 1 has had 80 ms of work; 920 ms are left, alone.
  const auto rest = run(machine);
  CHECK(near(time_of(rest, 1, kind::finished), zero + 1020ms));

  shared_processor other(bare());
  const auto only = other.arrive(1, {400, 400}).ticket;
  other.advance(zero + 350ms, events);
  come = other.cancel(only);
  REQUIRE(come);
  CHECK(come->input == 400);
  CHECK(come->output == 100);
}

TEST_CASE("slots, queue, refusal; first come first served") {
  auto model = bare();
  model.slots = 1;
  model.queue = 2;
  model.sigma = 0;
  shared_processor machine(model);
  CHECK_FALSE(machine.full());
  CHECK(machine.arrive(1, {0, 400}).outcome == admission::running);
  const auto second = machine.arrive(2, {0, 400});
  CHECK(second.outcome == admission::waiting);
  CHECK(machine.arrive(3, {0, 400}).outcome == admission::waiting);
  CHECK(machine.full());
  CHECK(machine.arrive(4, {0, 400}).outcome == admission::refused);
  CHECK(machine.running() == 1);
  CHECK(machine.waiting() == 2);
  const auto left = machine.cancel(second.ticket);
  REQUIRE(left);
  CHECK(left->output == 0);
  CHECK(machine.arrive(5, {0, 400}).outcome == admission::waiting);
  const auto events = run(machine);
  CHECK(time_of(events, 1, kind::finished) == zero + 1s);
  CHECK(time_of(events, 3, kind::started) == zero + 1s);
  CHECK(time_of(events, 3, kind::finished) == zero + 2s);
  CHECK(time_of(events, 5, kind::started) == zero + 2s);
  CHECK(time_of(events, 5, kind::finished) == zero + 3s);
}

TEST_CASE("a slot freed by cancellation goes to the next in the queue, at once") {
  auto model = bare();
  model.slots = 1;
  shared_processor machine(model);
  std::vector<processor_event> events;
  const auto first = machine.arrive(1, {0, 400}).ticket;
  machine.arrive(2, {0, 400});
  machine.advance(zero + 100ms, events);
  machine.cancel(first);
  CHECK(machine.next() == zero + 100ms);
  events.clear();
  machine.advance(zero + 100ms, events);
  REQUIRE(events.size() == 2);
  CHECK(events[0].what == kind::started);
  CHECK(events[1].what == kind::prompt_done);
  CHECK(events[0].tag == 2);
  CHECK(machine.running() == 1);
  CHECK(machine.waiting() == 0);
}

TEST_CASE("tokens closer than the gap share an event; the first goes alone") {
  auto model = bare();
  model.chunk_tokens = 0;
  shared_processor machine(model);
  machine.arrive(1, {0, 6});
  std::vector<std::int64_t> tokens;
  std::vector<instant> times;
  for (const auto& event : run(machine)) {
    if (event.what != kind::produced) continue;
    tokens.push_back(event.tokens);
    times.push_back(event.at);
  }
  // 2.5 ms a token, 5 ms a gap.
  CHECK(tokens == std::vector<std::int64_t>{1, 3, 5, 6});
  CHECK(times == std::vector{zero + 2500us, zero + 7500us, zero + 12500us, zero + 15ms});

  model.time_scale = 10;
  shared_processor fast(model);
  fast.arrive(1, {0, 41});
  tokens.clear();
  for (const auto& event : run(fast)) {
    if (event.what == kind::produced) tokens.push_back(event.tokens);
  }
  CHECK(tokens == std::vector<std::int64_t>{1, 21, 41});

  model.output_rate = 100;
  model.time_scale = 1;
  shared_processor slow(model);
  slow.arrive(1, {0, 3});
  tokens.clear();
  for (const auto& event : run(slow)) {
    if (event.what == kind::produced) tokens.push_back(event.tokens);
  }
  CHECK(tokens == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("without delays everything happens on arrival, one event a token") {
  shared_processor machine(provider_model::instant());
  machine.arrive(1, {1000, 3});
  CHECK(machine.next() == zero);
  std::vector<processor_event> events;
  machine.advance(zero, events);
  REQUIRE(events.size() == 5);
  CHECK(events[0].what == kind::prompt_done);
  CHECK(events[1].tokens == 1);
  CHECK(events[3].tokens == 3);
  CHECK(events[4].what == kind::finished);
}

TEST_CASE("a job that does not end keeps its slot and its part of the load until it is cancelled") {
  shared_processor machine(bare());
  std::vector<processor_event> events;
  const auto first = machine.arrive(1, {0, 4, false}).ticket;
  machine.arrive(2, {0, 400});
  const auto all = run(machine);
  CHECK(time_of(all, 1, kind::finished) == never);
  CHECK(near(time_of(all, 2, kind::finished), zero + 1250ms));
  CHECK(machine.running() == 1);
  CHECK(machine.next() == never);
  const auto come = machine.cancel(first);
  REQUIRE(come);
  CHECK(come->output == 4);
  CHECK(machine.running() == 0);
}

TEST_CASE("no output at all ends with the prompt") {
  shared_processor machine(bare());
  machine.arrive(1, {4000, 0});
  const auto events = run(machine);
  REQUIRE(events.size() == 2);
  CHECK(events[0].what == kind::prompt_done);
  CHECK(events[1].what == kind::finished);
  CHECK(events[1].at == zero + 1s);
}

TEST_CASE("another speed holds from then on, for what is left") {
  shared_processor machine(bare());
  std::vector<processor_event> events;
  machine.arrive(1, {0, 400});
  machine.arrive(2, {8000, 0});
  machine.advance(zero + 625ms, events);
  // Half a second of work done: 200 of 400, 2000 of 8000.
  auto model = bare();
  model.sigma = 0;
  model.output_rate = 100;
  model.prompt_rate = 6000;
  machine.set_model(model);
  const auto rest = run(machine);
  CHECK(near(time_of(rest, 1, kind::finished), zero + 2625ms));
  CHECK(near(time_of(rest, 2, kind::finished), zero + 1625ms));
}

TEST_CASE("more slots let the queue move; fewer only stop new ones") {
  auto model = bare();
  model.slots = 1;
  shared_processor machine(model);
  std::vector<processor_event> events;
  machine.arrive(1, {0, 400});
  machine.arrive(2, {0, 400});
  machine.arrive(3, {0, 400});
  model.slots = 2;
  machine.set_model(model);
  machine.advance(zero, events);
  CHECK(machine.running() == 2);
  model.slots = 1;
  machine.set_model(model);
  machine.advance(zero, events);
  CHECK(machine.running() == 2);
  const auto rest = run(machine);
  CHECK(time_of(rest, 3, kind::started) == zero + 1250ms);
  CHECK(machine.running() == 0);
}

TEST_CASE("the work done in all is what the formula allows") {
  // 10 jobs of 1 s each at n = 10 from start to end: share 1 / (1 + 0.25 * 9).
  auto model = bare();
  model.chunk_tokens = 7;
  shared_processor machine(model);
  for (std::uint64_t id = 1; id <= 10; ++id) machine.arrive(id, {0, 400});
  const auto events = run(machine);
  for (std::uint64_t id = 1; id <= 10; ++id) CHECK(near(time_of(events, id, kind::finished), zero + 3250ms));
  std::int64_t last = 0;
  for (const auto& event : events) {
    if (event.tag != 5 || event.what != kind::produced) continue;
    CHECK(event.tokens > last);
    last = event.tokens;
  }
  CHECK(last == 400);
}
