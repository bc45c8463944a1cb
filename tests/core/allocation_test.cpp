// What is promised about memory: none is asked for on the fast path, nor under contention in the steady state.
#include <sluice/core/admission.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* const got = alignment > alignof(std::max_align_t)
                        ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                        : std::malloc(size);
  if (got == nullptr) throw std::bad_alloc();
  return got;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, 1); }
void* operator new[](std::size_t size) { return counted(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* gone) noexcept { std::free(gone); }
void operator delete[](void* gone) noexcept { std::free(gone); }
void operator delete(void* gone, std::size_t) noexcept { std::free(gone); }
void operator delete[](void* gone, std::size_t) noexcept { std::free(gone); }
void operator delete(void* gone, std::align_val_t) noexcept { std::free(gone); }
void operator delete[](void* gone, std::align_val_t) noexcept { std::free(gone); }
void operator delete(void* gone, std::size_t, std::align_val_t) noexcept { std::free(gone); }
void operator delete[](void* gone, std::size_t, std::align_val_t) noexcept { std::free(gone); }

using namespace sluice;
using namespace sluice::core;

TEST_CASE("the counter counts") {
  const std::uint64_t before = allocations;
  const std::vector<int> some(100, 7);
  CHECK(allocations == before + 1);
  CHECK(some.size() == 100);
}

TEST_CASE("the fast path asks for no memory") {
  admission machine(policy({32, 100'000}));
  effects out;
  const request asked{.cost = {.tokens = 100}};
  const auto once = [&] {
    const auto id = machine.arrive_at_once(asked, instant::min());
    return id && machine.finish(*id, ending::released, usage{50, 20}, instant::min(), out);
  };
  REQUIRE(once());
  const std::uint64_t before = allocations;
  bool all = true;
  for (int i = 0; i < 10'000; ++i) all = once() && all;
  const std::uint64_t asked_for = allocations - before;
  CHECK(all);
  CHECK(asked_for == 0);
}

TEST_CASE("under contention the steady state asks for no memory") {
  policy rules({16, 10'000});
  rules.max_waiting = 300;
  admission machine(rules);
  effects out;
  std::vector<request_id> running;
  std::vector<request_id> waiting;
  running.reserve(10'000);
  waiting.reserve(10'000);
  std::uint64_t number = 0;
  instant now{};

  const auto round = [&] {
    out.clear();
    now += duration(10);
    request made;
    made.cost = {.tokens = static_cast<std::int64_t>(50 + number * 37 % 200), .output_tokens = 20};
    made.workload = workload(static_cast<std::uint8_t>(number % 2));
    if (number % 3 == 0) made.deadline = now + duration(number % 9 == 0 ? 5 : 400);
    ++number;
    waiting.push_back(machine.arrive(made, now, out));
    if (number % 7 == 0) machine.cancel(waiting[waiting.size() / 2], now, out);
    machine.tick(now, out);
    if (!running.empty() && number % 8 != 0) {
      (void)machine.report(running.front(), {30, 5, 10, 4}, now, out);
      machine.set_stoppable(running.back(), true, now, out);
      machine.finish(running[number % running.size()], ending::released, std::nullopt, now, out);
      running[number % running.size()] = running.back();
      running.pop_back();
    }
    for (const effect& one : out.list) {
      if (one.what == effect::kind::granted) running.push_back(one.id);
    }
    if (waiting.size() > 200) waiting.erase(waiting.begin(), waiting.begin() + 100);
  };

  // Until every vector has seen its greatest size.
  for (int i = 0; i < 20'000; ++i) round();
  REQUIRE(machine.waiting() > 0);
  const std::uint64_t before = allocations;
  for (int i = 0; i < 20'000; ++i) round();
  const std::uint64_t asked_for = allocations - before;
  CHECK(asked_for == 0);
  CHECK(machine.statistics().all.admitted_after_wait_total > 1'000);
  // What cannot be done in time is mostly told so before its time has passed.
  CHECK(machine.statistics().all.expired_total + machine.statistics().all.infeasible_total > 0);
  CHECK(machine.statistics().all.shed_total > 0);
}

namespace {

/// Everything that a policy can switch on, and room enough for all that comes at first.
policy everything() {
  policy rules({64, 128'000});
  while (rules.classes.size() < max_workloads)
    rules.add_class(class_policy("class " + std::to_string(rules.classes.size())));
  for (std::size_t c = 0; c < rules.classes.size(); ++c) {
    class_policy& each = rules.classes[c];
    each.priority = -static_cast<int>(c / 4);
    each.floor = {2, 4'000};
    each.preemptible = c > 0;
    each.start_within = std::chrono::milliseconds(c == 0 ? 200 : 0);
    each.elastic.enabled = c >= 12;
    // So that each of its orders soon has its greatest size.
    each.max_waiting = 12;
  }
  rules.max_waiting = 120;
  rules.max_tenants = 2;
  rules.rates = {{240'000, 100}, {600'000'000, 100'000}, {600'000'000, 100'000}};
  rules.other_tenants.rates = {{60'000, 20}, {60'000'000, 100'000}, {60'000'000, 100'000}};
  rules.overload.window = std::chrono::seconds(1);
  rules.adaptive.enabled = true;
  rules.adaptive.initial = 64;
  rules.adaptive.minimum = 40;
  rules.prices.emplace_back("large");
  rules.prices.back().output_per_million = 1'000'000;
  rules.explain_records = 64;
  return rules;
}

/// Work of many tenants, classes, models and runs, four runs deep; runs are opened and closed all the time.
class everybody {
 public:
  everybody() : machine(everything()) {
    running.reserve(10'000);
    trees_.reserve(10'000);
    out.list.reserve(10'000);
    out.decisions.reserve(10'000);
    for (int n = 0; n < 20; ++n) open();
  }

  /// `more`: whether more comes than ends.
  void round(bool more) {
    now += std::chrono::microseconds(500);
    if (number_ % 16 == 0) renew_a_run();
    if (machine.waiting() == 0 && number_ % 2 == 0) {
      if (const auto id = machine.arrive_at_once(next(), now)) running.push_back(*id);
    } else if (more || running.size() < 30) {
      machine.arrive(next(), now, out);
    }
    if (number_ % 64 == 0) machine.tick(now, out);
    if (number_ % 16'000 == 0) machine.signal({}, provider_signal::overloaded, now, out);
    collect();
    if (number_ % 4 != 0 && running.size() > (more ? 0 : 20)) end_one();
    if (!more && running.size() > 20) end_one();
    ++number_;
  }

  admission machine;
  effects out;
  instant now{};
  std::vector<request_id> running;
  std::uint64_t runs_opened = 0;
  std::uint64_t ended = 0;

 private:
  /// The root first.
  using tree = std::array<run_id, 4>;

  std::uint64_t draw() noexcept {
    drawn_ = drawn_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    return drawn_ >> 33;
  }

  void open() {
    run_options what;
    what.limit = {1'000'000, 1'000, 1'000'000, 1'000'000};
    tree made{};
    for (run_id& each : made) {
      const auto opened = machine.open_run(what, now);
      if (!opened) return;
      each = *opened;
      what = {};
      what.parent = *opened;
      what.funding = each == made[1] ? run_funding::carve : run_funding::cap;
      what.limit = {100'000, 100, 100'000, 100'000};
      ++runs_opened;
    }
    trees_.push_back(made);
  }

  void renew_a_run() {
    const std::size_t place = draw() % trees_.size();
    for (std::size_t depth = 4; depth-- > 0;) machine.close_run(trees_[place][depth], now, out);
    trees_[place] = trees_.back();
    trees_.pop_back();
    open();
  }

  request next() {
    request made;
    made.cost = {.tokens = 1'000 + static_cast<std::int64_t>(draw() % 1'000), .output_tokens = 300};
    made.workload = workload(static_cast<std::uint8_t>(draw() % max_workloads));
    made.tenant = tenant(1 + draw() % 3);
    made.model = model(draw() % 2 == 0 ? "large" : "small");
    if (draw() % 4 != 0) made.run = trees_[draw() % trees_.size()].back();
    if (draw() % 2 == 0) made.deadline = now + std::chrono::milliseconds(20 + draw() % 200);
    made.tag = number_;
    return made;
  }

  void collect() {
    for (const effect& one : out.list) {
      if (one.what == effect::kind::granted) {
        running.push_back(one.id);
        machine.set_stoppable(one.id, true, now, aside_);
      }
    }
    out.clear();
    while (!aside_.list.empty()) {
      std::swap(out, aside_);
      collect();
    }
  }

  void end_one() {
    const std::size_t place = draw() % running.size();
    const request_id id = running[place];
    running[place] = running.back();
    running.pop_back();
    const auto output = static_cast<std::int64_t>(20 + draw() % 300);
    (void)machine.report(id, {700, output / 2, -1, 0}, now, out);
    machine.finish(id, ending::released, usage{700, output}, now, out);
    ++ended;
    collect();
  }

  std::uint64_t number_ = 0;
  std::uint64_t drawn_ = 42;
  std::vector<tree> trees_;
  effects aside_;
};

}  // namespace

TEST_CASE("with everything switched on, with room and without, the steady state asks for no memory") {
  for (const bool more : {false, true}) {
    CAPTURE(more);
    everybody all;
    for (int i = 0; i < 400'000; ++i) all.round(more);
    const std::uint64_t before = allocations;
    const std::uint64_t ended = all.ended;
    for (int i = 0; i < 30'000; ++i) all.round(more);
    const std::uint64_t asked_for = allocations - before;
    CHECK(asked_for == 0);
    CHECK(all.ended > ended + 10'000);
    CHECK(all.runs_opened > 5'000);
    const statistics seen = all.machine.statistics();
    CHECK(seen.tenants == 2);
    CHECK(seen.all.admitted_total > 10'000);
    CHECK((!more || (seen.all.admitted_after_wait_total > 1'000 && seen.all.shed_total > 100)));
    const auto wrong = all.machine.broken_invariant();
    CHECK_MESSAGE(!wrong, wrong.value_or(""));
  }
}
