#include "llm/call_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::attempt;
using sluice::duration;
using sluice::errc;
using sluice::instant;
using sluice::llm::attempt_record;
using sluice::llm::call_options;
using sluice::llm::call_phase;
using sluice::llm::client_options;
using sluice::llm::failure;
using sluice::llm::request;
using sluice::llm::retry_policy;
using sluice::testing::scripted_exchange;

namespace {

client_options with(retry_policy rules, std::uint64_t seed = 1) {
  client_options options("http://server/v1", "sk-secret");
  options.retry = rules;
  options.seed = seed;
  return options;
}

sluice::policy wide(std::int64_t slots = 400) { return sluice::policy({.slots = slots, .tokens = 100'000'000}); }

/// A client that tries again, and when it asked what.
struct patient : call_fixture {
  explicit patient(client_options options = with({}), const sluice::policy& rules = wide())
      : call_fixture(rules, std::move(options)) {
    transport.on_request([this](const sluice::http::request& asked) {
      asked_at.push_back(time.now());
      bodies.push_back(asked.body());
      if (next < script.size()) return script[next++];
      return plain(plain_answer);
    });
  }

  void add(scripted_exchange what) { script.push_back(std::move(what)); }

  /// Lets so much time pass, stopping wherever something is due.
  void pass(duration length) {
    const instant until = time.now() + length;
    run();
    while (time.next() <= until) {
      time.advance_to(time.next());
      run();
    }
    time.advance_to(until);
    run();
  }

  [[nodiscard]] duration between(std::size_t first, std::size_t second) const {
    return asked_at.at(second) - asked_at.at(first);
  }

