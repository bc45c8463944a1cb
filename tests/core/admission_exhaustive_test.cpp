#include "core/paired_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

// Every interleaving of a small world's events: two classes, at most three waiters. A state that has been reached on
// one way is not entered again on another; what the machine itself remembers beyond the model's state is exercised by
// the replay of each way from the start.

using namespace sluice;
using namespace sluice::core;
using sluice::core::testing::paired_machine;
using sluice::core::testing::reference_model;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

struct move {
  enum class kind : std::uint8_t { arrive, cancel, expire, release, reconcile, shrink, preempt };
  kind what{};
  /// Which waiter, which grant, or which kind of request.
  std::uint8_t which = 0;
};
constexpr std::array<const char*, 7> names{"arrive", "cancel", "expire", "release", "reconcile", "shrink", "preempt"};

/// Two policies, so that a shrink can be taken back.
policy rules(std::uint64_t revision) {
  const bool large = revision % 2 == 1;
  policy made(large ? capacity{3, 6} : capacity{1, 3});
  made.classes[0].floor = large ? capacity{2, 4} : capacity{1, 2};
  made.classes[0].priority = 1;
  made.classes[0].restore_within = duration(1);
  made.classes[1].floor = large ? capacity{1, 2} : capacity{};
  made.classes[1].preemptible = true;
  made.max_waiting = 3;
  made.max_preemptions = 1;
  made.revision = revision;
  return made;
}

class world {
 public:
  static constexpr std::uint64_t most_arrivals = 4;
  static constexpr std::int64_t latest = 3;
  static constexpr std::uint64_t most_revisions = 3;

  paired_machine both{rules(1)};
  paired_machine::complaint wrong;

  /// `lent`: batch has borrowed the whole pool before anything else happens.
  explicit world(bool lent) {
    for (int i = 0; lent && i < 3; ++i) play({move::kind::arrive, 1});
    arrivals_ = 0;
  }

  void play(move next) {
    switch (next.what) {
      case move::kind::arrive: arrive(next.which); break;
      case move::kind::cancel: note(both.cancel(waiting()[next.which].asked.tag, now_)); break;
      case move::kind::expire:
        now_ += duration(1);
        note(both.tick(now_));
        break;
      case move::kind::release: note(both.finish(running()[next.which].asked.tag, ending::released, {}, now_)); break;
      case move::kind::reconcile: note(both.report(running()[next.which].asked.tag, {1, 0, 0, 1}, now_)); break;
      case move::kind::shrink: note(both.reconfigure(rules(both.model().rules().revision + 1), now_)); break;
      case move::kind::preempt: stop(running()[next.which]); break;
    }
    for (const auto& one : std::vector<reference_model::piece>(running())) {
      if (one.workload() == 1 && !one.stoppable) note(both.set_stoppable(one.asked.tag, true, now_));
    }
  }

  [[nodiscard]] std::vector<move> moves() const {
    std::vector<move> all;
    const auto add = [&all](move::kind what, std::size_t which) {
      all.push_back({what, static_cast<std::uint8_t>(which)});
    };
    if (arrivals_ < most_arrivals) {
      for (std::size_t i = 0; i < 8; ++i) add(move::kind::arrive, i);
    }
    for (std::size_t i = 0; i < waiting().size(); ++i) add(move::kind::cancel, i);
    if (now_ < instant{} + duration(latest)) add(move::kind::expire, 0);
    for (std::size_t i = 0; i < running().size(); ++i) {
      add(move::kind::release, i);
      if (running()[i].hold > 1) add(move::kind::reconcile, i);
      if (running()[i].stopping) add(move::kind::preempt, i);
    }
    if (both.model().rules().revision < most_revisions) add(move::kind::shrink, 0);
    return all;
  }

