#include <sluice/sim/random.hpp>
#include <sluice/sim/shared_processor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
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

TEST_CASE("a job can be asked at any instant how far it has come") {
  auto model = bare();
  model.latency = 40ms;
  model.slots = 1;
  shared_processor machine(model);
  std::vector<processor_event> events;
  const auto first = machine.arrive(1, {400, 200}).ticket;
  const auto second = machine.arrive(2, {400, 200}).ticket;
  const auto come = [&](instant when, sluice::sim::processor_ticket which) {
    machine.advance(when, events);
    return machine.progress_of(which);
  };
  // In the latency, in the prompt, in the output; and while it waits.
  CHECK(come(zero + 20ms, first)->input == 0);
  CHECK(come(zero + 90ms, first)->input == 200);
  CHECK(come(zero + 90ms, first)->output == 0);
  CHECK(come(zero + 390ms, first)->input == 400);
  CHECK(come(zero + 390ms, first)->output == 100);
  CHECK(come(zero + 390ms, second)->input == 0);
  CHECK_FALSE(come(zero + 640ms, first));
  CHECK(come(zero + 730ms, second)->input == 200);
  CHECK_FALSE(machine.progress_of({}));
}

TEST_CASE("a ticket names its own job alone, though its cell is used again") {
  shared_processor machine(bare());
  const auto first = machine.arrive(1, {0, 400}).ticket;
  REQUIRE(machine.cancel(first));
  const auto second = machine.arrive(2, {0, 400}).ticket;
  CHECK(second.index == first.index);
  CHECK_FALSE(second == first);
  CHECK_FALSE(machine.cancel(first));
  CHECK_FALSE(machine.progress_of(first));
  CHECK(machine.running() == 1);
  REQUIRE(machine.cancel(second));
  CHECK(machine.running() == 0);
}

TEST_CASE("a job may have its own distance between reports; the first token always comes alone") {
  shared_processor machine(bare());
  machine.arrive(1, {0, 100, true, 40});
  std::vector<std::int64_t> tokens;
  std::vector<instant> times;
  for (const auto& event : run(machine)) {
    if (event.what != kind::produced) continue;
    tokens.push_back(event.tokens);
    times.push_back(event.at);
  }
  CHECK(tokens == std::vector<std::int64_t>{1, 41, 81, 100});
  CHECK(times == std::vector{zero + 2500us, zero + 102'500us, zero + 202'500us, zero + 250ms});
}

TEST_CASE("those in the queue may leave from its front, middle and end") {
  auto model = bare();
  model.slots = 1;
  shared_processor machine(model);
  machine.arrive(1, {0, 400});
  std::vector<sluice::sim::processor_ticket> waiting;
  for (std::uint64_t tag = 2; tag <= 6; ++tag) waiting.push_back(machine.arrive(tag, {0, 400}).ticket);
  CHECK(machine.cancel(waiting[0]));
  CHECK(machine.cancel(waiting[2]));
  CHECK(machine.cancel(waiting[4]));
  CHECK(machine.waiting() == 2);
  machine.arrive(7, {0, 400});
  const auto events = run(machine);
  CHECK(time_of(events, 2, kind::started) == never);
  CHECK(time_of(events, 3, kind::started) == zero + 1s);
  CHECK(time_of(events, 4, kind::started) == never);
  CHECK(time_of(events, 5, kind::started) == zero + 2s);
  CHECK(time_of(events, 6, kind::started) == never);
  CHECK(time_of(events, 7, kind::started) == zero + 3s);
}

TEST_CASE("more contention from the middle of a run on") {
  shared_processor machine(bare());
  std::vector<processor_event> events;
  machine.arrive(1, {0, 400});
  machine.arrive(2, {0, 400});
  machine.advance(zero + 625ms, events);
  auto model = bare();
  model.sigma = 1;
  machine.set_model(model);
  // Half of each is left, at a share of 1/2 instead of 4/5.
  const auto rest = run(machine);
  CHECK(near(time_of(rest, 1, kind::finished), zero + 1625ms));
  CHECK(near(time_of(rest, 2, kind::finished), zero + 1625ms));
}

