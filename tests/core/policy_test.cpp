#include <sluice/core/policy.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <string>

using namespace sluice;

namespace {

/// What `validate` says about a default policy over 32 slots and 1,000 tokens after `change`.
template <typename Change>
std::string complaint(Change change) {
  policy checked({32, 1'000});
  change(checked);
  const auto done = validate(checked);
  if (done) return "fine";
  CHECK(done.error().is(errc::invalid_configuration));
  CHECK(done.error().message().find('\n') == std::string::npos);
  return done.error().message();
}

}  // namespace

TEST_CASE("by default interactive has three quarters, batch an eighth that may be preempted beyond it") {
  const policy made({32, 1'000});
  REQUIRE(made.classes.size() == 2);
  CHECK(made[interactive].name == "interactive");
  CHECK(made[interactive].floor == capacity{24, 750});
  CHECK_FALSE(made[interactive].preemptible);
  CHECK(made[batch].name == "batch");
  CHECK(made[batch].floor == capacity{4, 125});
  CHECK(made[batch].preemptible);
  CHECK(made[interactive].priority > made[batch].priority);
  CHECK(made[batch].ceiling == capacity{unlimited, unlimited});
  CHECK(made[interactive].restore_within == std::chrono::seconds(2));
  CHECK(made.max_waiting == 10'000);
  CHECK(made.max_preemptions == 2);
  CHECK(made.revision == 1);
}

TEST_CASE("the default policy is valid over any capacity, and batch has a slot as soon as there are two") {
  for (std::int64_t slots = 0; slots <= 70; ++slots) {
    CAPTURE(slots);
    const policy made({slots, slots * 37});
    CHECK(validate(made).has_value());
    CHECK(made[batch].floor.slots >= (slots > 1 ? 1 : 0));
    for (const std::int64_t tokens : {slots, slots + 1, slots * 7 / 4})
      CHECK(validate(policy({slots, tokens})).has_value());
  }
  CHECK(policy({2, 2})[interactive].floor == capacity{1, 1});
  CHECK(policy({2, 2})[batch].floor == capacity{1, 1});
  // Of one slot batch can have no floor, and tokens alone would be none.
  CHECK(policy({1, 800})[batch].floor == capacity{});
  CHECK(validate(policy({0, 800})).has_value());
  CHECK(validate(policy({800, 0})).has_value());
  CHECK(validate(policy({unlimited, unlimited})).has_value());
  CHECK(validate(policy({1, unlimited})).has_value());
}

TEST_CASE("classes are added up to sixteen, and found by name") {
  policy made({32, 1'000});
  const workload audit = made.add_class(class_policy("audit"));
  CHECK(audit.index() == 2);
  CHECK(made[audit].name == "audit");
  CHECK(*made.find("audit") == audit);
  CHECK(*made.find("batch") == batch);
  const auto missing = made.find("adit");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().is(errc::invalid_argument));
  CHECK(missing.error().message() == "there is no class 'adit'; the policy has interactive, batch, audit");
  while (made.classes.size() < max_workloads) made.add_class(class_policy("c" + std::to_string(made.classes.size())));
  CHECK(validate(made).has_value());
  CHECK_THROWS_AS(made.add_class(class_policy("too many")), error_exception);
  CHECK(made.classes.size() == max_workloads);
}

TEST_CASE("each wrong field is named, with its numbers") {
  CHECK(complaint([](policy&) {}) == "fine");
  CHECK(complaint([](policy& p) { p.total.slots = -1; }) == "capacity.slots: must not be negative, is -1");
  CHECK(complaint([](policy& p) { p.total.tokens = -7; }) == "capacity.tokens: must not be negative, is -7");
  CHECK(complaint([](policy& p) { p[batch].floor.slots = -2; }) ==
        "classes.batch.floor.slots: must not be negative, is -2");
  CHECK(complaint([](policy& p) { p[batch].floor.tokens = -2; }) ==
        "classes.batch.floor.tokens: must not be negative, is -2");
  CHECK(complaint([](policy& p) { p[batch].ceiling.slots = -3; }) ==
        "classes.batch.ceiling.slots: must not be negative, is -3");
  CHECK(complaint([](policy& p) { p[interactive].ceiling.tokens = -4; }) ==
        "classes.interactive.ceiling.tokens: must not be negative, is -4");
  CHECK(complaint([](policy& p) {
          p[batch].restore_within = std::chrono::milliseconds(-1);
        }).starts_with("classes.batch.restore_within: must not be negative, is -1000000"));
  CHECK(complaint([](policy& p) { p.max_preemptions = -1; }) == "max_preemptions: must be 0 to 255, is -1");
  CHECK(complaint([](policy& p) { p.max_preemptions = 256; }) == "max_preemptions: must be 0 to 255, is 256");
}

TEST_CASE("a name that would not stand in one line of a log is refused") {
  CHECK(complaint([](policy& p) { p.add_class(class_policy("a\nb")); }) ==
        "classes[2].name: must not hold control characters");
  CHECK(complaint([](policy& p) { p.add_class(class_policy("a\x1b[31m")); }) ==
        "classes[2].name: must not hold control characters");
  CHECK(complaint([](policy& p) { p.add_class(class_policy(std::string(65, 'a'))); }) ==
        "classes[2].name: 65 bytes long, at most 64 are allowed");
  CHECK(complaint([](policy& p) { p.add_class(class_policy(std::string(64, 'a'))); }) == "fine");
}

TEST_CASE("floors are within ceilings, within the pool, and all together within the pool") {
  std::string said = complaint([](policy& p) { p[batch].ceiling.slots = 3; });
  CHECK(said.starts_with("classes.batch.floor.slots: 4 is above the class's ceiling of 3"));
  CHECK(said.find("classes.batch.ceiling.slots") != std::string::npos);
  said = complaint([](policy& p) { p[batch].floor.tokens = 1'001; });
  CHECK(said.starts_with("classes.batch.floor.tokens: 1001 is above the pool's 1000"));
  CHECK(said.find("capacity.tokens") != std::string::npos);
  said = complaint([](policy& p) { p[batch].floor.slots = 9; });
  CHECK(said.starts_with("classes.batch.floor.slots: the floors 24 + 9 are more than the pool's 32"));
  // The sum of floors does not wrap.
  said = complaint([](policy& p) {
    p.total = {unlimited, unlimited};
    p[interactive].floor = {unlimited, unlimited};
    p[batch].floor = {1, 0};
  });
  CHECK(said.starts_with("classes.batch.floor.slots: the floors unlimited + 1 are more"));
  CHECK(complaint([](policy& p) { p[batch].floor.slots = 8; }) == "fine");
}

TEST_CASE("names are unique and not empty, and the first two are given") {
  CHECK(complaint([](policy& p) {
          p.classes.pop_back();
        }).starts_with("classes: the first two must be interactive and batch"));
  CHECK(complaint([](policy& p) { std::swap(p.classes[0], p.classes[1]); }).starts_with("classes: the first two"));
  CHECK(complaint([](policy& p) { p.add_class(class_policy("")); }) == "classes[2].name: must not be empty");
  CHECK(complaint([](policy& p) {
          p.add_class(class_policy("batch"));
        }).starts_with("classes[2].name: 'batch' is the name of classes[1] already"));
  CHECK(complaint([](policy& p) {
          while (p.classes.size() < 17) p.classes.emplace_back("c" + std::to_string(p.classes.size()));
        }) == "classes: 17 classes, at most 16 are allowed");
}
