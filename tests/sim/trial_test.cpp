#include <sluice/sim/trial.hpp>

#include <sluice/sim/arms.hpp>
#include <sluice/sim/summary.hpp>
#include <sluice/sim/traffic.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;
using sluice::never;

namespace {

constexpr instant zero{};

trace_request asked(instant arrival, std::int64_t input, std::int64_t output, sluice::workload of = interactive) {
  trace_request made;
  made.arrival = arrival;
  made.workload = of;
  made.input_chars = 4 * input;
  made.max_tokens = 1'000;
  for (auto& each : made.attempts) each = {1, 0, input, output};
  return made;
}

trial_rules at_once() {
  trial_rules rules;
  rules.provider.latency = 0ns;
  return rules;
}

struct tried {
  std::vector<visit> visits;
  trial_result whole;
  decision_log log;
};

tried run(arm& decides, const std::vector<trace_request>& trace, const trial_rules& rules) {
  tried out;
  trace_source source(trace);
  out.whole = run_trial(
      source, decides, rules, [&out](const visit& over) { out.visits.push_back(over); }, &out.log);
  return out;
}

// Starts what comes; one attempt is stopped when another asks for it.
class stopping_arm final : public arm {
 public:
  explicit stopping_arm(bool again) : arm("stopping"), again_(again) {}
  void arrive(const arm_request& what, instant, actions& out) override {
    if (what.workload == batch) {
      victim_ = what.id;
      out.push_back({arm_action::kind::start, what.id, {}});
    } else {
      waiting_ = what.id;
      out.push_back({arm_action::kind::stop, victim_, {}});
    }
  }
  void gave_up(std::uint32_t, instant, actions&) override {}
  void ended(std::uint32_t id, attempt_end how, const sluice::usage& used, instant now, actions& out) override {
    if (how != attempt_end::stopped) return;
    stopped_at = now;
    spent = used;
    out.push_back({arm_action::kind::start, waiting_, {}});
    out.push_back({again_ ? arm_action::kind::start : arm_action::kind::refuse, id, {}});
  }
  instant stopped_at = never;
  sluice::usage spent{};

 private:
  bool again_;
  std::uint32_t victim_ = 0;
  std::uint32_t waiting_ = 0;
};

}  // namespace

