#include "agent/pools/wait_graph.hpp"

#include <sluice/core/cost.hpp>
#include <sluice/core/workload.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

using sluice::errc;
using sluice::error;
using sluice::interactive;
using sluice::unlimited;
using sluice::workload;
using sluice::agent::detail::wait_graph;

namespace {

wait_graph::pool::ceilings no_ceilings() {
  wait_graph::pool::ceilings most;
  most.fill(unlimited);
  return most;
}

class place final : public wait_graph::place {
 public:
  using wait_graph::place::place;
  std::optional<error> told;

 private:
  void refused(error why) noexcept override { told = std::move(why); }
};

/// A graph, and its runs and places, which live as long as it does unless they are reset.
struct world {
  wait_graph graph;
  std::deque<std::string> names;
  std::deque<std::unique_ptr<wait_graph::run>> runs;
  std::deque<std::unique_ptr<wait_graph::pool>> pools;
  std::deque<std::unique_ptr<place>> places;

  ~world() {
    places.clear();
    while (!runs.empty()) runs.pop_back();
  }

  wait_graph::run& run(const std::string& name, wait_graph::run* parent = nullptr, bool awaited = true) {
    names.push_back(name);
    runs.push_back(std::make_unique<wait_graph::run>(graph, names.back(), parent, awaited));
    return *runs.back();
  }
  wait_graph::pool& pool(std::int64_t size, const wait_graph::pool::ceilings& most = no_ceilings()) {
    pools.push_back(std::make_unique<wait_graph::pool>(graph, size, most));
    return *pools.back();
  }
  place& in(wait_graph::run& whose, wait_graph::pool& where, workload as = interactive) {
    places.push_back(std::make_unique<place>(whose, where, as));
    return *places.back();
  }
  place& held(wait_graph::run& whose, wait_graph::pool& where, workload as = interactive) {
    place& made = in(whose, where, as);
    made.hold();
    return made;
  }
};

bool contains(const std::optional<error>& why, const std::string& text) {
  return why && why->is(errc::refused) && why->message().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a parent that holds the only place and waits for a child that needs one: found at once, with the chain") {
  world all;
  auto& pool = all.pool(1);
  auto& nightly = all.run("nightly");
  auto& child = all.run("page 7", &nightly);
  all.held(nightly, pool);
  const auto why = all.in(child, pool).want();
  REQUIRE(why);
  CHECK(why->is(errc::refused));
  CHECK(why->message() ==
        "would wait for ever: nightly/page 7 needs a run's place, and the only one is held by nightly, which waits for "
        "it; "
        "let those that wait give theirs back meanwhile (run_permit::suspended_while), or raise the pool's slots");
}

TEST_CASE("a second place for the run that has the only one") {
  world all;
  auto& pool = all.pool(1);
  auto& only = all.run("only");
  all.held(only, pool);
  CHECK(contains(all.in(only, pool).want(), "the only one is held by only itself"));
}

TEST_CASE("a holder that is merely slow is no circle, and neither is a cousin that waits for one that is live") {
  world all;
  auto& pool = all.pool(1);
  auto& slow = all.run("slow");
  auto& other = all.run("other");
  all.held(slow, pool);
  CHECK_FALSE(all.in(other, pool).want());

  auto& second = all.pool(1);
  all.held(other, second);
  // It waits for `other`, which waits for `slow`, which waits for nothing.
  auto& cousin = all.run("cousin");
  CHECK_FALSE(all.in(cousin, second).want());
}

TEST_CASE("an ancestor that has given its place back is no holder") {
  world all;
  auto& pool = all.pool(1);
  auto& parent = all.run("parent");
  auto& child = all.run("child", &parent);
  auto& held = all.held(parent, pool);
  held.leave();
  auto& wanted = all.in(child, pool);
  CHECK_FALSE(wanted.want());
  wanted.hold();
  SUBCASE("and asks for it again while the child, which waits for nothing, still has it") { CHECK_FALSE(held.want()); }
  SUBCASE("and asks for it again while the child has it and waits for its own child, which wants one") {
    CHECK_FALSE(held.want());
    CHECK(contains(all.in(all.run("below", &child), pool).want(), "parent/child/below needs a run's place"));
    CHECK_FALSE(held.told);
  }
  SUBCASE("another one may hold it meanwhile") {
    wanted.leave();
    auto& stranger = all.run("stranger");
    all.held(stranger, pool);
    CHECK_FALSE(held.want());
  }
}

TEST_CASE("a child that its parent does not wait for") {
  world all;
  auto& pool = all.pool(1);
  auto& parent = all.run("parent");
  auto& task = all.run("task", &parent, false);
  all.held(parent, pool);
  auto& wanted = all.in(task, pool);
  CHECK_FALSE(wanted.want());
  SUBCASE("until it does: the one that waits for the place is told") {
    wait_graph::batch tasks(parent);
    tasks.add(task);
    tasks.wait_for(1, 0);
    CHECK(contains(wanted.told,
                   "parent/task needs a run's place, and the only one is held by parent, which waits for it"));
  }
  SUBCASE("until it waits for another: nothing happens") {
    auto& second = all.run("second", &parent, false);
    wait_graph::batch tasks(parent);
    tasks.add(second);
    tasks.wait_for(1, 0);
    CHECK_FALSE(wanted.told);
  }
}

TEST_CASE("two roots hold the two places, and a child of each wants one: the second one's wait is refused") {
  world all;
  auto& pool = all.pool(2);
  auto& left = all.run("left");
  auto& right = all.run("right");
  auto& left_child = all.run("child", &left);
  auto& right_child = all.run("child", &right);
  all.held(left, pool);
  auto& of_right = all.held(right, pool);
  auto& first = all.in(left_child, pool);
  CHECK_FALSE(first.want());
  auto& second = all.in(right_child, pool);
  const auto why = second.want();
  CHECK(
      contains(why,
               "right/child needs a run's place, and all 2 are held by left, which waits for left/child, which needs a "
               "place held by right, which waits for it, and right, which waits for it;"));
  CHECK_FALSE(first.told);
  // Its parent gets that error, and ends: the first one goes on.
  right_child.close();
  of_right.leave();
  first.hold();
  CHECK_FALSE(first.told);
}

TEST_CASE("a circle over two pools, and one over grandchildren") {
  world all;
  auto& one = all.pool(1);
  auto& two = all.pool(1);
  auto& a = all.run("a");
  auto& b = all.run("b");
  SUBCASE("two pools") {
    all.held(a, one);
    all.held(b, two);
    CHECK_FALSE(all.in(a, two).want());
    CHECK(contains(all.in(b, one).want(),
                   "b needs a run's place, and the only one is held by a, which needs a place held by it"));
  }
  SUBCASE("grandchildren") {
    auto& child = all.run("child", &a);
    auto& grandchild = all.run("grandchild", &child);
    all.held(a, one);
    CHECK(contains(all.in(grandchild, one).want(), "held by a, which waits for a/child, which waits for it"));
  }
  SUBCASE("a grandchild of each, over both") {
    auto& below_a = all.run("x", &all.run("child", &a));
    auto& below_b = all.run("y", &all.run("child", &b));
    all.held(a, one);
    all.held(b, two);
    auto& first = all.in(below_a, two);
    CHECK_FALSE(first.want());
    CHECK(contains(all.in(below_b, one).want(),
                   "b/child/y needs a run's place, and the only one is held by a, which waits for "
                   "a/child, which waits for a/child/x, which needs a place held by b, which "
                   "waits for b/child, which waits for it"));
    CHECK_FALSE(first.told);
  }
}

TEST_CASE("a quorum that can still be met is no circle; one that cannot is") {
  world all;
  auto& pool = all.pool(1);
  auto& parent = all.run("parent");
  all.held(parent, pool);
  auto& one = all.run("one", &parent, false);
  auto& two = all.run("two", &parent, false);
  auto& three = all.run("three", &parent, false);
  wait_graph::batch tasks(parent);
  tasks.add(one);
  tasks.add(two);
  tasks.add(three);
  tasks.wait_for(2, 0);
  auto& first = all.in(one, pool);
  CHECK_FALSE(first.want());
  SUBCASE("a second one wants a place") {
    CHECK(contains(all.in(two, pool).want(), "parent/two needs a run's place"));
    CHECK_FALSE(first.told);
  }
  SUBCASE("another one has failed") {
    tasks.remove(three);
    tasks.wait_for(2, 0);
    CHECK(contains(first.told, "parent/one needs a run's place"));
  }
  SUBCASE("another one has succeeded") {
    tasks.remove(three);
    tasks.wait_for(1, 0);
    CHECK_FALSE(first.told);
  }
  SUBCASE("some have not begun, and one that runs can end") {
    tasks.wait_for(2, 1);
    CHECK_FALSE(first.told);
    CHECK_FALSE(all.in(two, pool).want());
    CHECK(contains(all.in(three, pool).want(), "parent/three"));
  }
}

TEST_CASE("of several that wait, one of the circle is refused, not a bystander") {
  world all;
  auto& pool = all.pool(1);
  auto& parent = all.run("parent");
  auto& task = all.run("task", &parent, false);
  auto& bystander = all.run("bystander");
  all.held(parent, pool);
  auto& wanted = all.in(task, pool);
  auto& later = all.in(bystander, pool);
  CHECK_FALSE(wanted.want());
  CHECK_FALSE(later.want());
  wait_graph::batch tasks(parent);
  tasks.add(task);
  tasks.wait_for(1, 0);
  CHECK(wanted.told);
  CHECK_FALSE(later.told);
}

TEST_CASE("a place that is given to one whose child wants one closes the circle") {
  world all;
  auto& pool = all.pool(1);
  auto& stranger = all.run("stranger");
  auto& held = all.held(stranger, pool);
  auto& parent = all.run("parent");
  auto& child = all.run("child", &parent);
  auto& of_child = all.in(child, pool);
  auto& of_parent = all.in(parent, pool);
  CHECK_FALSE(of_child.want());
  CHECK_FALSE(of_parent.want());
  held.leave();
  of_parent.hold();
  CHECK(contains(of_child.told, "held by parent, which waits for it"));
}

TEST_CASE("a class's ceiling makes a circle of its own") {
  world all;
  auto most = no_ceilings();
  most[sluice::batch.index()] = 1;
  auto& pool = all.pool(3, most);
  auto& parent = all.run("parent");
  auto& child = all.run("child", &parent);
  auto& live = all.run("live");
  all.held(parent, pool, sluice::batch);
  all.held(live, pool, interactive);
  SUBCASE("the same class") {
    CHECK(contains(all.in(child, pool, sluice::batch).want(), "the only one is held by parent"));
  }
  SUBCASE("another class") { CHECK_FALSE(all.in(child, pool, interactive).want()); }
}

TEST_CASE("a pool without places is closed for now, not a circle") {
  world all;
  auto& pool = all.pool(0);
  CHECK_FALSE(all.in(all.run("one"), pool).want());
}

TEST_CASE("what has ended is waited for by nobody") {
  world all;
  auto& pool = all.pool(1);
  auto& parent = all.run("parent");
  all.held(parent, pool);
  SUBCASE("a child that was closed, whose coroutine runs on") {
    auto& child = all.run("child", &parent);
    child.close();
    CHECK_FALSE(all.in(child, pool).want());
  }
  SUBCASE("a task whose group is waited for no longer") {
    auto& task = all.run("task", &parent, false);
    {
      wait_graph::batch tasks(parent);
      tasks.add(task);
      tasks.wait_for(1, 0);
      tasks.end();
      CHECK_FALSE(all.in(task, pool).want());
    }
    CHECK_FALSE(all.in(task, pool).want());
  }
  SUBCASE("a place that is wanted no longer") {
    auto& other = all.run("other");
    auto& second = all.pool(1);
    all.held(other, second);
    auto& wanted = all.in(other, pool);
    CHECK_FALSE(wanted.want());
    wanted.leave();
    CHECK_FALSE(all.in(parent, second).want());
  }
}

TEST_CASE("a long chain is cut short in the message, and a long list of holders") {
  world all;
  auto& pool = all.pool(5);
  auto& root = all.run("r");
  auto* last = &root;
  for (int depth = 0; depth < 20; ++depth) last = &all.run("c", last);
  for (int holder = 0; holder < 5; ++holder) {
    auto& other = all.run("h" + std::to_string(holder), &root, false);
    all.held(holder == 0 ? root : other, pool);
    if (holder == 0) continue;
    // Each waits for the root's place, in a pool of one.
    auto& own = all.pool(1);
    all.held(root, own);
    CHECK_FALSE(all.in(other, own).want());
  }
  const auto why = all.in(*last, pool).want();
  REQUIRE(why);
  CHECK(why->message().find("and so on, to one that waits for it") != std::string::npos);
  CHECK(why->message().find("and 2 more") != std::string::npos);
  CHECK(why->message().size() < 2'000);
}
