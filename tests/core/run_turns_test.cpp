// What a run asks for at once has its turn as what others ask for one after the other: forking buys nothing.
#include "core/fair_queue.hpp"
#include "core/logged_gate.hpp"
#include "core/wait_queue.hpp"

#include <sluice/core/admission.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

/// One slot, held by `first`; then whoever is next, one after the other.
class one_slot {
 public:
  one_slot() : machine_(testing::bare({1, 1'000'000})) { arrive("first"); }

  run_id open(run_id parent = {}) {
    run_options what;
    what.parent = parent;
    return machine_.open_run(what, now).value();
  }

  void arrive(const std::string& name, run_id run = {}, instant deadline = never, age kept = {}) {
    request asked;
    asked.cost = {100, 50, 1};
    asked.run = run;
    asked.deadline = deadline;
    asked.age = kept;
    asked.tag = ++tags_;
    names_[asked.tag] = name;
    ids_[name] = machine_.arrive(asked, now, out_);
    take_in();
  }

  void cancel(const std::string& name) {
    CHECK(machine_.cancel(ids_.at(name), now, out_));
    take_in();
  }

  /// Who holds the slot ends; gives who has it then.
  std::string next() {
    CHECK(machine_.finish(holder_, ending::released, std::nullopt, now, out_));
    held_.clear();
    take_in();
    return held_;
  }

  std::string all_in_turn() {
    std::string order;
    while (machine_.waiting() != 0) order += (order.empty() ? "" : " ") + next();
    return order;
  }

  [[nodiscard]] age age_of(const std::string& name) const { return machine_.age_of(ids_.at(name)).value(); }

  instant now{};

 private:
  void take_in() {
    for (const effect& each : out_.list) {
      if (each.what != effect::kind::granted) continue;
      holder_ = each.id;
      held_ = names_.at(each.tag);
    }
    out_.clear();
    CHECK(machine_.broken_invariant().value_or("") == "");
  }

  admission machine_;
  effects out_;
  request_id holder_{};
  std::string held_;
  std::uint64_t tags_ = 0;
  std::map<std::uint64_t, std::string> names_;
  std::map<std::string, request_id> ids_;
};

}  // namespace

TEST_CASE("the children of a run take turns with others, one at a time") {
  one_slot gate;
  const run_id run = gate.open();
  for (const char* name : {"c1", "c2", "c3", "c4"}) gate.arrive(name, gate.open(run));
  gate.arrive("x");
  gate.arrive("y");
  CHECK(gate.next() == "c1");
  // The second child stands behind x and y, but before z.
  gate.arrive("z");
  CHECK(gate.all_in_turn() == "x y c2 z c3 c4");
}

TEST_CASE("two runs that fork take turns") {
  one_slot gate;
  const run_id a = gate.open();
  const run_id b = gate.open();
  for (const char* name : {"a1", "a2", "a3"}) gate.arrive(name, a);
  for (const char* name : {"b1", "b2", "b3"}) gate.arrive(name, b);
  CHECK(gate.all_in_turn() == "a1 b1 a2 b2 a3 b3");
}

TEST_CASE("a run that goes on comes before fresh work, but not with what it starts beside") {
  one_slot gate;
  const run_id run = gate.open();
  gate.arrive("plan", run);
  gate.arrive("x");
  CHECK(gate.next() == "plan");
  gate.arrive("beside", run);
  gate.arrive("y");
  // `plan` has not ended, so that `beside` is no continuation.
  CHECK(gate.next() == "x");
  CHECK(gate.next() == "beside");
  CHECK(gate.next() == "y");
  gate.arrive("z");
  gate.arrive("on", run);
  gate.arrive("fork", run);
  CHECK(gate.all_in_turn() == "on z fork");
}

TEST_CASE("of a run the earliest deadline is shown, in the place of the one before") {
  one_slot gate;
  const run_id run = gate.open();
  gate.arrive("c1", run);
  gate.arrive("x", {}, instant{} + 20s);
  gate.arrive("c2", run, instant{} + 10s);
  gate.arrive("c3", run, instant{} + 30s);
  CHECK(gate.all_in_turn() == "c2 x c3 c1");
}

TEST_CASE("what expires or leaves gives its turn to the next of its run") {
  one_slot gate;
  const run_id run = gate.open();
  gate.arrive("c1", run);
  gate.arrive("c2", run);
  gate.arrive("c3", run);
  gate.arrive("x");
  gate.cancel("c1");
  gate.arrive("y");
  gate.cancel("c3");
  CHECK(gate.all_in_turn() == "x c2 y");
  gate.arrive("c4", run);
  CHECK(gate.next() == "c4");
}