namespace {

// The same provider, without a clock of work or heaps: every job is looked at in every step.
class naive_provider {
 public:
  explicit naive_provider(const provider_model& model) : model_(model) {}

  void arrive(std::uint64_t tag, double input, double output, double now) {
    jobs_.push_back({tag, 0.04 + now, input / model_.prompt_rate + output / model_.output_rate});
  }
  void cancel(std::uint64_t tag) {
    std::erase_if(jobs_, [tag](const job& each) { return each.tag == tag; });
  }
  void set_model(const provider_model& model) { model_ = model; }

  // Until `end`; appends tag and instant of those that finish.
  void pass(double& now, double end, std::vector<std::pair<std::uint64_t, double>>& finished) {
    while (now < end) {
      const double share = model_.share(static_cast<std::int64_t>(jobs_.size()));
      double step = end - now;
      for (const job& each : jobs_) {
        step = std::min(step, each.ready > now ? each.ready - now : each.left / share);
      }
      for (job& each : jobs_) {
        if (each.ready <= now) each.left -= step * share;
      }
      now += step;
      for (std::size_t i = 0; i < jobs_.size();) {
        if (jobs_[i].ready <= now && jobs_[i].left <= 1e-10) {
          finished.emplace_back(jobs_[i].tag, now);
          jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          ++i;
        }
      }
    }
    now = end;
  }

 private:
  struct job {
    std::uint64_t tag;
    double ready;
    double left;
  };
  provider_model model_;
  std::vector<job> jobs_;
};

}  // namespace

TEST_CASE("whatever comes, leaves and changes: the same ends as when every job is reckoned with in every step") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    sluice::sim::random draw(seed);
    auto model = bare();
    model.latency = 40ms;
    model.slots = 1'000;
    model.kappa = 0.001;
    shared_processor machine(model);
    naive_provider naive(model);
    std::vector<processor_event> events;
    std::vector<std::pair<std::uint64_t, double>> expected;
    std::vector<sluice::sim::processor_ticket> tickets;
    double now = 0;
    for (std::uint64_t tag = 0; tag < 150; ++tag) {
      const auto gap = draw.between(0, 400'000'000);
      const double next = now + static_cast<double>(gap) * 1e-9;
      naive.pass(now, next, expected);
      const instant here = zero + std::chrono::nanoseconds(std::llround(next * 1e9));
      while (machine.next() <= here) machine.advance(machine.next(), events);
      machine.advance(here, events);
      const auto input = draw.between(1, 4'000);
      const auto output = draw.between(1, 300);
      tickets.push_back(machine.arrive(tag, {input, output}).ticket);
      naive.arrive(tag, static_cast<double>(input), static_cast<double>(output), now);
      if (draw.chance(0.2)) {
        const auto victim = static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(tag)));
        if (machine.cancel(tickets[victim])) naive.cancel(victim);
      }
      if (draw.chance(0.1)) {
        model.sigma = 0.5 * draw.uniform();
        machine.set_model(model);
        naive.set_model(model);
      }
    }
    naive.pass(now, now + 10'000, expected);
    const auto rest = run(machine, zero + 20'000s);
    events.insert(events.end(), rest.begin(), rest.end());
    std::size_t ends = 0;
    for (const auto& [tag, when] : expected) {
      const auto at = time_of(events, tag, kind::finished);
      REQUIRE(at != never);
      CHECK(std::chrono::duration<double>(at - zero).count() == doctest::Approx(when).epsilon(1e-6));
      ++ends;
    }
    for (const auto& event : events) ends -= event.what == kind::finished ? 1 : 0;
    CHECK(ends == 0);
    CHECK(machine.running() == 0);
  }
}

TEST_CASE("memory is that of the jobs known at once: cells are used again") {
  auto model = bare();
  model.slots = 4;
  model.queue = 4;
  shared_processor machine(model);
  std::vector<processor_event> events;
  std::uint32_t greatest = 0;
  for (std::uint64_t tag = 0; tag < 10'000; ++tag) {
    const auto taken = machine.arrive(tag, {100, 10});
    if (taken.outcome != admission::refused) greatest = std::max(greatest, taken.ticket.index);
    if (machine.full()) {
      events.clear();
      machine.advance(machine.next(), events);
    }
  }
  CHECK(greatest < 8);
}
