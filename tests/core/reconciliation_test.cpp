// Live correction of a hold, and the final one.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::core;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

/// One request of 100 + 1,000 in a pool of `tokens`.
logged_gate one_running(std::int64_t tokens) {
  logged_gate gate(bare({10, tokens}));
  CHECK(gate.arrive("a", {.tokens = 1'100, .output_tokens = 1'000}) == "granted a");
  return gate;
}

}  // namespace

TEST_CASE("the prompt's part comes back as it is known, and the rest shrinks with what remains") {
  // 1,000 + 500. The prompt was really 800; margin 128.
  logged_gate gate(bare({10, 10'000}));
  CHECK(gate.arrive("a", {.tokens = 1'500, .output_tokens = 500}) == "granted a");
  CHECK(gate.report("a", {800, 200, 300, 128}) == "-");
  CHECK(gate.held() == 428);
  CHECK(gate.report("a", {800, 500, 0, 128}) == "-");
  CHECK(gate.held() == 128);
  CHECK(gate.report("a", {800, 600, 0, 128}) == "-");
  CHECK(gate.held() == 228);
  CHECK(gate.report("a", {800, 200, 300, 128}) == "-");
  CHECK(gate.held() == 228);
  CHECK(gate.finish("a", usage{800, 600}) == "-");
  CHECK(gate.all().consumed_tokens_total == 1'400);
  CHECK(gate.all().refunded_tokens_total == 100);
  CHECK(gate.held() == 0);
}

TEST_CASE("without a remainder the hold is the input and the reserved output") {
  auto gate = one_running(1'200);
  CHECK(gate.report("a", {20, 5}) == "-");
  CHECK(gate.held() == 1'020);
  CHECK(gate.finish("a", usage{20, 5}) == "-");
  CHECK(gate.all().refunded_tokens_total == 1'075);
  CHECK(gate.all().in_flight == 0);
}

TEST_CASE("an overrun expands the hold and keeps others out") {
  auto gate = one_running(2'400);
  CHECK(gate.report("a", {100, 1'400}) == "-");
  CHECK(gate.held() == 1'500);
  CHECK(gate.arrive("b", {.tokens = 1'100}, batch, {.may_wait = false}) == "rejected b (no_room)");
  CHECK(gate.last.available == 900);
  CHECK(gate.last.shortfall == 200);
  CHECK(gate.finish("a", usage{100, 1'400}) == "-");
  CHECK(gate.all().refunded_tokens_total == 0);
  CHECK(gate.all().overrun_tokens_total == 400);
}

TEST_CASE("an overrun may go beyond the pool; nothing starts until it is gone") {
  auto gate = one_running(1'200);
  CHECK(gate.report("a", {100, 5'000}) == "-");
  CHECK(gate.held() == 5'100);
  CHECK(gate.arrive("b", {.tokens = 1}) == "-");
  CHECK(gate.explain("b").available == 0);
  CHECK(gate.explain("b").shortfall == 3'901);
  CHECK(gate.finish("a") == "granted b");
}

TEST_CASE("reports that go down change nothing") {
  auto gate = one_running(5'000);
  CHECK(gate.report("a", {50, 300}) == "-");
  CHECK(gate.report("a", {50, 200}) == "-");
  CHECK(gate.finish("a") == "-");
  CHECK(gate.all().consumed_tokens_total == 350);
}

TEST_CASE("what was reported last counts when the end brings no usage") {
  auto gate = one_running(5'000);
  CHECK(gate.report("a", {100, 250}) == "-");
  CHECK(gate.finish("a") == "-");
  CHECK(gate.all().consumed_tokens_total == 350);
  CHECK(gate.all().refunded_tokens_total == 750);
}

TEST_CASE("the final usage wins") {
  auto gate = one_running(5'000);
  CHECK(gate.report("a", {100, 100}) == "-");
  CHECK(gate.finish("a", usage{100, 900}) == "-");
  CHECK(gate.all().consumed_tokens_total == 1'000);
}

TEST_CASE("a report after the end is an error and changes nothing") {
  auto gate = one_running(5'000);
  CHECK(gate.finish("a", usage{10, 10}) == "-");
  CHECK(gate.report("a", {500, 500}).find("already released") != std::string::npos);
  CHECK(gate.held() == 0);
  CHECK(gate.all().consumed_tokens_total == 20);
  CHECK(gate.finish("a") == "holds nothing");
}

TEST_CASE("freed tokens go to a waiter in the same event, and are refunded once") {
  auto gate = one_running(2'000);
  CHECK(gate.arrive("b", {.tokens = 1'100, .output_tokens = 1'000}) == "-");
  CHECK(gate.report("a", {20, 100, 900, 50}) == "-");
  CHECK(gate.held() == 950);
  CHECK(gate.report("a", {20, 400, 600, 50}) == "granted b");
  CHECK(gate.held() == 650 + 1'100);
  CHECK(gate.finish("a", usage{20, 400}) == "-");
  CHECK(gate.all().consumed_tokens_total == 420);
  CHECK(gate.all().refunded_tokens_total == 680);
}

TEST_CASE("the margin is kept when nothing remains") {
  auto gate = one_running(5'000);
  CHECK(gate.report("a", {100, 1'000, 0, 128}) == "-");
  CHECK(gate.held() == 128);
  CHECK(gate.report("a", {100, 1'200, 0, 100}) == "-");
  CHECK(gate.held() == 300);
}

TEST_CASE("a hold does not exceed the reservation and the overrun, whatever the margin") {
  auto gate = one_running(5'000);
  CHECK(gate.report("a", {100, 10, 990, 500}) == "-");
  CHECK(gate.held() == 1'100);
  CHECK(gate.report("a", {100, 1'200, 0, 4'000}) == "-");
  CHECK(gate.held() == 1'300);
}

TEST_CASE("a remainder above the reserved output is an error that names it, and changes nothing") {
  auto gate = one_running(5'000);
  const std::string message = gate.report("a", {100, 10, 1'001, 0});
  CHECK(message.find("remaining_output = 1001") != std::string::npos);
  CHECK(message.find("1000") != std::string::npos);
  CHECK(gate.held() == 1'100);
  CHECK(gate.report("a", {-1, 0}).find("input_tokens = -1") != std::string::npos);
  CHECK(gate.report("a", {0, -2}).find("output_tokens = -2") != std::string::npos);
  CHECK(gate.report("a", {0, 0, 0, -3}).find("margin = -3") != std::string::npos);
  CHECK(gate.held() == 1'100);
}

TEST_CASE("a sequence of reports, one of them stale") {
  auto gate = one_running(5'000);
  CHECK(gate.report("a", {50, 10}) == "-");
  CHECK(gate.held() == 1'050);
  CHECK(gate.report("a", {40, 5}) == "-");
  CHECK(gate.held() == 1'050);
  CHECK(gate.report("a", {50, 20}) == "-");
  CHECK(gate.held() == 1'050);
  CHECK(gate.report("a", {50, 1'200}) == "-");
  CHECK(gate.held() == 1'250);
}

TEST_CASE("where the split is not known, all that is reported counts against the whole") {
  logged_gate gate(bare({10, 5'000}));
  CHECK(gate.arrive("a", {.tokens = 1'000}) == "granted a");
  CHECK(gate.report("a", {600, 300}) == "-");
  CHECK(gate.held() == 1'000);
  CHECK(gate.report("a", {600, 300, 200, 50}) == "-");
  CHECK(gate.held() == 250);
  CHECK(gate.report("a", {600, 700}) == "-");
  CHECK(gate.held() == 1'300);
}

TEST_CASE("a hold that grows may change whose turn it is") {
  // Batch is first, within its floor, with a head that the pool cannot carry, so nobody may pass. When its own work
  // overruns, its head is no longer within the floor, and interactive's is.
  auto rules = bare({4, 200});
  rules[batch].priority = 1;
  rules[batch].floor = {3, 60};
  rules[interactive].floor = {1, 100};
  const workload other = rules.add_class(class_policy("other"));
  logged_gate gate(rules);
  CHECK(gate.arrive("holder", {.tokens = 150}, other) == "granted holder");
  CHECK(gate.arrive("b1", {.tokens = 20, .output_tokens = 10}, batch) == "granted b1");
  CHECK(gate.arrive("b2", {.tokens = 40}, batch) == "-");
  CHECK(gate.arrive("i", {.tokens = 5}) == "-");
  CHECK(gate.explain("i").bound == constraint::order);
  CHECK(gate.report("b1", {10, 20}) == "granted i");
}
