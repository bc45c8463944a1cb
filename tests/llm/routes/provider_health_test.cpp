#include "llm/routes/provider_health.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using sluice::duration;
using sluice::errc;
using sluice::instant;
using sluice::llm::call_phase;
using sluice::llm::failure;
using sluice::llm::health_policy;
using sluice::llm::provider_state;
using sluice::llm::detail::evidence;
using sluice::llm::detail::evidence_of;
using sluice::llm::detail::provider_health;

namespace {

struct watched {
  explicit watched(const health_policy& rules = {}) : health(rules) {}
  bool see(evidence what, double draw = 0, duration asked_for = duration::zero()) {
    const auto call = health.begin(now);
    return health.saw(call, what, now, draw, asked_for);
  }
  [[nodiscard]] provider_state state() const { return health.state(now); }

  provider_health health;
  instant now = instant{} + 1h;
};

}  // namespace

TEST_CASE("what a failure says about its provider") {
  const health_policy rules;
  const auto of = [&](errc code, call_phase when = call_phase::sent, duration worked = 1s) {
    return evidence_of(failure(code, "", when), worked, rules);
  };
  for (const errc bad : {errc::host_not_found, errc::connect_failed, errc::connect_timeout, errc::tls_failed,
                         errc::first_byte_timeout, errc::idle_timeout, errc::total_timeout, errc::connection_lost,
                         errc::protocol_error, errc::rate_limited, errc::overloaded, errc::provider_failed}) {
    CHECK(of(bad) == evidence::fails);
  }
  CHECK(of(errc::unauthorized) == evidence::refuses_all);
  CHECK(of(errc::quota_exhausted) == evidence::refuses_all);
  for (const errc theirs : {errc::provider_refused, errc::content_filtered, errc::context_too_long, errc::too_large}) {
    CHECK(of(theirs) == evidence::answers);
  }
  for (const errc nothing : {errc::refused, errc::preempted, errc::cancelled, errc::invalid_argument})
    CHECK(of(nothing) == evidence::none);
  CHECK(evidence_of(failure(sluice::error(std::make_error_code(std::errc::io_error), "")), 1s, rules) ==
        evidence::none);

  CHECK(of(errc::deadline_exceeded, call_phase::sent, 4s) == evidence::none);
  CHECK(of(errc::deadline_exceeded, call_phase::sent, 5s) == evidence::fails);
  CHECK(of(errc::deadline_exceeded, call_phase::answering, 5s) == evidence::fails);
  CHECK(of(errc::deadline_exceeded, call_phase::queued, 5s) == evidence::none);
}

TEST_CASE("five failures in a row open it; an answer between them starts the count anew") {
  watched w;
  for (int i = 0; i < 4; ++i) CHECK_FALSE(w.see(evidence::fails));
  CHECK_FALSE(w.see(evidence::none));
  w.see(evidence::answers);
  for (int i = 0; i < 4; ++i) CHECK_FALSE(w.see(evidence::fails));
  CHECK(w.state() == provider_state::closed);
  CHECK(w.see(evidence::fails));
  CHECK(w.state() == provider_state::open);
  CHECK_FALSE(w.health.available(w.now));
  CHECK(w.health.rests_until() == w.now + 1s);
}

TEST_CASE("half of twenty calls in the window open it, and older ones are forgotten") {
  watched w;
  for (int i = 0; i < 9; ++i) {
    CHECK_FALSE(w.see(evidence::fails));
    CHECK_FALSE(w.see(evidence::answers));
  }
  w.see(evidence::answers);
  SUBCASE("within the window") {
    CHECK(w.see(evidence::fails));
    CHECK(w.state() == provider_state::open);
  }
  SUBCASE("later") {
    w.now += 31s;
    CHECK_FALSE(w.see(evidence::fails));
    CHECK(w.state() == provider_state::closed);
  }
}