TEST_CASE("one that comes again with its age is not behind its younger siblings, nor behind others") {
  one_slot gate;
  const run_id run = gate.open();
  gate.arrive("c1", run);
  gate.arrive("c2", run);
  gate.arrive("c3", run);
  CHECK(gate.next() == "c1");
  age kept = gate.age_of("c1");
  gate.arrive("x");
  CHECK(gate.next() == "c2");
  ++kept.preemptions;
  gate.arrive("again", run, never, kept);
  CHECK(gate.all_in_turn() == "again x c3");
}

namespace {

/// The same by looking at everything.
class naive_turns {
 public:
  struct waiter {
    std::uint32_t index = 0;
    std::uint32_t root = nowhere;
    bool continuing = false;
    instant deadline = never;
    std::uint64_t rank = 0;
    std::uint64_t sequence = 0;
    bool shown = true;
    // Counts those that were shown after the youngest of their rank had come. It matters where there is no deadline.
    std::uint64_t turn = 0;
    [[nodiscard]] auto place() const { return std::tuple(deadline, rank, deadline == never ? turn : 0, sequence); }
  };

  void push(waiter one) {
    if (one.sequence > newest_) turns_ = 0;
    newest_ = std::max(newest_, one.sequence);
    for (waiter& other : all_) {
      if (one.root == nowhere || other.root != one.root || !other.shown) continue;
      one.shown = one.place() < other.place();
      if (one.shown) {
        one.continuing = other.continuing;
        other.shown = false;
        other.rank = other.sequence;
        other.turn = 0;
      }
      break;
    }
    all_.push_back(one);
  }

  void remove(std::uint32_t index) {
    const auto gone = std::find_if(all_.begin(), all_.end(), [index](const waiter& one) { return one.index == index; });
    const waiter left = *gone;
    all_.erase(gone);
    if (left.root == nowhere || !left.shown) return;
    waiter* next = nullptr;
    for (waiter& one : all_) {
      if (one.root == left.root && (next == nullptr || one.place() < next->place())) next = &one;
    }
    if (next == nullptr) return;
    next->shown = true;
    next->continuing = false;
    next->rank = newest_;
    next->turn = ++turns_;
  }

  [[nodiscard]] std::uint32_t head() const {
    const waiter* best = nullptr;
    for (const waiter& one : all_) {
      if (!one.shown) continue;
      if (best == nullptr || std::tuple(!one.continuing, one.place()) < std::tuple(!best->continuing, best->place()))
        best = &one;
    }
    return best->index;
  }
  [[nodiscard]] const std::vector<waiter>& all() const noexcept { return all_; }

 private:
  std::vector<waiter> all_;
  std::uint64_t newest_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace

TEST_CASE("whoever comes and goes, the next is who it is by looking at everything") {
  tickets all;
  fair_queue flows;
  wait_queue queue(all, flows);
  const std::uint32_t flow = flows.open(0, 0, 1);
  naive_turns naive;
  std::mt19937_64 draw(7);
  std::uint64_t steps_with_lines = 0;
  for (std::uint64_t step = 1; step <= 40'000; ++step) {
    if (naive.all().empty() || (naive.all().size() < 60 && draw() % 100 < 52)) {
      naive_turns::waiter one;
      one.index = all.take();
      one.root = draw() % 3 == 0 ? nowhere : static_cast<std::uint32_t>(draw() % 4);
      one.continuing = one.root != nowhere && draw() % 8 == 0;
      one.deadline = draw() % 4 == 0 ? instant{} + duration(draw() % 20) : never;
      // Some come again with the age that they had.
      one.sequence = step;
      one.rank = one.root != nowhere && draw() % 4 == 0 ? draw() % step : step;
      all[one.index].sequence = one.sequence;
      all[one.index].deadline = one.deadline;
      all[one.index].slots = 1;
      queue.push(one.index, {flow, one.continuing, one.rank, one.root});
      naive.push(one);
    } else {
      const std::uint32_t index = draw() % 2 == 0 ? naive.head() : naive.all()[draw() % naive.all().size()].index;
      naive.remove(index);
      static_cast<void>(queue.remove(index));
      all.give(index);
    }
    REQUIRE(queue.size() == naive.all().size());
    if (naive.all().empty()) continue;
    REQUIRE(queue.head_of(flow) == naive.head());
    const auto earliest = std::min_element(naive.all().begin(), naive.all().end(),
                                           [](const auto& a, const auto& b) { return a.deadline < b.deadline; });
    REQUIRE(queue.earliest_deadline() == earliest->deadline);
    steps_with_lines += std::any_of(naive.all().begin(), naive.all().end(), [](const auto& one) { return !one.shown; });
  }
  CHECK(steps_with_lines > 30'000);
}
