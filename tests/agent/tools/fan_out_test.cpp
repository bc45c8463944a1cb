#include "agent/tools/fan_out.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using sluice::agent::detail::fan_out;

namespace {

class turn final : public fan_out::batch {
 public:
  explicit turn(std::shared_ptr<fan_out> of, std::shared_ptr<fan_out::unit> lender = nullptr)
      : batch(std::move(of), std::move(lender)) {}
  ~turn() override { rest(); }
  int told = 0;

 private:
  void room() noexcept override { ++told; }
};

using held = std::shared_ptr<fan_out::unit>;

/// Null when there is none.
held take(turn& by) {
  auto one = std::make_shared<fan_out::unit>();
  return by.take(*one) ? one : nullptr;
}

}  // namespace

TEST_CASE("no more run than the width, and what becomes free goes on in order") {
  const auto root = fan_out::of_root(2);
  turn first(root);
  turn second(root);
  turn third(root);
  const held a = take(first);
  const held b = take(first);
  CHECK(a);
  CHECK(b);
  CHECK_FALSE(take(first));
  CHECK_FALSE(take(second));
  CHECK_FALSE(take(third));
  CHECK(root->running() == 2);
  CHECK(root->waiting() == 3);

  a->give_back();
  CHECK(first.told == 1);
  CHECK(second.told == 0);
  const held c = take(first);
  CHECK(c);
  // The first asks again, and stands behind the others.
  CHECK_FALSE(take(first));
  b->give_back();
  c->give_back();
  CHECK(second.told == 1);
  CHECK(third.told == 1);
  CHECK(first.told == 1);
  CHECK(root->running() == 2);
}

TEST_CASE("what was set aside is not lost with its batch") {
  const auto root = fan_out::of_root(1);
  turn first(root);
  turn last(root);
  const held a = take(first);
  {
    turn leaving(root);
    CHECK_FALSE(take(leaving));
    CHECK_FALSE(take(last));
    a->give_back();
    CHECK(leaving.told == 1);
    CHECK(last.told == 0);
    CHECK(root->running() == 1);
  }
  CHECK(last.told == 1);
  last.rest();
  CHECK(root->running() == 0);
  CHECK(root->waiting() == 0);
}

TEST_CASE("giving back twice is harmless") {
  const auto root = fan_out::of_root(1);
  turn one(root);
  const held a = take(one);
  a->give_back();
  a->give_back();
  CHECK(root->running() == 0);
  CHECK(take(one));
}

TEST_CASE("a handler that waits lends its unit, to one call at a time") {
  const auto root = fan_out::of_root(1);
  turn top(root);
  const held outer = take(top);
  turn below(root, outer);
  const held inner = take(below);
  CHECK(inner);
  CHECK(root->running() == 1);
  CHECK_FALSE(take(below));
  // A second batch of the same handler waits for the same unit.
  turn beside(root, outer);
  CHECK_FALSE(take(beside));
  inner->give_back();
  CHECK(below.told == 1);
  CHECK(beside.told == 0);
  const held again = take(below);
  CHECK(again);
  again->give_back();
  CHECK(beside.told == 1);
  const held other = take(beside);
  CHECK(other);
  other->give_back();
  CHECK(root->running() == 1);
  outer->give_back();
  CHECK(root->running() == 0);
}

TEST_CASE("a batch takes more than what it was lent only while the root has some over") {
  const auto root = fan_out::of_root(3);
  turn top(root);
  const held outer = take(top);
  turn below(root, outer);
  std::vector<held> inner;
  for (held one = take(below); one; one = take(below)) inner.push_back(one);
  // The unit that is lent, and the two that were free.
  CHECK(inner.size() == 3);
  CHECK(root->running() == 3);
  for (const held& each : inner) each->give_back();
  // What is set aside for the batch is its lender's unit again.
  CHECK(below.told == 1);
  CHECK(root->running() == 1);
}