  std::vector<scripted_exchange> script;
  std::size_t next = 0;
  std::vector<instant> asked_at;
  std::vector<std::string> bodies;
};

scripted_exchange status(int code, std::string body = R"({"error":{"message":"m"}})") {
  return plain(std::move(body), code);
}
scripted_exchange broken(errc why) { return scripted_exchange::failure(why, "broken"); }

/// Whether a first exchange like this is followed by another one.
bool is_retried(scripted_exchange first) {
  patient f;
  f.add(std::move(first));
  const auto chat = f.start(f.caller.chat(question()));
  f.pass(10s);
  REQUIRE(chat->value.has_value());
  CHECK(f.idle());
  const std::size_t sent = f.asked_at.size();
  CHECK(sent == (chat->value->has_value() ? 2U : 1U));
  if (!chat->value->has_value()) CHECK(chat->value->error().attempts == 1);
  return sent == 2;
}

failure failure_of(patient& f, const call_options& how = {}, duration length = 100s) {
  const auto chat = f.start(f.caller.chat(question(), how));
  f.pass(length);
  REQUIRE((chat->value && !chat->value->has_value()));
  CHECK(f.idle());
  return chat->value->error();
}

std::string said(const failure& what) { return what.message(); }
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("which failures are followed by another attempt") {
  for (const errc why : {errc::host_not_found, errc::connect_failed, errc::connect_timeout, errc::first_byte_timeout,
                         errc::idle_timeout, errc::total_timeout, errc::connection_lost}) {
    CAPTURE(static_cast<int>(why));
    CHECK(is_retried(broken(why)));
    CHECK(is_retried(scripted_exchange(200).with_chunk("{").with_failure(why)));
  }
  for (const int code : {408, 409, 429, 500, 502, 503, 504, 529}) {
    CAPTURE(code);
    CHECK(is_retried(status(code)));
  }
  CHECK(is_retried(plain(R"({"error":{"message":"m","type":"overloaded_error"}})")));

  for (const errc why : {errc::tls_failed, errc::too_large, errc::protocol_error, errc::deadline_exceeded}) {
    CAPTURE(static_cast<int>(why));
    CHECK_FALSE(is_retried(broken(why)));
  }
  for (const int code : {302, 400, 401, 402, 403, 404, 413, 422}) {
    CAPTURE(code);
    CHECK_FALSE(is_retried(status(code)));
  }
  CHECK_FALSE(is_retried(status(429, R"({"error":{"message":"pay","code":"insufficient_quota"}})")));
  CHECK_FALSE(is_retried(status(400, R"({"error":{"message":"m","code":"context_length_exceeded"}})")));
  CHECK_FALSE(is_retried(status(500, R"({"error":{"message":"m","code":"content_filter"}})")));
  // Answers that came but do not hold.
  CHECK_FALSE(is_retried(plain("{\"choices\":[")));
  CHECK_FALSE(is_retried(plain("<html>")));
}

TEST_CASE("what the provider says of another attempt wins over the status") {
  CHECK_FALSE(is_retried(status(500).with_header("x-should-retry", "false")));
  CHECK_FALSE(is_retried(status(429).with_header("x-should-retry", "false")));
  CHECK(is_retried(status(400).with_header("X-Should-Retry", "True")));
  CHECK(is_retried(status(500).with_header("x-should-retry", "maybe")));
}

TEST_CASE("a number of attempts that makes no sense is refused, and nothing is sent") {
  for (const int number : {-1, 101, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    CAPTURE(number);
    patient f(with({}));
    const failure last = failure_of(f, {.max_attempts = number});
    CHECK(last.is(errc::invalid_argument));
    CHECK(has(said(last), "call_options::max_attempts"));
    CHECK(f.asked_at.empty());
  }
}

TEST_CASE("as many attempts as the client says, or the call") {
  const auto attempts = [](int client, int call) {
    patient f(with({.max_attempts = client}));
    for (int n = 0; n < 20; ++n) f.add(status(500).with_header("x-request-id", "r" + std::to_string(n + 1)));
    const failure last = failure_of(f, {.max_attempts = call});
    CHECK(last.is(errc::provider_failed));
    CHECK(last.request_id == "r" + std::to_string(last.attempts));
    CHECK(has(said(last), "attempts were made") == (last.attempts > 1));
    CHECK(f.asked_at.size() == static_cast<std::size_t>(last.attempts));
    return last.attempts;
  };
  CHECK(attempts(3, 0) == 3);
  CHECK(attempts(1, 0) == 1);
  CHECK(attempts(3, 1) == 1);
  CHECK(attempts(1, 4) == 4);
}

TEST_CASE("alone, a call waits for a random part of a time that doubles") {
  duration longest{};
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    patient f(with({.max_attempts = 4}, seed));
    for (int n = 0; n < 3; ++n) f.add(status(500));
    const auto chat = f.start(f.caller.chat(question()));
    f.pass(10s);
    REQUIRE((chat->value && chat->value->has_value()));
    CHECK(f.between(0, 1) <= 500ms + 3ms);
    CHECK(f.between(1, 2) <= 1s + 3ms);
    CHECK(f.between(2, 3) <= 2s + 3ms);
    longest = std::max(longest, f.between(2, 3));
  }
  CHECK(longest > 1s);
}

TEST_CASE("a wait that the provider asks for is never cut short") {
  for (const int code : {500, 408, 429, 503}) {
    CAPTURE(code);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      patient f(with({}, seed));
      f.add(status(code).with_header("retry-after", "2"));
      const auto chat = f.start(f.caller.chat(question()));
      f.pass(2s - 1ns);
      CHECK(f.asked_at.size() == 1);
      // A tenth more, and the time in which the gate opens again.
      f.pass(200ms + 250ms + 3ms + 1ns);
      CHECK(f.asked_at.size() == 2);
      CHECK((chat->value && chat->value->has_value()));
    }
  }
}

