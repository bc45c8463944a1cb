#include "llm/attempts/patient_fixture.hpp"

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
using sluice::llm::call_options;
using sluice::llm::call_phase;
using sluice::llm::failure;
using sluice::llm::request;
using sluice::testing::scripted_exchange;

namespace {

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
  patient f(with({}), many_slots(1));
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
