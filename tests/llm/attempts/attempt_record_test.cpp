#include <sluice/llm/attempt_record.hpp>

#include "llm/attempts/redacted.hpp"
#include "llm/call_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::attempt;
using sluice::duration;
using sluice::errc;
using sluice::never;
using sluice::llm::attempt_record;
using sluice::llm::call_phase;
using sluice::llm::client_options;
using sluice::llm::redacted;
using sluice::testing::scripted_exchange;

namespace {

struct watched {
  explicit watched(sluice::llm::retry_policy rules = {}, bool bodies = false, std::int64_t slots = 4)
      : f(sluice::policy({.slots = slots, .tokens = 100'000}), options(rules, bodies)) {}

  client_options options(sluice::llm::retry_policy rules, bool bodies) {
    client_options made("http://server/v1", "sk-secret");
    made.retry = rules;
    made.seed = 1;
    made.record_bodies = bodies;
    made.observer = [this](const attempt_record& what) { seen.push_back(what); };
    return made;
  }

  std::vector<attempt_record> seen;
  call_fixture f;
};

}  // namespace

TEST_CASE("every attempt is told, with its times, tokens and outcome") {
  watched w;
  w.f.transport.add(
      plain(R"({"error":{"message":"m"}})", 500).with_header("retry-after", "2").with_header("x-request-id", "r1"));
  w.f.transport.add(scripted_exchange(200)
                        .with_header("x-request-id", "r2")
                        .with_pause_before_head()
                        .with_chunk(" ")
                        .with_pause()
                        .with_chunk(plain_answer));
  const auto start = w.f.gate.now();
  const auto chat =
      w.f.start(w.f.caller.chat(question(), {.workload = sluice::batch, .tenant = sluice::tenant("acme")}));
  REQUIRE(w.seen.size() == 1);
  {
    const attempt_record& first = w.seen[0];
    CHECK(first.call == 1);
    CHECK(first.number == 1);
    CHECK(first.kind == attempt::first);
    CHECK_FALSE(first.streamed);
    CHECK(first.model == "m");
    CHECK(first.workload == sluice::batch);
    CHECK(first.tenant == sluice::tenant("acme"));
    CHECK(first.queued == start);
    CHECK(first.admitted == start);
    CHECK(first.connected == never);
    CHECK(first.first_byte == start);
    CHECK(first.first_token == never);
    CHECK(first.ended == start);
    CHECK(first.reserved_input == 1'004);
    CHECK(first.reserved_output == 500);
    CHECK(first.code == errc::provider_failed);
    CHECK(first.error == "the provider failed (500): m");
    CHECK(first.phase == call_phase::answering);
    CHECK(first.status == 500);
    CHECK(first.request_id == "r1");
    REQUIRE(first.again_in.has_value());
    CHECK(*first.again_in >= 2s);
    CHECK(*first.again_in <= 2'203ms);
    CHECK(first.request_body.empty());
    CHECK(first.answer_body.empty());
  }
  w.f.advance(*w.seen[0].again_in);
  const auto again = w.f.gate.now();
  w.f.time.advance(1s);
  w.f.transport.release(1);
  w.f.run();
  w.f.time.advance(1s);
  w.f.transport.release(1);
  w.f.run();
  REQUIRE((chat->value && chat->value->has_value()));
  REQUIRE(w.seen.size() == 2);
  const attempt_record& second = w.seen[1];
  CHECK(second.call == 1);
  CHECK(second.number == 2);
  CHECK(second.kind == attempt::retry);
  CHECK(second.queued == again);
  CHECK(second.admitted == again);
  CHECK(second.first_byte == again + 1s);
  CHECK(second.first_token == again + 1s);
  CHECK(second.ended == again + 2s);
  CHECK_FALSE(second.code);
  CHECK(second.error.empty());
  CHECK(second.status == 200);
  CHECK(second.request_id == "r2");
  CHECK(second.usage == (*chat->value)->usage);
  CHECK_FALSE(second.again_in.has_value());

  w.f.transport.add(plain(plain_answer));
  static_cast<void>(w.f.start(w.f.caller.chat(question())));
  REQUIRE(w.seen.size() == 3);
  CHECK(w.seen[2].call == 2);
  CHECK(w.seen[2].number == 1);
}

TEST_CASE("the permit has ended when the observer is told, and an attempt that was not admitted is told as well") {
  std::vector<std::int64_t> held;
  std::vector<attempt_record> seen;
  const call_fixture* where = nullptr;
  client_options options = once();
  options.observer = [&](const attempt_record& what) {
    held.push_back(where->in_flight());
    seen.push_back(what);
  };
  call_fixture f(sluice::policy({.slots = 4, .tokens = 100'000}), options);
  where = &f;
  f.transport.add(plain(plain_answer));
  f.transport.add(plain("", 500));
  static_cast<void>(f.start(f.caller.chat(question())));
  static_cast<void>(f.start(f.caller.chat(question())));
  static_cast<void>(f.start(f.caller.chat(question().limit_output(1'000'000))));
  CHECK(held == std::vector<std::int64_t>{0, 0, 0});
  REQUIRE(seen.size() == 3);
  CHECK(seen[2].code == errc::refused);
  CHECK(seen[2].phase == call_phase::queued);
  CHECK(seen[2].admitted == never);
  CHECK(seen[2].status == 0);
}

TEST_CASE("a stream is told when it is whole, when it is dropped, and when its coroutine is cancelled") {
  watched w;
  const std::string stop = chunk("", "\"stop\"") + "data: [DONE]\n\n";
  const auto open = [&] {
    const auto opened = w.f.start(w.f.caller.stream(question()));
    REQUIRE((opened->value && opened->value->has_value()));
    return *std::move(*opened->value);
  };
  {
    w.f.transport.add(streamed().with_chunk(text_chunk("x")).with_pause().with_chunk(stop));
    auto answer = open();
    w.f.time.advance(1s);
    static_cast<void>(w.f.start(answer.next()));
    CHECK(w.seen.empty());
    w.f.transport.release(0);
    static_cast<void>(w.f.start(answer.next()));
    REQUIRE(w.seen.size() == 1);
    CHECK(w.seen[0].streamed);
    CHECK_FALSE(w.seen[0].code);
    CHECK(w.seen[0].first_token == w.seen[0].queued + 1s);
  }
  CHECK(w.seen.size() == 1);
  {
    w.f.transport.add(streamed().with_chunk(text_chunk("12345678")).with_silence());
    auto answer = open();
    w.f.time.advance(1s);
    static_cast<void>(w.f.start(answer.next()));
    w.f.time.advance(1s);
  }
  REQUIRE(w.seen.size() == 2);
  CHECK(w.seen[1].code == errc::cancelled);
  CHECK(w.seen[1].usage.output_tokens > 0);
  CHECK(w.seen[1].ended == w.seen[1].first_token);
  {
    w.f.transport.add(streamed().with_silence());
    auto answer = open();
    const auto step = w.f.start(answer.next());
    w.f.time.advance(1s);
    w.f.cancel(step);
    REQUIRE(w.seen.size() == 3);
    CHECK(w.seen[2].code == errc::cancelled);
    CHECK(w.seen[2].ended == w.seen[2].queued + 1s);
  }
  CHECK(w.seen.size() == 3);
}

TEST_CASE("preempted attempts are told, and not counted as retries") {
  std::vector<attempt_record> seen;
  client_options options = once();
  options.observer = [&](const attempt_record& what) { seen.push_back(what); };
  call_fixture f(lending(), options);
  for (int n = 0; n < 2; ++n) f.transport.add(scripted_exchange::silent());
  f.transport.add(plain(plain_answer));
  f.transport.add(plain(plain_answer));
  const auto a = f.start(f.caller.chat(question(), {.workload = sluice::batch}));
  const auto b = f.start(f.caller.chat(question(), {.workload = sluice::batch}));
  std::vector<sluice::permit> owners;
  while (auto one = f.gate.try_admit({.tokens = 1})) owners.push_back(std::move(*one));
  const auto urgent = f.start(f.caller.chat(question()));
  f.advance(2s);
  owners.clear();
  f.run();
  REQUIRE((urgent->value && urgent->value->has_value()));
  const auto& back = a->ended ? a : b;
  REQUIRE((back->value && back->value->has_value()));
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].code == errc::preempted);
  CHECK(seen[0].again_in.has_value());
  CHECK(seen[2].kind == attempt::first);
  CHECK(seen[2].number == 2);
  f.cancel(a->ended ? b : a);
}

TEST_CASE("bodies are recorded on request, without the key, and within bounds") {
  watched w({.max_attempts = 1}, true);
  w.f.transport.add(plain(R"({"error":{"message":"bad key sk-secret: sk-se)", 401).with_chunk("cret!\"}}"));
  static_cast<void>(w.f.start(w.f.caller.chat(question().user("my key is sk-secret"))));
  REQUIRE(w.seen.size() == 1);
  CHECK(w.seen[0].request_body.find("my key is [key]") != std::string::npos);
  CHECK(w.seen[0].answer_body == R"({"error":{"message":"bad key [key]: [key]!"}})");

  w.f.transport.add(
      plain(std::string(attempt_record::most_recorded - 4, 'x') + "sk-secret" + std::string(100'000, 'y'), 500));
  static_cast<void>(w.f.start(w.f.caller.chat(question())));
  REQUIRE(w.seen.size() == 2);
  CHECK(w.seen[1].answer_body.size() <= attempt_record::most_recorded);
  CHECK(w.seen[1].answer_body.find("sk-") == std::string::npos);
}

TEST_CASE("redaction leaves nothing of a key, wherever it is cut") {
  const std::string key = "sk-secret";
  CHECK(redacted("a sk-secret b sk-secretsk-secret", key, 100) == "a [key] b [key][key]");
  CHECK(redacted("abc", key, 2) == "ab");
  CHECK(redacted("abc", "", 2) == "ab");
  CHECK(redacted("", key, 2).empty());
  for (std::size_t cut = 1; cut < key.size(); ++cut) {
    CHECK(redacted("x" + key.substr(0, cut), key, 100) == "x");
    for (std::size_t most = 1; most < 20; ++most) {
      const std::string kept = redacted("sk-secret x" + key.substr(0, cut), key, most);
      CHECK(kept.size() <= most);
      CHECK(kept.find("sk") == std::string::npos);
    }
  }
}

TEST_CASE("a record as one line") {
  attempt_record what;
  what.call = 7;
  what.number = 2;
  what.kind = attempt::retry;
  what.model = "m";
  what.queued = sluice::instant{} + 1h;
  what.admitted = what.queued + 100ms;
  what.ended = what.queued + 310ms;
  what.code = errc::rate_limited;
  what.status = 429;
  what.again_in = 1200ms;
  what.request_id = "r1";
  CHECK(to_line(what) ==
        "call 7 attempt 2 (retry) m interactive: rate_limited 429 after 0.31 s (queued 0.10 s), again in 1.20 s, "
        "request-id r1");
  what.code = {};
  what.status = 200;
  what.again_in.reset();
  what.workload = sluice::batch;
  what.kind = attempt::hedge;
  what.usage = {900, 40, 0, 0, false};
  CHECK(to_line(what) ==
        "call 7 attempt 2 (hedge) m batch: ok 200 after 0.31 s (queued 0.10 s), 900 in 40 out, request-id r1");
  attempt_record refused;
  refused.call = 1;
  refused.model = "a\nb";
  refused.workload = sluice::workload(5);
  refused.code = errc::refused;
  CHECK(to_line(refused) == "call 1 attempt 1 (first) a b class 5: refused (not admitted)");
}
