// A provider that is down, and everybody who wanted something of it.
#include "llm/call_fixture.hpp"

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::attempt;
using sluice::duration;
using sluice::errc;
using sluice::instant;
using sluice::llm::attempt_record;
using sluice::llm::client_options;
using sluice::llm::request;
using sluice::testing::scripted_exchange;

namespace {

enum class outage { no_connection, overloaded, overloaded_with_a_wait };

struct storm {
  static constexpr int callers = 200;
  static constexpr duration down = 5s;

  explicit storm(std::uint64_t seed, int attempts) : f(rules(), options(seed, attempts)) {}

  static sluice::policy rules() {
    sluice::policy made({.slots = 400, .tokens = 100'000'000});
    made.retries = {.share = 0.2, .minimum = 3};
    return made;
  }
  client_options options(std::uint64_t seed, int attempts) {
    client_options made("http://server/v1");
    made.seed = seed;
    made.retry.max_attempts = attempts;
    made.observer = [this](const attempt_record& what) {
      // One that is refused in the instant of its failure has not slept.
      const instant when = what.admitted != sluice::never ? what.admitted : what.queued;
      if (what.kind == attempt::retry && when > begun) woken.push_back(when);
    };
    return made;
  }

  void run(outage how) {
    const instant start = f.gate.now();
    REQUIRE(start == begun);
    f.transport.on_request([&, start](const sluice::http::request&) {
      const instant now = f.time.now();
      sent.push_back(now);
      if (now >= start + down) return plain(plain_answer);
      if (how == outage::no_connection) return scripted_exchange::failure(errc::connect_failed, "no connection");
      scripted_exchange refused = plain(R"({"error":{"message":"m"}})", 503).with_pause_before_head();
      return how == outage::overloaded ? std::move(refused) : std::move(refused).with_header("retry-after", "1");
    });
    std::vector<std::shared_ptr<started<chat_result>>> all;
    for (int n = 0; n < callers; ++n) all.push_back(f.start(f.caller.chat(question(), {.deadline = f.gate.in(20s)})));
    f.transport.release_all();
    f.run();
    while (f.time.next() <= start + 20s) {
      f.time.advance_to(f.time.next());
      f.run();
    }
    for (const auto& each : all) {
      REQUIRE(each->value.has_value());
      if (each->value->has_value()) {
        ++well;
      } else {
        const auto& why = each->value->error();
        CHECK((why.is(errc::connect_failed) || why.is(errc::overloaded)));
      }
    }
    CHECK(f.idle());
    during =
        static_cast<int>(std::count_if(sent.begin(), sent.end(), [&](instant when) { return when < start + down; }));
  }

  /// The most of these that lie within ten milliseconds.
  static int most_within(std::vector<instant> times, duration length) {
    std::sort(times.begin(), times.end());
    int most = 0;
    std::size_t first = 0;
    for (std::size_t last = 0; last < times.size(); ++last) {
      while (times[last] - times[first] >= length) ++first;
      most = std::max(most, static_cast<int>(last - first) + 1);
    }
    return most;
  }

  const instant begun = sluice::testing::manual_time_source().now();
  std::vector<instant> sent;
  std::vector<instant> woken;
  int during = 0;
  int well = 0;
  call_fixture f;
};

}  // namespace

TEST_CASE("a provider is down for five seconds, and two hundred callers want it") {
  for (const outage how : {outage::no_connection, outage::overloaded, outage::overloaded_with_a_wait}) {
    for (const int attempts : {3, 10}) {
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(static_cast<int>(how));
        CAPTURE(attempts);
        CAPTURE(seed);
        storm s(seed, attempts);
        s.run(how);
        // A fifth of what is done for the first time.
        constexpr int budget = storm::callers / 5;
        CHECK(s.during - storm::callers <= budget);
        CHECK(s.during >= storm::callers);
        CHECK(s.sent.size() <= static_cast<std::size_t>(storm::callers + budget));
        REQUIRE_FALSE(s.woken.empty());
        CHECK(storm::most_within(s.woken, 10ms) <= 5);
      }
    }
  }
}

