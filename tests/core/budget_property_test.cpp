// The run tree against one that keeps a list of what happened and adds it up anew for each question.
#include "core/budget.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;

namespace {

using numbers = std::array<wide, budget_axis_count>;

numbers numbers_of(const run_limits& some) { return {some.tokens, some.calls, some.tool_calls, some.money}; }
numbers numbers_of(const spending& some) { return {some.tokens, some.calls, some.tool_calls, some.money}; }

struct plain_run {
  run_id id{};
  std::optional<std::size_t> parent;
  run_funding funding = run_funding::share;
  numbers limit{};
  numbers finalise{};
  numbers spent_here{};
  bool open = true;
};

struct plain_reservation {
  std::size_t run = 0;
  spending amount{};
};

/// Obviously right, and slow.
class plain_tree {
 public:
  std::vector<plain_run> runs;
  std::vector<plain_reservation> live;

  [[nodiscard]] bool carved(std::size_t run) const {
    return runs[run].parent.has_value() && runs[run].funding == run_funding::carve;
  }

  /// Whether what is charged to `below` is charged to `run`.
  [[nodiscard]] bool pays(std::size_t run, std::size_t below) const {
    while (below != run) {
      if (carved(below) || !runs[below].parent) return false;
      below = *runs[below].parent;
    }
    return true;
  }

  [[nodiscard]] bool kept(std::size_t run) const {
    if (runs[run].open) return true;
    for (const plain_reservation& each : live) {
      if (each.run == run) return true;
    }
    for (std::size_t child = run + 1; child < runs.size(); ++child) {
      if (runs[child].parent == run && kept(child)) return true;
    }
    return false;
  }

  [[nodiscard]] bool chargeable(std::size_t run) const {
    return runs[run].open && (!runs[run].parent || chargeable(*runs[run].parent));
  }

  [[nodiscard]] wide reserved(std::size_t run, std::size_t axis) const {
    wide sum = 0;
    for (const plain_reservation& each : live) {
      if (pays(run, each.run)) sum += numbers_of(each.amount)[axis];
    }
    for (std::size_t child = run + 1; child < runs.size(); ++child) {
      if (!carved(child) || !kept(child) || !pays(run, *runs[child].parent)) continue;
      if (runs[child].limit[axis] != unlimited) sum += runs[child].limit[axis];
    }
    return sum;
  }

  [[nodiscard]] wide spent(std::size_t run, std::size_t axis) const {
    wide sum = 0;
    for (std::size_t below = run; below < runs.size(); ++below) {
      if (pays(run, below)) sum += runs[below].spent_here[axis];
      if (carved(below) && below != run && !kept(below) && pays(run, *runs[below].parent)) sum += spent(below, axis);
    }
    return sum;
  }

  [[nodiscard]] budget_verdict::kind verdict(std::size_t run, const spending& asked, bool finalising) const {
    bool wait = false;
    for (std::size_t payer = 0; payer <= run; ++payer) {
      if (!pays(payer, run)) continue;
      for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
        if (runs[payer].limit[axis] == unlimited) continue;
        const wide limit = runs[payer].limit[axis] - (finalising ? 0 : runs[payer].finalise[axis]);
        const wide wanted = numbers_of(asked)[axis];
        if (spent(payer, axis) + wanted > limit) return budget_verdict::kind::exhausted;
        wait = wait || spent(payer, axis) + reserved(payer, axis) + wanted > limit;
      }
    }
    return wait ? budget_verdict::kind::wait : budget_verdict::kind::ok;
  }
};

class paired_trees {
 public:
  paired_trees(budget& tested, std::uint64_t seed, bool overrun) : tested_(tested), draw_(seed), overrun_(overrun) {}

  void step() {
    const std::uint64_t dice = draw_() % 100;
    if (dice < 8 || plain_.runs.empty()) {
      open();
    } else if (dice < 50) {
      reserve();
    } else if (dice < 56) {
      charge();
    } else if (dice < 90) {
      end();
    } else if (dice < 98 || draw_() % 2 == 0) {
      extend(pick(plain_.runs.size()));
    } else {
      close(pick(plain_.runs.size()));
    }
  }

  /// Whether nothing more can be charged, because all roots have been closed.
  [[nodiscard]] bool over() const { return plain_.runs.size() == 24 && !any_chargeable(); }