TEST_CASE("a loan goes as deep as handlers wait for each other") {
  const auto root = fan_out::of_root(1);
  turn top(root);
  std::vector<held> chain{take(top)};
  std::vector<std::unique_ptr<turn>> turns;
  for (int level = 0; level < 64; ++level) {
    turns.push_back(std::make_unique<turn>(root, chain.back()));
    chain.push_back(take(*turns.back()));
    REQUIRE(chain.back());
    CHECK(root->running() == 1);
  }
  while (!chain.empty()) {
    chain.back()->give_back();
    chain.pop_back();
    if (!turns.empty()) turns.pop_back();
  }
  CHECK(root->running() == 0);
}

TEST_CASE("a handler that ends while its unit is lent leaves it to the borrower") {
  const auto root = fan_out::of_root(1);
  turn top(root);
  const held outer = take(top);
  turn below(root, outer);
  const held inner = take(below);
  outer->give_back();
  CHECK(root->running() == 1);
  CHECK_FALSE(take(top));
  CHECK_FALSE(take(below));
  inner->give_back();
  CHECK(top.told == 1);
  CHECK(below.told == 0);
  held last = take(top);
  CHECK(last);
  last->give_back();
  // Its lender is gone, so that it has a unit of its own now.
  CHECK(below.told == 1);
}

TEST_CASE("a run below may have a narrower bound") {
  const auto root = fan_out::of_root(4);
  const auto narrow = fan_out::below(root, 2);
  turn wide(root);
  turn inside(narrow);
  turn beside(narrow);
  const held a = take(inside);
  const held b = take(beside);
  CHECK_FALSE(take(inside));
  CHECK(take(wide));
  CHECK(root->running() == 3);
  CHECK(narrow->running() == 2);
  b->give_back();
  CHECK(inside.told == 1);
  CHECK(narrow->running() == 2);
}

TEST_CASE("a loan counts under the bounds between lender and borrower") {
  const auto root = fan_out::of_root(2);
  turn top(root);
  const held outer = take(top);
  const auto narrow = fan_out::below(root, 1);
  turn one(narrow, outer);
  turn two(narrow, outer);
  const held lent = take(one);
  CHECK(narrow->running() == 1);
  CHECK(root->running() == 1);
  // The root has one over, but the narrow bound has none.
  CHECK_FALSE(take(two));
  lent->give_back();
  CHECK(two.told == 1);
  CHECK(narrow->running() == 1);
  CHECK(root->running() == 1);
}

TEST_CASE("a batch whose lender is idle goes on when a narrower bound has room again") {
  const auto root = fan_out::of_root(3);
  turn top(root);
  const held x = take(top);
  const held y = take(top);
  const auto narrow = fan_out::below(root, 1);
  turn of_x(narrow, x);
  turn of_y(narrow, y);
  const held runs = take(of_x);
  CHECK_FALSE(take(of_y));
  runs->give_back();
  CHECK(of_y.told == 1);
}

namespace {

/// A whole tree of handlers, each of which ends, or opens batches of calls and waits for them.
class forest {
 public:
  explicit forest(std::uint32_t seed) : random_(seed), width_(1 + pick(6)), root_(fan_out::of_root(width_)) {}

  struct bound {
    std::shared_ptr<fan_out> of;
    bound* above;
    std::int64_t width;
    std::int64_t leaves = 0;
  };
  struct call {
    held unit = std::make_shared<fan_out::unit>();
    bound* where = nullptr;
    std::vector<std::size_t> batches;
    std::size_t of = 0;
    bool ended = false;
  };
  struct open_batch {
    std::unique_ptr<turn> calls;
    bound* where = nullptr;
    std::size_t owner = 0;
    std::int64_t to_start = 0;
    std::int64_t running = 0;
  };