namespace {

/// What a provider may do to an exchange.
scripted_exchange fault(int kind) {
  const std::string stop = chunk("", "\"stop\"") + usage_chunk() + "data: [DONE]\n\n";
  switch (kind) {
    case 0: return scripted_exchange::failure(errc::connect_failed, "no");
    case 1: return scripted_exchange::silent();
    case 2: return plain(R"({"error":{"message":"m"}})", 500);
    case 3: return plain(R"({"error":{"message":"m"}})", 429).with_header("retry-after", "1");
    case 4: return plain(R"({"error":{"message":"m"}})", 503);
    case 5: return plain(R"({"error":{"message":"m"}})", 400);
    case 6: return plain("{").with_failure(errc::connection_lost, "gone");
    case 7: return scripted_exchange(500).with_chunk("{").with_silence();
    case 8: return streamed().with_chunk(text_chunk("half")).with_failure(errc::idle_timeout, "idle");
    case 9: return streamed().with_chunk(text_chunk("half")).with_pause().with_chunk(stop);
    case 10: return streamed().with_chunk(text_chunk("whole") + stop);
    case 11: return scripted_exchange(200).with_pause_before_head().with_chunk(plain_answer);
    case 12: return streamed().with_chunk("data: {\"error\":{\"type\":\"overloaded_error\"}}\n\n");
    case 13: return plain(R"({"error":{"message":"m"}})", 500).with_header("retry-after", "3");
    default: return plain(plain_answer);
  }
}

asio::awaitable<sluice::expected<int, sluice::llm::failure>> ask(call_fixture& f, request what,
                                                                 sluice::llm::call_options how, bool as_stream,
                                                                 int most_events) {
  using result = sluice::expected<int, sluice::llm::failure>;
  if (!as_stream) {
    auto answer = co_await f.caller.chat(std::move(what), how);
    if (!answer) co_return result(sluice::unexpected<sluice::llm::failure>(std::move(answer).error()));
    co_return result(0);
  }
  auto opened = co_await f.caller.stream(std::move(what), how);
  if (!opened) co_return result(sluice::unexpected<sluice::llm::failure>(std::move(opened).error()));
  int seen = 0;
  while (seen < most_events) {
    auto event = co_await opened->next();
    if (!event) co_return result(sluice::unexpected<sluice::llm::failure>(std::move(event).error()));
    if (!*event) break;
    ++seen;
  }
  co_return result(seen);
}

}  // namespace

TEST_CASE("whatever fails and whoever leaves: nothing stays behind, and nobody asks more often than allowed") {
  const bool holds = rc::check([] {
    const int most = *rc::gen::inRange(1, 5);
    client_options options("http://server/v1");
    options.seed = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
    options.retry.max_attempts = most;
    options.retry.continue_partial = *rc::gen::arbitrary<bool>();
    options.unread = 20s;
    int told = 0;
    std::map<std::string, int> preempted;
    options.observer = [&](const attempt_record& what) {
      ++told;
      if (what.code == errc::preempted) ++preempted[what.model];
    };
    const int slots = *rc::gen::inRange(1, 5);
    call_fixture f(sluice::policy({.slots = slots, .tokens = 100'000}), options);
    const auto faults = *rc::gen::container<std::vector<int>>(40, rc::gen::inRange(0, 16));
    std::size_t next = 0;
    std::map<std::string, int> sent;
    f.transport.on_request([&](const sluice::http::request& asked) {
      const std::string& body = asked.body();
      const std::size_t name = body.find("\"model\":\"") + 9;
      ++sent[body.substr(name, body.find('"', name) - name)];
      return fault(faults[next++ % faults.size()]);
    });

    const int calls = *rc::gen::inRange(1, 7);
    std::vector<std::shared_ptr<started<sluice::expected<int, sluice::llm::failure>>>> all;
    for (int n = 0; n < calls; ++n) {
      sluice::llm::call_options how;
      how.workload = *rc::gen::element(sluice::interactive, sluice::batch);
      if (*rc::gen::arbitrary<bool>())
        how.deadline = f.gate.in(std::chrono::milliseconds(*rc::gen::inRange(1, 20'000)));
      const request what = request("m" + std::to_string(n)).user("q").limit_output(50);
      all.push_back(f.start(ask(f, what, how, *rc::gen::arbitrary<bool>(), *rc::gen::inRange(0, 6))));
    }
    const auto steps = *rc::gen::container<std::vector<int>>(30, rc::gen::inRange(0, 12));
    for (const int step : steps) {
      if (step < 4) {
        const auto& one = all[static_cast<std::size_t>(*rc::gen::inRange(0, calls))];
        if (step == 0 && !one->ended) f.cancel(one);
        if (step > 0) f.transport.release(static_cast<std::size_t>(*rc::gen::inRange(0, 10)));
        f.run();
      } else {
        f.advance(std::chrono::milliseconds(std::int64_t{1} << step));
      }
    }
    // The scripted transport has no limits of its own: who still waits for a silent server leaves now.
    for (int n = 0; n < 60; ++n) f.advance(1s);
    f.transport.release_all();
    for (int n = 0; n < 60; ++n) f.advance(1s);
    for (int round = 0; round < 2; ++round) {
      for (const auto& each : all) {
        if (!each->ended) f.cancel(each);
      }
      f.advance(10s);
    }
    for (const auto& each : all) RC_ASSERT(each->ended);
    RC_ASSERT(f.idle());
    std::size_t requests = 0;
    for (const auto& [name, count] : sent) {
      RC_ASSERT(count <= most + preempted[name]);
      requests += static_cast<std::size_t>(count);
    }
    RC_ASSERT(static_cast<std::size_t>(told) >= requests);
  });
  CHECK(holds);
}