  /// Every account of every run.
  void compare() {
    std::size_t kept = 0;
    for (std::size_t run = 0; run < plain_.runs.size(); ++run) {
      const plain_run& each = plain_.runs[run];
      const bool is_kept = plain_.kept(run);
      REQUIRE((tested_.find(each.id) != no_run) == plain_.chargeable(run));
      REQUIRE(tested_.balance(each.id).has_value() == each.open);
      REQUIRE((tested_[each.id.index].generation == each.id.generation) == is_kept);
      if (!is_kept) continue;
      ++kept;
      std::size_t reached = 0;
      for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
        const budget_account& account = tested_[each.id.index].accounts[axis];
        REQUIRE(account.limit == each.limit[axis]);
        REQUIRE(account.reserved() == plain_.reserved(run, axis));
        REQUIRE(account.spent == plain_.spent(run, axis));
        for (std::size_t next = reached; next < budget::thresholds.size(); ++next) {
          const wide used = account.committed;
          if (account.limit != unlimited && used > 0 && used * 100 >= wide{account.limit} * budget::thresholds[next]) {
            reached = next + 1;
          }
        }
        REQUIRE((overrun_ || account.limit == unlimited || account.committed <= account.limit));
      }
      REQUIRE(tested_[each.id.index].told >= reached);
    }
    REQUIRE(tested_.size() == kept);
  }

  /// Ends what is left, in any order, and finds that nothing is.
  void drain() {
    while (!plain_.live.empty()) end();
    for (std::size_t run = 0; run < plain_.runs.size(); ++run) {
      if (!plain_.runs[run].open || carries_carve(run)) continue;
      for (const budget_account& account : tested_[plain_.runs[run].id.index].accounts)
        REQUIRE(account.reserved() == 0);
    }
    while (tested_.size() != 0) close(pick(plain_.runs.size()));
    compare();
  }

  /// Reservations asked for and ended, runs opened, extended and closed.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t granted() const { return granted_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  [[nodiscard]] std::size_t pick(std::size_t count) { return static_cast<std::size_t>(draw_() % count); }
  [[nodiscard]] std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(draw_() % static_cast<std::uint64_t>(bound));
  }
  [[nodiscard]] std::int64_t limit() { return draw_() % 4 == 0 ? unlimited : below(200); }
  [[nodiscard]] spending some() {
    return {below(30), below(2), below(2), draw_() % 50 == 0 ? std::int64_t{1} << 62 : below(20)};
  }

  [[nodiscard]] bool any_chargeable() const {
    for (std::size_t run = 0; run < plain_.runs.size(); ++run) {
      if (plain_.chargeable(run)) return true;
    }
    return false;
  }

  [[nodiscard]] bool carries_carve(std::size_t run) const {
    for (std::size_t child = run + 1; child < plain_.runs.size(); ++child) {
      if (plain_.carved(child) && plain_.kept(child) && plain_.pays(run, *plain_.runs[child].parent)) return true;
    }
    return false;
  }

  void open() {
    if (plain_.runs.size() >= 24) return;
    run_options what;
    plain_run made;
    if (!plain_.runs.empty() && draw_() % 5 != 0) {
      made.parent = pick(plain_.runs.size());
      what.parent = plain_.runs[*made.parent].id;
    }
    what.funding = made.funding = static_cast<run_funding>(draw_() % 3);
    what.limit = {limit(), limit(), limit(), limit()};
    if (!made.parent) {
      what.finalise_reserve.tokens = std::min(what.limit.tokens, below(40));
      what.finalise_reserve.tool_calls = std::min(what.limit.tool_calls, below(2));
      what.finalise_reserve.money = std::min(what.limit.money, below(10));
    }
    const bool shares = made.parent && made.funding == run_funding::share;
    made.limit = shares ? numbers{unlimited, unlimited, unlimited, unlimited} : numbers_of(what.limit);
    made.finalise = numbers_of(what.finalise_reserve);

    bool fine = !made.parent || plain_.chargeable(*made.parent);
    if (fine && made.parent && made.funding == run_funding::carve) fine = fundable(*made.parent, what.limit);
    ++operations_;
    const auto opened = tested_.open(what, plain_.runs.size());
    REQUIRE(opened.has_value() == fine);
    if (!opened) return;
    made.id = *opened;
    plain_.runs.push_back(made);
  }

  [[nodiscard]] bool fundable(std::size_t parent, const run_limits& limit) const {
    spending asked{limit.tokens, limit.calls, limit.tool_calls, limit.money};
    std::size_t number = 0;
    for (const auto axis : {&spending::tokens, &spending::calls, &spending::tool_calls, &spending::money}) {
      for (std::size_t payer = 0; asked.*axis == unlimited && payer <= parent; ++payer) {
        if (plain_.pays(payer, parent) && plain_.runs[payer].limit[number] != unlimited) return false;
      }
      if (asked.*axis == unlimited) asked.*axis = 0;
      ++number;
    }
    return plain_.verdict(parent, asked, false) == budget_verdict::kind::ok;
  }

  void reserve() {
    const std::size_t run = pick(plain_.runs.size());
    if (!plain_.chargeable(run)) return;
    const spending asked = some();
    const bool finalising = draw_() % 10 == 0;
    const std::uint32_t node = tested_.find(plain_.runs[run].id);
    ++operations_;
    const budget_verdict verdict = tested_.check(node, asked, finalising);
    REQUIRE(verdict.what == plain_.verdict(run, asked, finalising));
    if (verdict.what != budget_verdict::kind::ok) {
      ++refused_;
      return;
    }
    ++granted_;
    tested_.reserve(node, asked);
    plain_.live.push_back({run, asked});
  }

  void charge() {
    const std::size_t run = pick(plain_.runs.size());
    spending what = some();
    if (draw_() % 16 == 0) what.tool_calls = -1;
    ++operations_;
    const auto done = tested_.charge(plain_.runs[run].id, what);
    if (what.tool_calls < 0 || !plain_.chargeable(run)) {
      REQUIRE(!done);
      REQUIRE(done.error().why ==
              (what.tool_calls < 0 ? charge_refusal::cause::negative : charge_refusal::cause::not_open));
      return;
    }
    const budget_verdict::kind verdict = plain_.verdict(run, what, false);
    REQUIRE(done.has_value() == (verdict == budget_verdict::kind::ok));
    if (!done) {
      REQUIRE((done.error().why == charge_refusal::cause::exhausted) == (verdict == budget_verdict::kind::exhausted));
      ++refused_;
      return;
    }
    ++granted_;
    const numbers spent = numbers_of(what);
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) plain_.runs[run].spent_here[axis] += spent[axis];
  }

  void end() {
    if (plain_.live.empty()) return;
    const std::size_t which = pick(plain_.live.size());
    const plain_reservation ended = plain_.live[which];
    plain_.live[which] = plain_.live.back();
    plain_.live.pop_back();
    ++operations_;
    const std::uint32_t node = plain_.runs[ended.run].id.index;
    if (draw_() % 4 == 0) {
      tested_.release(node, ended.amount);
      return;
    }
    spending used = ended.amount;
    used.tokens = below(used.tokens + 1);
    used.money = below(used.money + 1);
    if (overrun_ && draw_() % 8 == 0) used.tokens += 15;
    const numbers more = numbers_of(used);
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) plain_.runs[ended.run].spent_here[axis] += more[axis];
    tested_.settle(node, ended.amount, used);
  }

  void extend(std::size_t run) {
    plain_run& extended = plain_.runs[run];
    const spending more{below(50), below(3), below(3), draw_() % 10 == 0 ? unlimited : below(50)};
    const bool fine = extended.open && !plain_.carved(run);
    ++operations_;
    REQUIRE(tested_.extend(extended.id, more).has_value() == fine);
    if (!fine) return;
    for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
      extended.limit[axis] = std::min<wide>(unlimited, extended.limit[axis] + numbers_of(more)[axis]);
    }
  }

  void close(std::size_t run) {
    ++operations_;
    REQUIRE(tested_.close(plain_.runs[run].id) == plain_.runs[run].open);
    plain_.runs[run].open = false;
  }

  budget& tested_;
  plain_tree plain_;
  std::mt19937_64 draw_;
  bool overrun_;
  std::uint64_t operations_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace

TEST_CASE("a million events on random trees leave the accounts that adding up anew gives") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t wanted = 100'000;
#else
  constexpr std::uint64_t wanted = 1'000'000;
#endif
  budget tested;
  std::uint64_t operations = 0;
  std::uint64_t granted = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 0; operations < wanted; ++seed) {
    paired_trees trees(tested, seed, seed % 2 == 1);
    for (int event = 0; event < 400 && !trees.over(); ++event) {
      trees.step();
      if (event % 16 == 0) trees.compare();
    }
    trees.drain();
    operations += trees.operations();
    granted += trees.granted();
    refused += trees.refused();
  }
  CHECK(tested.size() == 0);
  // One chunk of cells has been enough, over and over.
  CHECK(tested.cells() == 256);
  // The trees were neither always rich nor always poor.
  CHECK(granted > operations / 10);
  CHECK(refused > operations / 10);
}