TEST_CASE("a refused key opens it at once") {
  watched w;
  CHECK(w.see(evidence::refuses_all));
  CHECK(w.state() == provider_state::open);
}

TEST_CASE("after its rest one call tries it; rests double, with jitter on top, up to the most") {
  health_policy rules;
  rules.max_rest = 5s;
  watched w(rules);
  w.see(evidence::refuses_all);
  for (const double length : {1.0, 2.0, 4.0, 5.0, 5.0}) {
    const double jitter = length == 1.0 ? 1.0 : 1.1;
    CHECK(std::chrono::duration<double>(w.health.rests_until() - w.now).count() == doctest::Approx(length * jitter));
    w.now = w.health.rests_until();
    CHECK(w.state() == provider_state::half_open);
    CHECK(w.health.available(w.now));
    const auto trial = w.health.begin(w.now);
    CHECK(trial.trial);
    CHECK_FALSE(w.health.available(w.now));
    CHECK_FALSE(w.health.begin(w.now).trial);
    CHECK(w.health.saw(trial, evidence::fails, w.now, 0.5));
    CHECK(w.state() == provider_state::open);
  }
  w.now = w.health.rests_until();
  w.see(evidence::answers);
  CHECK(w.state() == provider_state::closed);
  // Forgiven: the next rest is a short one again.
  w.see(evidence::refuses_all);
  CHECK(w.health.rests_until() == w.now + 1s);
}

TEST_CASE("a trial that shows nothing lets another one try") {
  watched w;
  w.see(evidence::refuses_all);
  w.now += 1s;
  const auto trial = w.health.begin(w.now);
  CHECK_FALSE(w.health.available(w.now));
  CHECK_FALSE(w.health.saw(trial, evidence::none, w.now, 0));
  CHECK(w.state() == provider_state::half_open);
  CHECK(w.health.available(w.now));
}

TEST_CASE("calls from before the rest neither lengthen nor end it") {
  watched w;
  const auto before = w.health.begin(w.now);
  const auto also = w.health.begin(w.now);
  w.now += 1s;
  w.see(evidence::refuses_all);
  const instant until = w.health.rests_until();
  CHECK_FALSE(w.health.saw(before, evidence::fails, w.now, 0));
  CHECK_FALSE(w.health.saw(also, evidence::answers, w.now, 0));
  CHECK(w.health.rests_until() == until);
  CHECK(w.state() == provider_state::open);
}

TEST_CASE("a call that had nowhere else to go ends the rest by its answer, and does not lengthen it by its failure") {
  watched w;
  w.see(evidence::refuses_all);
  const instant until = w.health.rests_until();
  w.now += 100ms;
  CHECK_FALSE(w.see(evidence::fails));
  CHECK(w.health.rests_until() == until);
  w.see(evidence::answers);
  CHECK(w.state() == provider_state::closed);
  CHECK(w.health.available(w.now));
}

TEST_CASE("what the provider asks for holds, in one piece, without a failure count") {
  watched w;
  CHECK_FALSE(w.see(evidence::fails, 0, 90s));
  CHECK(w.state() == provider_state::open);
  w.now += 90s;
  // It was not sent to rest: all may come back.
  CHECK(w.state() == provider_state::closed);

  w.see(evidence::refuses_all, 0, 120s);
  CHECK(w.health.rests_until() == w.now + 120s);
  w.see(evidence::fails, 0, 300s);
  CHECK(w.health.rests_until() == w.now + 300s);
}

TEST_CASE("the longest lengths do not overflow") {
  health_policy rules;
  rules.first_rest = duration::max();
  rules.max_rest = duration::max();
  rules.window = duration(1);
  watched w(rules);
  w.see(evidence::refuses_all, 0.999);
  CHECK(w.state() == provider_state::open);
  CHECK(w.health.rests_until() > w.now);
  watched v;
  v.see(evidence::refuses_all, 0, duration::max());
  CHECK(v.health.rests_until() == sluice::never);
}