  /// Equal for states that nothing can tell apart from now on.
  [[nodiscard]] std::string signature() const {
    std::string text;
    const auto put = [&text](std::int64_t number) { text += static_cast<char>(number + 64); };
    put(now_.time_since_epoch().count());
    put(static_cast<std::int64_t>(both.model().rules().revision));
    put(static_cast<std::int64_t>(arrivals_));
    for (const auto* const list : {&waiting(), &running()}) {
      put(static_cast<std::int64_t>(list->size()));
      for (const auto& one : *list) {
        put(static_cast<std::int64_t>(one.workload()));
        put(one.asked.cost.tokens);
        put(one.asked.deadline == never ? 99 - 64 : one.asked.deadline.time_since_epoch().count());
        put(one.arrived.time_since_epoch().count());
        put(one.asked.age.preemptions);
        put(one.hold);
        put(one.used.input_tokens);
        put(one.stopping ? 1 : 0);
        // Ages and numbers matter by their order alone.
        put(std::count_if(list->begin(), list->end(),
                          [&one](const auto& other) { return other.sequence < one.sequence; }));
        put(std::count_if(list->begin(), list->end(), [&one](const auto& other) { return other.number < one.number; }));
      }
    }
    return text;
  }

  /// Lets everything end; then every request must have had one answer and nothing may be held.
  void drain() {
    while (!running().empty() || !waiting().empty()) {
      note(running().empty() ? both.cancel(waiting().front().asked.tag, now_)
                             : both.finish(running().front().asked.tag, ending::released, {}, now_));
      if (wrong) return;
    }
    note(both.check_empty());
  }

 private:
  [[nodiscard]] const std::vector<reference_model::piece>& waiting() const { return both.model().waiting; }
  [[nodiscard]] const std::vector<reference_model::piece>& running() const { return both.model().holding; }

  void note(const paired_machine::complaint& what) {
    if (!wrong) wrong = what;
  }

  void arrive(std::uint8_t which) {
    ++arrivals_;
    request made;
    made.tag = ++tags_;
    made.workload = workload(which & 1U);
    made.cost = {.tokens = (which & 2U) != 0 ? 3 : 1};
    if ((which & 4U) != 0) made.deadline = now_ + duration(1);
    note(both.arrive(made, now_));
  }

  /// The work has stopped, and comes again with its age.
  void stop(const reference_model::piece& victim) {
    request again = victim.asked;
    again.tag = ++tags_;
    again.deadline = never;
    again.age = both.age_when_preempted(victim.asked.tag).value();
    note(both.finish(victim.asked.tag, ending::preempted, usage{1, 0}, now_));
    note(both.arrive(again, now_));
  }

  instant now_{};
  std::uint64_t arrivals_ = 0;
  std::uint64_t tags_ = 0;
};

std::string written(const std::vector<move>& way) {
  std::string text;
  for (const move& one : way)
    text += std::string(names[static_cast<std::size_t>(one.what)]) + ' ' + std::to_string(one.which) + ", ";
  return text;
}

}  // namespace

TEST_CASE("every interleaving in a small world keeps the invariants and answers each request once") {
  constexpr std::size_t depth = sanitized ? 4 : 5;
  std::array<std::uint64_t, names.size()> played{};
  std::size_t most_waiting = 0;
  for (const bool lent : {false, true}) {
    std::unordered_set<std::string> seen;
    std::vector<std::vector<move>> level{{}};
    std::uint64_t events = 0;
    const auto at_the_end_of = [lent](const std::vector<move>& way) {
      world reached(lent);
      reached.both.replaying = true;
      for (const move& one : way) reached.play(one);
      reached.both.replaying = false;
      return reached;
    };
    for (std::size_t length = 0; length < depth; ++length) {
      std::vector<std::vector<move>> next;
      for (const std::vector<move>& way : level) {
        for (const move& one : at_the_end_of(way).moves()) {
          world after = at_the_end_of(way);
          after.play(one);
          ++events;
          ++played[static_cast<std::size_t>(one.what)];
          std::vector<move> longer = way;
          longer.push_back(one);
          if (after.wrong) FAIL(written(longer) << *after.wrong);
          most_waiting = std::max(most_waiting, after.both.machine().waiting());
          if (!seen.insert(after.signature()).second) continue;
          after.drain();
          if (after.wrong) FAIL(written(longer) << "drain: " << *after.wrong);
          next.push_back(std::move(longer));
        }
      }
      level = std::move(next);
    }
    MESSAGE(std::string(lent ? "from a pool lent to batch: " : "from an empty pool: ")
            << seen.size() << " states, " << events << " events");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    CHECK(played[i] > 0);
  }
  CHECK(most_waiting == 3);
}