  void play() {
    bounds_.push_back(std::make_unique<bound>(bound{root_, nullptr, width_}));
    for (std::int64_t i = pick(3); i >= 0; --i) open(bounds_.front().get(), nobody);
    for (int step = 0;; ++step) {
      for (std::size_t i = 0; i < batches_.size(); ++i) pump(i);
      check();
      std::vector<std::size_t> leaves;
      for (std::size_t i = 0; i < calls_.size(); ++i) {
        if (!calls_[i]->ended && calls_[i]->batches.empty()) leaves.push_back(i);
      }
      if (leaves.empty()) break;
      const std::size_t one = leaves[static_cast<std::size_t>(pick(static_cast<std::int64_t>(leaves.size())))];
      if (step < 300 && pick(3) == 0) {
        for (std::int64_t i = pick(2); i >= 0; --i) open(below(calls_[one]->where), one);
      } else {
        finish(one);
      }
    }
    // Whatever waited has had its turn: nothing is left over, and nothing is stuck.
    for (const auto& each : batches_) {
      CHECK(each.to_start == 0);
      CHECK(each.running == 0);
    }
    CHECK(root_->running() == 0);
    CHECK(root_->waiting() == 0);
  }

 private:
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

  std::int64_t pick(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(below));
  }

  bound* below(bound* above) {
    if (pick(4) != 0) return above;
    const std::int64_t width = 1 + pick(above->width);
    bounds_.push_back(std::make_unique<bound>(bound{fan_out::below(above->of, width), above, width}));
    return bounds_.back().get();
  }

  void open(bound* where, std::size_t owner) {
    open_batch made;
    made.calls = std::make_unique<turn>(where->of, owner == nobody ? nullptr : calls_[owner]->unit);
    made.where = where;
    made.owner = owner;
    made.to_start = 1 + pick(5);
    if (owner != nobody) calls_[owner]->batches.push_back(batches_.size());
    batches_.push_back(std::move(made));
  }

  void pump(std::size_t which) {
    if (batches_[which].calls == nullptr) return;
    while (batches_[which].to_start > 0) {
      auto made = std::make_unique<call>();
      if (!batches_[which].calls->take(*made->unit)) return;
      --batches_[which].to_start;
      ++batches_[which].running;
      made->where = batches_[which].where;
      made->of = which;
      calls_.push_back(std::move(made));
    }
    batches_[which].calls->rest();
  }

  void finish(std::size_t which) {
    call& ends = *calls_[which];
    ends.ended = true;
    ends.unit->give_back();
    open_batch& of = batches_[ends.of];
    if (--of.running > 0 || of.to_start > 0) return;
    // The turn is over: its owner goes on.
    of.calls.reset();
    if (of.owner == nobody) return;
    auto& open = calls_[of.owner]->batches;
    open.erase(std::find(open.begin(), open.end(), ends.of));
  }

  void check() {
    for (const auto& each : bounds_) each->leaves = 0;
    for (const auto& each : calls_) {
      if (each->ended || !each->batches.empty()) continue;
      for (bound* at = each->where; at != nullptr; at = at->above) ++at->leaves;
    }
    for (const auto& each : bounds_) {
      REQUIRE(each->leaves <= each->width);
      REQUIRE(each->of->running() <= each->width);
    }
    for (const auto& each : batches_) {
      if (each.to_start == 0 || each.running > 0) continue;
      // Nobody waits while nothing runs: neither in the tree, nor under the bound that it waits for, nor at its lender.
      REQUIRE(bounds_.front()->leaves > 0);
      if (each.owner == nobody) continue;
      const auto& beside = calls_[each.owner]->batches;
      bool another_borrows =
          std::any_of(beside.begin(), beside.end(), [&](std::size_t b) { return batches_[b].running > 0; });
      bool bound_is_full = false;
      for (bound* at = each.where; at != nullptr; at = at->above) bound_is_full = bound_is_full || at->leaves > 0;
      REQUIRE((another_borrows || (each.where != calls_[each.owner]->where && bound_is_full)));
    }
  }

  std::minstd_rand random_;
  std::int64_t width_;
  std::shared_ptr<fan_out> root_;
  std::vector<std::unique_ptr<bound>> bounds_;
  std::vector<std::unique_ptr<call>> calls_;
  std::vector<open_batch> batches_;
};

}  // namespace

TEST_CASE("random trees of handlers: never over a bound, always getting on, nothing left at the end") {
  for (std::uint32_t seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    forest(seed).play();
  }
}
