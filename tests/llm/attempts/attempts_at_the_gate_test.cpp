// What other attempts ask of the gate: room, budgets and pauses, for one call and for many.
#include "llm/attempts/patient_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::attempt;
using sluice::errc;
using sluice::instant;
using sluice::llm::failure;
using sluice::llm::request;
using sluice::testing::scripted_exchange;

TEST_CASE("nobody waits with a permit, also when the error's body never ends") {
  for (const bool endless : {false, true}) {
    CAPTURE(endless);
    patient f;
    auto refusal = status(429, R"({"error":{"message":"slow)").with_header("retry-after", "20");
    f.add(endless ? std::move(refusal).with_silence() : std::move(refusal));
    const auto chat = f.start(f.caller.chat(question()));
    if (endless) {
      CHECK(f.in_flight() == 1);
      f.pass(5s);
    }
    CHECK(f.in_flight() == 0);
    CHECK(f.transport.open() == 0);
    CHECK(f.waiting() == 1);
    f.pass(25s);
    CHECK((chat->value && chat->value->has_value()));
    CHECK(f.idle());
  }
}

TEST_CASE("an error's body that trickles is cut off as well") {
  patient f(with({.max_attempts = 1}));
  auto slow = scripted_exchange(500);
  for (int n = 0; n < 20; ++n) slow = std::move(slow).with_chunk("x").with_pause();
  f.add(std::move(slow));
  const auto chat = f.start(f.caller.chat(question()));
  for (int n = 0; n < 4; ++n) {
    f.pass(1s);
    f.transport.release(0);
    f.run();
    CHECK_FALSE(chat->ended);
  }
  f.pass(1s);
  REQUIRE((chat->value && !chat->value->has_value()));
  CHECK(has(said(chat->value->error()), "the provider failed (500): xxxxx"));
  CHECK(f.idle());
}

TEST_CASE("another attempt keeps the age of the first") {
  patient f(with({}), many_slots(1));
  f.add(status(500).with_header("retry-after", "1"));
  f.add(plain(plain_answer).with_pause());
  const auto named = [](const char* name) { return request(name).user("q").limit_output(5); };
  const auto first = f.start(f.caller.chat(named("first")));
  const auto second = f.start(f.caller.chat(named("second")));
  const auto third = f.start(f.caller.chat(named("third")));
  f.pass(2s);
  CHECK(f.waiting() == 2);
  f.transport.release_all();
  f.run();
  REQUIRE((first->value && second->value && third->value));
  REQUIRE(f.bodies.size() == 4);
  CHECK(has(f.bodies[0], "\"first\""));
  CHECK(has(f.bodies[1], "\"second\""));
  CHECK(has(f.bodies[2], "\"first\""));
  CHECK(has(f.bodies[3], "\"third\""));
}

TEST_CASE("without room for retries the result is the first error, and says why there was no second") {
  sluice::policy rules = many_slots();
  rules.retries = {.share = 0, .minimum = 1};
  patient f(with({.max_attempts = 5}), rules);
  f.add(status(500).with_header("x-request-id", "r1"));
  f.add(status(502).with_header("x-request-id", "r2"));
  const failure last = failure_of(f);
  CHECK(last.is(errc::provider_failed));
  CHECK(last.status == 500);
  CHECK(last.request_id == "r1");
  CHECK(last.attempts == 2);
  CHECK_FALSE(last.refusal.has_value());
  CHECK(has(said(last), "not tried again, for want of room for retries: "));
  CHECK(f.asked_at.size() == 2);

  // A second request beside another one needs the same room, and is refused for want of it.
  patient g(with({}), [] {
    sluice::policy none = many_slots();
    none.retries = {.share = 0, .minimum = 0};
    return none;
  }());
  const failure refused = failure_of(g, {.kind = attempt::hedge});
  CHECK(refused.is(errc::refused));
  REQUIRE(refused.refusal.has_value());
  CHECK(refused.refusal->reason() == sluice::reason::retry_budget);
  CHECK(refused.attempts == 0);
  CHECK(g.asked_at.empty());
}

TEST_CASE("many fail at once: retries take their share of the tokens, and the others have their own error") {
  patient f(with({.max_attempts = 2}), [] {
    sluice::policy rules = many_slots();
    rules.retries = {.share = 0.2, .minimum = 0};
    return rules;
  }());
  for (int n = 0; n < 100; ++n) f.add(status(429).with_pause_before_head());
  std::vector<std::shared_ptr<started<chat_result>>> all;
  for (int n = 0; n < 100; ++n) all.push_back(f.start(f.caller.chat(question())));
  CHECK(f.asked_at.size() == 100);
  f.transport.release_all();
  f.pass(30s);
  int well = 0;
  for (const auto& each : all) {
    REQUIRE(each->value.has_value());
    if (each->value->has_value()) {
      ++well;
    } else {
      CHECK(each->value->error().is(errc::rate_limited));
    }
  }
  CHECK(f.asked_at.size() == static_cast<std::size_t>(100 + well));
  CHECK(well == 20);
  CHECK(f.idle());
}

TEST_CASE("a pause that the provider asks for is everybody's") {
  patient f;
  f.add(status(503).with_header("retry-after", "10"));
  const auto first = f.start(f.caller.chat(question()));
  const auto second = f.start(f.caller.chat(question()));
  CHECK(f.waiting() == 2);
  f.pass(10s - 1ns);
  CHECK(f.asked_at.size() == 1);
  f.pass(2s);
  CHECK((first->value && first->value->has_value()));
  CHECK((second->value && second->value->has_value()));

  // Other failures are the call's own.
  patient g;
  g.add(status(500).with_header("retry-after", "10"));
  static_cast<void>(g.start(g.caller.chat(question())));
  CHECK(g.waiting() == 0);
  const auto other = g.start(g.caller.chat(question()));
  CHECK((other->value && other->value->has_value()));
}

TEST_CASE("twenty that are told to wait for ten minutes do not come back in the same second") {
  patient f(with({.max_retry_after = 1'000s}), [] {
    sluice::policy rules = many_slots(20);
    rules.retries.minimum = 100;
    return rules;
  }());
  for (int n = 0; n < 20; ++n) f.add(status(429).with_header("retry-after", "600").with_pause_before_head());
  std::vector<std::shared_ptr<started<chat_result>>> all;
  for (int n = 0; n < 20; ++n)
    all.push_back(f.start(f.caller.chat(question(), {.workload = n < 10 ? sluice::interactive : sluice::batch})));
  const std::size_t sent = f.asked_at.size();
  f.transport.release_all();
  f.run();
  f.pass(900s);
  for (const auto& each : all) CHECK((each->value && each->value->has_value()));
  std::vector<instant> back(f.asked_at.begin() + static_cast<std::ptrdiff_t>(sent), f.asked_at.end());
  REQUIRE(back.size() == 20);
  CHECK(back.front() >= f.asked_at.front() + 600s);
  for (std::size_t n = 1; n < back.size(); ++n) CHECK(back[n] - back[n - 1] >= 1s);
}

TEST_CASE("what the provider says of its limits reaches the gate") {
  patient f;
  f.add(plain(plain_answer)
            .with_header("x-ratelimit-limit-requests", "60")
            .with_header("x-ratelimit-remaining-requests", "0")
            .with_header("x-ratelimit-reset-requests", "10s"));
  const auto first = f.start(f.caller.chat(question()));
  CHECK((first->value && first->value->has_value()));
  const auto second = f.start(f.caller.chat(question()));
  CHECK(f.waiting() == 1);
  CHECK(f.asked_at.size() == 1);
  f.pass(11s);
  CHECK((second->value && second->value->has_value()));
}