TEST_CASE("a request alone: latency, prompt, first token, end") {
  const auto arm = make_open_arm();
  trial_rules rules;
  const auto out = run(*arm, {asked(zero + 1s, 400, 200)}, rules);
  REQUIRE(out.visits.size() == 1);
  const auto& only = out.visits.front();
  CHECK(only.succeeded);
  CHECK(only.attempts == 1);
  CHECK(only.arrival == zero + 1s);
  // 40 ms, 100 ms of prompt, 2.5 ms a token.
  CHECK(only.time_to_first_token() == 142'500us);
  CHECK(only.latency() == 640ms);
  CHECK(only.tokens == 600);
  CHECK(only.wasted_tokens == 0);
  CHECK(out.whole.requests == 1);
  CHECK(out.whole.end == zero + 1'640ms);
  CHECK(out.log.text() == "1000000000 start 0\n1640000000 done 0\n");
}

TEST_CASE("a refusal is followed by a wait that doubles, with the trace's jitter, four times in all") {
  const auto arm = make_fail_fast_arm({0, 0});
  auto request = asked(zero + 1s, 400, 200);
  request.attempts[0].jitter = 0.5;
  request.attempts[1].jitter = 1.5;
  request.attempts[2].jitter = 1;
  const auto out = run(*arm, {request}, at_once());
  const std::string why(to_string(sluice::reason::no_room));
  CHECK(out.log.text() == "1000000000 refuse 0 " + why + "\n1125000000 refuse 0 " + why + "\n1875000000 refuse 0 " +
                              why + "\n2875000000 refuse 0 " + why + "\n");
  REQUIRE(out.visits.size() == 1);
  CHECK_FALSE(out.visits[0].succeeded);
  CHECK(out.visits[0].attempts == 4);
  CHECK(out.visits[0].refusals == 4);
  CHECK(out.visits[0].rejections == 0);
  CHECK(out.visits[0].end == zero + 2'875ms);
  auto rules = at_once();
  rules.callers.attempts = 2;
  const auto impatient = make_fail_fast_arm({0, 0});
  CHECK(run(*impatient, {request}, rules).visits[0].attempts == 2);
}

TEST_CASE("each attempt has its own draws: the provider answers 429, and the second attempt is a shorter one") {
  const auto arm = make_open_arm();
  auto rules = at_once();
  rules.provider.slots = 1;
  rules.provider.queue = 0;
  auto second = asked(zero + 100ms, 400, 400);
  second.attempts[1] = {1, 0, 400, 40};
  const auto out = run(*arm, {asked(zero, 0, 100), second}, rules);
  REQUIRE(out.visits.size() == 2);
  CHECK(out.visits[0].latency() == 250ms);
  CHECK(out.visits[1].rejections == 1);
  CHECK(out.visits[1].attempts == 2);
  CHECK(out.visits[1].succeeded);
  // 250 ms of waiting, then 100 ms of prompt and 100 of output.
  CHECK(out.visits[1].latency() == 450ms);
  CHECK(out.visits[1].tokens == 440);
}

TEST_CASE("what is stopped is wasted, and starts from its beginning when the arm lets it") {
  stopping_arm arm(true);
  const auto out = run(arm, {asked(zero, 400, 400, batch), asked(zero + 600ms, 0, 4)}, at_once());
  CHECK(arm.stopped_at == zero + 600ms);
  CHECK(arm.spent == sluice::usage{400, 200});
  REQUIRE(out.visits.size() == 2);
  const auto& stopped = out.visits[1];
  CHECK(stopped.workload == batch);
  CHECK(stopped.succeeded);
  CHECK(stopped.preemptions == 1);
  CHECK(stopped.attempts == 1);
  CHECK(stopped.wasted_tokens == 600);
  CHECK(stopped.tokens == 1'400);
  // Its first token is that of the answer it got in the end.
  CHECK(stopped.first_token > zero + 600ms);
}

TEST_CASE("what is stopped may be refused, and is then tried again by its caller") {
  stopping_arm arm(false);
  auto rules = at_once();
  rules.stop_delay = 100ms;
  const auto out = run(arm, {asked(zero, 400, 400, batch), asked(zero + 600ms, 0, 4)}, rules);
  CHECK(arm.stopped_at == zero + 700ms);
  // It went on until it had really stopped.
  CHECK(arm.spent == sluice::usage{400, 240});
  const auto& stopped = out.visits[1];
  CHECK(stopped.refusals == 1);
  CHECK(stopped.attempts == 2);
  CHECK(stopped.succeeded);
}

TEST_CASE("what ends while it is being stopped has ended well") {
  stopping_arm arm(true);
  auto rules = at_once();
  rules.stop_delay = 10s;
  const auto out = run(arm, {asked(zero, 400, 400, batch), asked(zero + 600ms, 0, 4)}, rules);
  CHECK(arm.stopped_at == never);
  REQUIRE(out.visits.size() == 2);
  CHECK(out.visits[0].workload == batch);
  CHECK(out.visits[0].succeeded);
  CHECK(out.visits[0].latency() == 1'100ms);
  // The arm never let the other one in.
  CHECK_FALSE(out.visits[1].succeeded);
  CHECK(out.visits[1].end == never);
}

TEST_CASE("callers that hang up at their deadline leave the line, the provider and the wait alike") {
  queue_rules one;
  one.slots = 1;
  const auto arm = make_queue_arm("queue", one);
  auto rules = at_once();
  rules.callers.done_within = caller_rules::filled(500ms);
  rules.callers.hang_up_at_deadline = true;
  const auto out = run(*arm, {asked(zero, 400, 400), asked(zero + 100ms, 400, 400), asked(zero + 450ms, 0, 40)}, rules);
  REQUIRE(out.visits.size() == 3);
  // The first is stopped in mid-answer; the second, let in at that instant, 100 ms later; the third is served.
  CHECK(out.visits[0].end == zero + 500ms);
  CHECK_FALSE(out.visits[0].succeeded);
  CHECK(out.visits[0].wasted_tokens == 400 + 160);
  CHECK(out.visits[1].end == zero + 600ms);
  CHECK(out.visits[1].wasted_tokens == 400);
  CHECK(out.visits[2].succeeded);
  CHECK(out.visits[2].end == zero + 700ms);

  const auto refusing = make_fail_fast_arm({0, 0});
  const auto waits = run(*refusing, {asked(zero, 400, 400)}, rules);
  // In the second wait, from 250 ms to 750 ms.
  CHECK(waits.visits[0].end == zero + 500ms);
  CHECK(waits.visits[0].attempts == 2);
}

TEST_CASE("callers that do not hang up are served late") {
  queue_rules one;
  one.slots = 1;
  const auto arm = make_queue_arm("queue", one);
  auto rules = at_once();
  rules.callers.done_within = caller_rules::filled(500ms);
  const auto out = run(*arm, {asked(zero, 400, 400)}, rules);
  CHECK(out.visits[0].succeeded);
  CHECK(served_within(out.visits, interactive, 500ms) == 0);
}

TEST_CASE("callers with the patience of retries leave the line when all their waits would be over") {
  queue_rules one;
  one.slots = 1;
  const auto arm = make_queue_arm("queue", one);
  auto rules = at_once();
  rules.callers.attempts = 3;
  rules.callers.patience_of_retries = true;
  auto second = asked(zero + 100ms, 0, 4);
  second.attempts[0].jitter = 0.5;
  // 125 ms and 500 ms; the third, with 250 ms and 500 ms, is served in time, and then takes as long as it takes.
  const auto out = run(*arm, {asked(zero, 0, 300), second, asked(zero + 200ms, 0, 800)}, rules);
  REQUIRE(out.visits.size() == 3);
  CHECK_FALSE(out.visits[0].succeeded);
  CHECK(out.visits[0].number == 1);
  CHECK(out.visits[0].end == zero + 725ms);
  CHECK(out.visits[0].attempts == 1);
  CHECK(out.visits[1].succeeded);
  CHECK(out.visits[2].succeeded);
  CHECK(out.visits[2].latency() == 2'550ms);
}

TEST_CASE("a provider that changes in mid-run") {
  const auto arm = make_open_arm();
  auto rules = at_once();
  auto slow = rules.provider;
  slow.output_rate = 100;
  rules.changes = {{zero + 500ms, slow}, {zero + 1'500ms, rules.provider}};
  // 200 tokens in 500 ms, 100 in the next second, 100 in 250 ms.
  const auto out = run(*arm, {asked(zero, 0, 400)}, rules);
  CHECK(out.visits[0].latency() == 1'750ms);
}

TEST_CASE("samples are taken at even distances, and show what the arm and the provider hold") {
  queue_rules one;
  one.slots = 1;
  const auto arm = make_queue_arm("queue", one);
  auto rules = at_once();
  rules.sample_every = 100ms;
  const auto out = run(*arm, {asked(zero + 50ms, 0, 100), asked(zero + 60ms, 0, 100, batch)}, rules);
  REQUIRE(out.whole.samples.size() >= 5);
  CHECK(out.whole.samples[0].at == zero);
  CHECK(out.whole.samples[0].provider_running == 0);
  const auto& second = out.whole.samples[1];
  CHECK(second.at == zero + 100ms);
  CHECK(second.provider_running == 1);
  CHECK(second.arm.classes[interactive.index()].held == 1);
  CHECK(second.arm.classes[batch.index()].waiting == 1);
  // The first ends at 300 ms, the second at 550 ms.
  CHECK(out.whole.samples[4].arm.classes[batch.index()].held == 1);
}

TEST_CASE("the same seed gives the same decisions, byte for byte; another gives others") {
  const auto once = [](std::uint64_t seed) {
    const auto arm = make_policy_arm("sluice", sluice::policy({32, 64'000}));
    trial_rules rules;
    rules.callers.done_within = caller_rules::filled(60s);
    return run(*arm, replay_like(seed), rules).log;
  };
  const auto first = once(1);
  const auto again = once(1);
  CHECK(first.lines() > 500);
  CHECK(first.text() == again.text());
  CHECK(first.digest() == again.digest());
  CHECK(first.digest() != once(2).digest());
}

TEST_CASE("every request is accounted for once, whatever the arm") {
  const auto trace = replay_like(3);
  std::vector<std::unique_ptr<arm>> arms;
  arms.push_back(make_open_arm());
  arms.push_back(make_fail_fast_arm({32, 40'000}));
  arms.push_back(make_static_cap_arm({}));
  arms.push_back(make_queue_arm("queue", {}));
  arms.push_back(make_policy_arm("sluice", sluice::policy({32, 64'000})));
  for (const auto& each : arms) {
    CAPTURE(each->name());
    auto out = run(*each, trace, {});
    REQUIRE(out.visits.size() == trace.size());
    CHECK(out.whole.requests == trace.size());
    std::sort(out.visits.begin(), out.visits.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
    for (std::size_t i = 0; i < trace.size(); ++i) {
      const auto& over = out.visits[i];
      REQUIRE(over.number == i);
      REQUIRE(over.arrival == trace[i].arrival);
      REQUIRE(over.end != never);
      if (over.succeeded) {
        REQUIRE(over.first_token > over.arrival);
        REQUIRE(over.first_token <= over.end);
        const auto& last = trace[i].attempts[over.attempts - 1];
        REQUIRE(over.tokens - over.wasted_tokens == last.input_tokens + last.output_tokens);
      } else {
        REQUIRE(over.attempts == 4);
        REQUIRE(over.tokens == over.wasted_tokens);
      }
    }
  }
}