TEST_CASE("the forms of Retry-After") {
  const auto waited = [](const char* name, const char* value, const char* date = "Sun, 06 Nov 1994 08:49:37 GMT") {
    patient f(with({.first_backoff = 1ms}));
    f.add(status(500).with_header(name, value).with_header("date", date));
    static_cast<void>(f.start(f.caller.chat(question())));
    f.pass(200s);
    REQUIRE(f.asked_at.size() == 2);
    return f.between(0, 1);
  };
  const auto about = [](duration got, duration wanted) { return got >= wanted && got <= wanted + wanted / 10 + 4ms; };
  CHECK(about(waited("retry-after", "2"), 2s));
  CHECK(about(waited("retry-after", "0"), 0s));
  CHECK(about(waited("retry-after", "0.5"), 500ms));
  CHECK(about(waited("retry-after-ms", "250"), 250ms));
  CHECK(about(waited("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT"), 3s));
  CHECK(about(waited("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), 0s));
  // Not there: the call's own back-off, which is short here.
  for (const char* nothing : {"-5", "abc", ""}) CHECK(about(waited("retry-after", nothing), 1ms));
}

TEST_CASE("a longer wait than the caller allows: not again, and it says so") {
  for (const int code : {429, 500}) {
    patient f;
    f.add(status(code).with_header("retry-after", "999999"));
    const failure last = failure_of(f);
    CHECK(last.attempts == 1);
    CHECK(last.retry_after == duration(999'999s));
    CHECK(has(said(last), "the provider asks to wait 999999 s, longer than retry.max_retry_after (120 s)"));
  }
}

TEST_CASE("never beyond the deadline: the first error at once, and why") {
  for (const int code : {429, 500}) {
    CAPTURE(code);
    patient f;
    f.add(status(code).with_header("retry-after", "10"));
    const auto chat = f.start(f.caller.chat(question(), {.deadline = f.gate.in(5s)}));
    REQUIRE((chat->value && !chat->value->has_value()));
    CHECK(chat->value->error().status == code);
    CHECK(has(said(chat->value->error()), "not tried again: the next attempt would start "));
    CHECK(has(said(chat->value->error()), "the deadline is in 5 s"));
  }
}

TEST_CASE("a deadline that passes while the next attempt waits says what had happened before") {
  patient f(with({}), wide(1));
  f.add(status(500).with_header("x-request-id", "r1"));
  const auto chat = f.start(f.caller.chat(question(), {.deadline = f.gate.in(5s)}));
  auto other = f.gate.try_admit({.tokens = 1});
  REQUIRE(other.has_value());
  f.pass(6s);
  REQUIRE((chat->value && !chat->value->has_value()));
  const failure& late = chat->value->error();
  CHECK(late.is(errc::deadline_exceeded));
  CHECK(late.phase == call_phase::queued);
  CHECK(late.status == 500);
  CHECK(late.request_id == "r1");
  CHECK(late.attempts == 1);
  CHECK(
      has(said(late),
          "the deadline passed while attempt 2 waited for admission; the first one failed: the provider failed (500)"));
  other->release();
  CHECK(f.idle());
}

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
  patient f(with({}), wide(1));
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
  sluice::policy rules = wide();
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
    sluice::policy none = wide();
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
    sluice::policy rules = wide();
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
    sluice::policy rules = wide(20);
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

TEST_CASE("cancelled while it waits for another attempt, alone or in the queue") {
  for (const int code : {500, 429}) {
    CAPTURE(code);
    patient f;
    f.add(status(code).with_header("retry-after", "10").with_header("x-request-id", "r1"));
    const auto chat = f.start(f.caller.chat(question()));
    CHECK_FALSE(chat->ended);
    f.cancel(chat);
    REQUIRE((chat->value && !chat->value->has_value()));
    const failure& left = chat->value->error();
    CHECK(left.is(errc::cancelled));
    CHECK(left.attempts == 1);
    if (code == 500) CHECK(has(said(left), "; the first one failed: the provider failed (500)"));
    CHECK(f.idle());
    CHECK(f.time.armed() <= 1);
  }
}

TEST_CASE("a stream is asked for again until its first event was handed out") {
  const std::string stop = chunk("", "\"stop\"");
  const auto seen = [&](std::vector<scripted_exchange> script, retry_policy rules = {}) {
    patient f(with(rules));
    for (auto& each : script) f.add(std::move(each));
    const auto reader = [](call_fixture& all) -> asio::awaitable<sluice::expected<std::string, failure>> {
      using result = sluice::expected<std::string, failure>;
      auto opened = co_await all.caller.stream(question());
      if (!opened) co_return result("?" + opened.error().message());
      std::string text;
      for (;;) {
        auto event = co_await opened->next();
        if (!event) co_return result(text + "!" + std::to_string(event.error().attempts));
        if (!*event) break;
        if ((*event)->type == sluice::llm::stream_event::kind::text) text += (*event)->text;
      }
      co_return result(text + "." + (opened->result().text == text ? "" : " but " + opened->result().text));
    };
    const auto read = f.start(reader(f));
    f.pass(20s);
    REQUIRE(read->value.has_value());
    CHECK(f.idle());
    return **read->value;
  };
  const auto whole = [&] { return streamed().with_chunk(text_chunk("whole") + stop + "data: [DONE]\n\n"); };
  const auto half = [&] { return streamed().with_chunk(text_chunk("half")); };
  CHECK(seen({broken(errc::connect_failed), whole()}) == "whole.");
  CHECK(seen({status(503), status(500), whole()}) == "whole.");
  CHECK(seen({streamed().with_failure(errc::connection_lost), whole()}) == "whole.");
  CHECK(seen({streamed(), whole()}) == "whole.");
  // What came with the failure in one piece was not handed out yet.
  CHECK(seen({streamed().with_chunk(text_chunk("half") + "data: {\"error\":{\"code\":500}}\n\n"), whole()}) ==
        "whole.");
  CHECK(seen({streamed().with_chunk("data: {\"error\":{\"type\":\"overloaded_error\"}}\n\n"), whole()}) == "whole.");
  CHECK(seen({streamed().with_chunk("data: {\"error\":{\"type\":\"invalid_request_error\"}}\n\n"), whole()}) == "!1");
  CHECK(seen({half().with_failure(errc::connection_lost), whole()}) == "half!1");
  CHECK(seen({half(), whole()}) == "half!1");
  CHECK(seen({streamed(), streamed(), streamed(), whole()}) == "!3");

  const retry_policy on{.continue_partial = true};
  const auto rest = [&](const char* text) {
    return streamed().with_chunk(text_chunk(text) + stop + "data: [DONE]\n\n");
  };
  CHECK(seen({half().with_failure(errc::connection_lost), rest(" and half")}, on) == "half and half.");
  CHECK(seen({half(), streamed().with_chunk(text_chunk(" more")), rest(" and end")}, on) == "half more and end.");
  CHECK(seen({half(), status(500), rest(" and end")}, on) == "half and end.");
  CHECK(seen({half(), half(), half(), rest("x")}, on) == "halfhalfhalf!3");
  CHECK(seen({half().with_chunk("data: {\"error\":{\"type\":\"invalid_request_error\"}}\n\n"), whole()}, on) ==
        "half!1");
  const std::string call = chunk(R"("tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{"}}])");
  CHECK(seen({half().with_chunk(call).with_failure(errc::connection_lost), whole()}, on) == "half!1");
  CHECK(seen({streamed().with_chunk(chunk(R"("reasoning":"hm")")).with_failure(errc::connection_lost), whole()}, on) ==
        "!1");
}

TEST_CASE("a continued answer is asked for with its beginning, and counted in all its parts") {
  client_options options = with({.continue_partial = true});
  patient f(options);
  f.add(streamed().with_chunk(text_chunk("one ")).with_chunk("data: {\"error\":{\"code\":500}}\n\n"));
  f.add(streamed().with_chunk(text_chunk("two")).with_chunk("data: {\"error\":{\"code\":500}}\n\n"));
  f.add(streamed().with_chunk(text_chunk(" three") + chunk("", "\"stop\"") + usage_chunk() + "data: [DONE]\n\n"));
  const auto opened = f.start(f.caller.stream(question().assistant("zero ")));
  REQUIRE((opened->value && opened->value->has_value()));
  sluice::llm::stream answer = *std::move(*opened->value);
  std::string text;
  bool done = false;
  while (!done) {
    const auto step = f.start(answer.next());
    f.pass(20s);
    REQUIRE((step->value && step->value->has_value()));
    if (**step->value) text += (**step->value)->text;
    done = !**step->value;
  }
  CHECK(text == "one two three");
  CHECK(answer.result().text == "one two three");
  CHECK(answer.result().finish == sluice::llm::finish_reason::stop);
  CHECK(answer.result().usage.estimated);
  CHECK(answer.result().usage.output_tokens > 40);
  REQUIRE(f.bodies.size() == 3);
  CHECK(has(f.bodies[0], R"({"role":"assistant","content":"zero "}])"));
  CHECK(has(f.bodies[1], R"({"role":"assistant","content":"zero one"}])"));
  CHECK(has(f.bodies[2], R"({"role":"assistant","content":"zero one two"}])"));
  CHECK(has(f.bodies[0], "\"max_completion_tokens\":500"));
  CHECK_FALSE(has(f.bodies[2], "\"max_completion_tokens\":500"));
  CHECK(f.idle());
}

TEST_CASE("a failure knows what all attempts have taken") {
  const auto of = [](const std::vector<std::string>& answers) {
    patient f(with({.max_attempts = 3}));
    for (const std::string& each : answers) {
      f.add(each.empty() ? status(503) : streamed().with_chunk(each).with_failure(errc::connection_lost, "gone"));
    }
    const auto opened = f.start(f.caller.stream(question()));
    f.pass(20s);
    REQUIRE(opened->value);
    if (!opened->value->has_value()) return opened->value->error();
    sluice::llm::stream answer = *std::move(*opened->value);
    for (;;) {
      const auto step = f.start(answer.next());
      f.pass(20s);
      REQUIRE(step->value);
      if (!step->value->has_value()) return step->value->error();
    }
  };
  CHECK(of({"", "", ""}).usage == sluice::llm::token_usage{});
  // A report that comes with no word of the answer, twice: neither was handed out, so each is followed by another one.
  const auto reported = of({usage_chunk(), "", usage_chunk()});
  CHECK(reported.attempts == 3);
  CHECK(reported.usage == sluice::llm::token_usage{.input_tokens = 1'800, .output_tokens = 80});
  const auto estimated = of({"", text_chunk("12345678")});
  CHECK(estimated.attempts == 2);
  CHECK(estimated.usage == sluice::llm::token_usage{.input_tokens = 1'004, .output_tokens = 2, .estimated = true});
}

TEST_CASE("a page or an error under the content type of a stream is what it is") {
  const auto fails = [](scripted_exchange script) {
    call_fixture f;
    f.transport.add(std::move(script));
    const auto opened = f.start(f.caller.stream(question()));
    REQUIRE((opened->value && opened->value->has_value()));
    const auto step = f.start((*opened->value)->next());
    REQUIRE((step->value && !step->value->has_value()));
    CHECK(f.idle());
    return step->value->error();
  };
  for (const char* mark : {"", "\xEF\xBB\xBF", " \r\n"}) {
    const failure page = fails(streamed().with_chunk(std::string(mark) + "<!doctype html><title>Sign in</title>"));
    CHECK(page.is(errc::protocol_error));
    CHECK(has(said(page), "the server's answer is not a model's: text/event-stream, which begins"));
    CHECK(has(said(page), "Sign in"));
    CHECK(page.status == 200);
  }
  CHECK(fails(streamed().with_chunk(R"({"error":{"message":"m","type":"server_error"}})")).is(errc::provider_failed));
}
