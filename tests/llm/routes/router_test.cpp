#include "llm/routes/routes_fixture.hpp"

#include <sluice/llm/hedge.hpp>
#include <sluice/llm/router.hpp>
#include <sluice/llm/single_flight.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::duration;
using sluice::errc;
using sluice::llm::any_client;
using sluice::llm::any_stream;
using sluice::llm::provider;
using sluice::llm::provider_state;
using sluice::llm::router;
using sluice::llm::router_options;
using sluice::llm::routing;
using sluice::llm::stream_event;
using sluice::testing::scripted_exchange;

namespace {

std::vector<provider> all_of(routes_fixture& f) {
  std::vector<provider> made;
  for (std::size_t i = 0; i < f.servers.size(); ++i)
    made.emplace_back(std::string(1, static_cast<char>('a' + i)), f.caller(i));
  return made;
}

std::string model_in(const sluice::http::request& sent) {
  const std::string start = "\"model\":\"";
  const auto at = sent.body().find(start) + start.size();
  return sent.body().substr(at, sent.body().find('"', at) - at);
}

}  // namespace

TEST_CASE("the first provider answers, and the others are not asked") {
  routes_fixture f(2);
  router routes(all_of(f));
  f.at(0).add(says("from a"));
  CHECK(text_of(f.start(routes.chat(question()))) == "from a");
  CHECK(f.asked(1) == 0);
  CHECK(routes.statistics()[0].answered == 1);
  CHECK(routes.statistics()[1].calls == 0);
  CHECK(&routes.gate() == &f.gate(0));
}

TEST_CASE("a failure that another provider could do better goes on to it, and no other") {
  struct row {
    scripted_exchange from_a;
    bool goes_on;
    errc code;
  };
  const row rows[] = {
      {error_of(500), true, errc::provider_failed},
      {error_of(503), true, errc::overloaded},
      {error_of(429, "rate_limit_exceeded"), true, errc::rate_limited},
      {error_of(429, "insufficient_quota"), true, errc::quota_exhausted},
      {error_of(401), true, errc::unauthorized},
      {plain("{\"choices\":["), true, errc::protocol_error},
      {scripted_exchange::failure(errc::connect_failed), true, errc::connect_failed},
      {scripted_exchange::failure(errc::host_not_found), true, errc::host_not_found},
      {scripted_exchange::failure(errc::tls_failed), true, errc::tls_failed},
      {scripted_exchange::failure(errc::first_byte_timeout), true, errc::first_byte_timeout},
      {scripted_exchange(200).with_chunk("{").with_failure(errc::connection_lost), true, errc::connection_lost},
      {error_of(400), false, errc::provider_refused},
      {error_of(400, "context_length_exceeded"), false, errc::context_too_long},
      {scripted_exchange::failure(errc::cancelled), false, errc::cancelled},
      {scripted_exchange::failure(errc::too_large), false, errc::too_large},
      {scripted_exchange::failure(errc::deadline_exceeded), false, errc::deadline_exceeded},
  };
  for (const row& each : rows) {
    CAPTURE(static_cast<int>(each.code));
    routes_fixture f(2);
    router routes(all_of(f));
    f.at(0).add(each.from_a);
    f.at(1).add(says("from b"));
    const auto call = f.start(routes.chat(question()));
    CHECK(f.asked(1) == (each.goes_on ? 1 : 0));
    if (each.goes_on) {
      CHECK(text_of(call) == "from b");
      CHECK(routes.statistics()[0].passed_on == 1);
    } else {
      CHECK(has_failed(call, each.code));
    }
    CHECK(f.idle());
  }
}

TEST_CASE("a request that does not hold goes nowhere") {
  routes_fixture f(2);
  router routes(all_of(f));
  const auto call = f.start(routes.chat(sluice::llm::request("m")));
  CHECK(has_failed(call, errc::invalid_argument));
  // Another dialect might have been able to say it; both were asked, and sent nothing.
  CHECK(f.asked(0) + f.asked(1) == 0);
  CHECK(routes.statistics()[1].calls == 1);
  CHECK(routes.statistics()[0].failed + routes.statistics()[1].failed == 0);
}

TEST_CASE("a provider that cannot be told the request is passed over, and does not hide what another one said") {
  routes_fixture f(3);
  auto providers = all_of(f);
  // Without a name for the model its request does not hold.
  providers[1].with_model("m", "");
  router routes(std::move(providers));
  f.at(0).add(scripted_exchange(500));
  f.at(2).add(says("from c"));
  CHECK(text_of(f.start(routes.chat(question()))) == "from c");

  f.at(0).add(scripted_exchange(500));
  f.at(2).add(scripted_exchange(500));
  const auto failed = f.start(routes.chat(question(), {.max_attempts = 2}));
  REQUIRE((failed->value && !*failed->value));
  CHECK(failed->value->error().is(errc::provider_failed));
  CHECK(failed->value->error().attempts == 2);
}

TEST_CASE("when nobody answers, the error is the last one's, and says what each of them said") {
  routes_fixture f(3);
  router routes(all_of(f));
  f.at(0).add(error_of(500));
  f.at(1).add(error_of(401));
  f.at(2).add(error_of(503));
  const auto call = f.start(routes.chat(question()));
  REQUIRE(has_failed(call, errc::overloaded));
  const auto& why = call->value->error();
  CHECK(why.status == 503);
  CHECK(why.attempts == 3);
  CHECK(why.message().starts_with("no provider answered: a: "));
  CHECK(why.message().find("; b: ") != std::string::npos);
  CHECK(why.message().find("; c: ") != std::string::npos);
  CHECK(f.idle());
}

TEST_CASE("each provider has its own name for a model") {
  routes_fixture f(2);
  auto providers = all_of(f);
  providers[1].with_model("big", "vendor/big-1").with_model("small", "s");
  router routes(std::move(providers));
  const auto ask = [&](const std::string& model) {
    f.at(0).add(error_of(500));
    f.at(1).add(says("ok"));
    sluice::llm::request what(model);
    what.user("?");
    CHECK(text_of(f.start(routes.chat(what))) == "ok");
  };
  ask("big");
  ask("other");
  CHECK(model_in(f.at(0).requests().at(0)) == "big");
  CHECK(model_in(f.at(1).requests().at(0)) == "vendor/big-1");
  CHECK(model_in(f.at(1).requests().at(1)) == "other");
}

TEST_CASE("one owner of retries: the last provider alone tries again") {
  sluice::llm::client_options options("http://server/v1");
  options.retry.max_attempts = 3;
  options.retry.first_backoff = duration::zero();
  routes_fixture f(3, routes_fixture::gates::one_each, wide(), options);
  router routes(all_of(f));
  for (std::size_t i = 0; i < 3; ++i) f.at(i).on_request([](const auto&) { return error_of(500); });
  std::size_t last = 3;
  int most = 0;
  SUBCASE("as its client does") {}
  SUBCASE("within the call's own bound on attempts") {
    most = 4;
    last = 2;
  }
  SUBCASE("which may end before the last provider") {
    most = 2;
    last = 0;
  }
  const auto call = f.start(routes.chat(question(), {.max_attempts = most}));
  for (int i = 0; i < 200 && !call->ended; ++i) f.advance(100ms);
  REQUIRE(has_failed(call, errc::provider_failed));
  CHECK(f.asked(0) == 1);
  CHECK(f.asked(1) == 1);
  CHECK(f.asked(2) == last);
  CHECK(call->value->error().attempts == static_cast<int>(2 + last));
}

TEST_CASE("what follows a failure counts as a retry, and one that the budget refuses fails with the first error") {
  sluice::policy rules = wide();
  rules.retries.enabled = true;
  rules.retries.share = 0;
  rules.retries.minimum = 1;
  routes_fixture f(2, routes_fixture::gates::one, rules);
  router routes(all_of(f));
  f.at(0).on_request([](const auto&) { return error_of(500); });
  f.at(1).on_request([](const auto&) { return says("from b"); });
  CHECK(text_of(f.start(routes.chat(question()))) == "from b");
  const auto second = f.start(routes.chat(question()));
  REQUIRE(has_failed(second, errc::provider_failed));
  CHECK(second->value->error().attempts == 1);
  CHECK(f.asked(1) == 1);
  CHECK(f.idle());
}

TEST_CASE("refused by admission: another gate may have room, the same one has not") {
  for (const auto how : {routes_fixture::gates::one_each, routes_fixture::gates::one}) {
    routes_fixture f(2, how);
    router routes(all_of(f));
    f.at(1).add(says("from b"));
    f.gate(0).close();
    const auto call = f.start(routes.chat(question()));
    if (how == routes_fixture::gates::one_each) {
      CHECK(text_of(call) == "from b");
    } else {
      REQUIRE(has_failed(call, errc::refused));
      CHECK(call->value->error().message().find("no provider answered") == std::string::npos);
    }
    // Nothing of it is the provider's fault.
    CHECK(routes.statistics()[0].failed == 0);
    CHECK(f.asked(0) == 0);
  }
}

TEST_CASE("a run is charged at its own gate, or not at all") {
  routes_fixture f(2);
  router routes(all_of(f));
  const auto run = f.gate(0).open_run();
  REQUIRE(run.has_value());
  f.at(0).add(error_of(500));
  f.at(1).add(says("from b"));
  const auto call = f.start(routes.chat(question(), {.run = *run}));
  CHECK(has_failed(call, errc::provider_failed));
  CHECK(f.asked(1) == 0);
}

TEST_CASE("failover keeps the deadline, and stops at it") {
  routes_fixture f(2);
  router routes(all_of(f));
  f.at(0).add(error_of(500).with_pause());
  f.at(1).add(says("from b"));
  const auto deadline = f.in(5s);
  const auto call = f.start(routes.chat(question(), {.deadline = deadline}));
  SUBCASE("before it") {
    f.advance(4s);
    f.at(0).release(0);
    f.run();
    CHECK(text_of(call) == "from b");
    CHECK(f.at(1).requests().at(0).limits.deadline == deadline);
  }
  SUBCASE("at it") {
    f.advance(5s);
    f.at(0).release(0);
    f.run();
    CHECK(call->ended);
    CHECK(f.asked(1) == 0);
  }
  CHECK(f.idle());
}

TEST_CASE("a provider that fails again and again rests, is tried by one call, and comes back") {
  routes_fixture f(2);
  router_options options;
  options.health.failures = 3;
  options.health.jitter = 0;
  router routes(all_of(f), options);
  f.at(1).on_request([](const auto&) { return says("from b"); });
  for (int i = 0; i < 3; ++i) {
    f.at(0).add(error_of(500));
    CHECK(text_of(f.start(routes.chat(question()))) == "from b");
  }
  CHECK(routes.statistics()[0].state == provider_state::open);
  CHECK(routes.statistics()[0].rests == 1);
  CHECK(text_of(f.start(routes.chat(question()))) == "from b");
  CHECK(f.asked(0) == 3);

  f.advance(1s);
  CHECK(routes.statistics()[0].state == provider_state::half_open);
  f.at(0).add(says("from a").with_pause());
  const auto trial = f.start(routes.chat(question()));
  CHECK(f.asked(0) == 4);
  CHECK(text_of(f.start(routes.chat(question()))) == "from b");
  CHECK(f.asked(0) == 4);
  f.at(0).release(3);
  f.run();
  CHECK(text_of(trial) == "from a");
  CHECK(routes.statistics()[0].state == provider_state::closed);
  f.at(0).add(says("from a"));
  CHECK(text_of(f.start(routes.chat(question()))) == "from a");
}

TEST_CASE("a cancelled trial leaves the trial to the next call") {
  routes_fixture f(2);
  router routes(all_of(f));
  f.at(1).on_request([](const auto&) { return says("from b"); });
  f.at(0).add(error_of(401));
  CHECK(text_of(f.start(routes.chat(question()))) == "from b");
  f.advance(2s);
  f.at(0).add(scripted_exchange::silent());
  const auto trial = f.start(routes.chat(question()));
  f.cancel(trial);
  CHECK(has_failed(trial, errc::cancelled));
  f.at(0).add(says("from a"));
  CHECK(text_of(f.start(routes.chat(question()))) == "from a");
  CHECK(f.idle());
}

TEST_CASE("retry-after sends a provider to rest for just so long") {
  routes_fixture f(2);
  router routes(all_of(f));
  f.at(1).on_request([](const auto&) { return says("from b"); });
  f.at(0).add(error_of(429, "rate_limit_exceeded").with_header("retry-after", "20"));
  CHECK(text_of(f.start(routes.chat(question()))) == "from b");
  f.advance(19s);
  CHECK(routes.statistics()[0].state == provider_state::open);
  CHECK(text_of(f.start(routes.chat(question()))) == "from b");
  CHECK(f.asked(0) == 1);
  f.advance(1s);
  CHECK(routes.statistics()[0].state == provider_state::closed);
}

TEST_CASE("when all rest, the one that comes back first is asked all the same") {
  routes_fixture f(2);
  router_options options;
  options.health.jitter = 0;
  router routes(all_of(f), options);
  f.at(0).add(error_of(401).with_header("retry-after", "50"));
  f.at(1).add(error_of(401).with_header("retry-after", "20"));
  CHECK(has_failed(f.start(routes.chat(question())), errc::unauthorized));
  f.at(1).add(says("back"));
  CHECK(text_of(f.start(routes.chat(question()))) == "back");
  CHECK(f.asked(0) == 1);
  CHECK(routes.statistics()[1].state == provider_state::closed);
}

TEST_CASE("weights: the same seed gives the same draws, in these shares") {
  const auto draw = [](std::uint64_t seed) {
    routes_fixture f(3);
    auto providers = all_of(f);
    providers[0].weight = 1;
    providers[1].weight = 2;
    providers[2].weight = 5;
    router_options options;
    options.order = routing::weighted;
    options.seed = seed;
    router routes(std::move(providers), options);
    for (std::size_t i = 0; i < 3; ++i) f.at(i).on_request([i](const auto&) { return says(std::to_string(i)); });
    std::string drawn;
    for (int i = 0; i < 800; ++i) drawn += text_of(f.start(routes.chat(question())));
    return drawn;
  };
  const std::string first = draw(3);
  CHECK(first == draw(3));
  CHECK(first != draw(4));
  std::map<char, int> count;
  for (const char each : first) ++count[each];
  CHECK(count['0'] == doctest::Approx(100).epsilon(0.25));
  CHECK(count['1'] == doctest::Approx(200).epsilon(0.2));
  CHECK(count['2'] == doctest::Approx(500).epsilon(0.1));
}

TEST_CASE("a hedge goes to the second provider, and not on from there") {
  routes_fixture f(3);
  router routes(all_of(f));
  sluice::llm::hedge_options options;
  options.learned = false;
  options.after = 100ms;
  sluice::llm::hedge hedged(routes, options);
  f.at(0).add(scripted_exchange::silent());
  f.at(1).add(says("from b"));
  CHECK_FALSE(f.start(hedged.chat(question()))->ended);
  const auto call = f.start(hedged.chat(question(), {.kind = sluice::attempt::hedge}));
  CHECK(text_of(call) == "from b");
  f.at(1).add(error_of(500));
  CHECK(has_failed(f.start(routes.chat(question(), {.max_attempts = 1, .kind = sluice::attempt::hedge})),
                   errc::provider_failed));
  CHECK(f.asked(2) == 0);
  f.at(1).add(says("from b"));
  f.advance(100ms);
  CHECK(f.asked(1) == 3);
  CHECK(f.idle());
}

TEST_CASE("they stand before each other: shared, hedged, routed") {
  routes_fixture f(2);
  router routes(all_of(f));
  sluice::llm::hedge_options options;
  options.learned = false;
  options.after = 100ms;
  sluice::llm::hedge hedged(routes, options);
  sluice::llm::single_flight shared(hedged);
  f.at(0).add(scripted_exchange::silent());
  f.at(1).add(says("from b"));
  std::vector<std::shared_ptr<started<chat_result>>> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(f.start(shared.chat(question())));
  f.advance(100ms);
  for (const auto& each : calls) CHECK(text_of(each) == "from b");
  CHECK(f.asked(0) == 1);
  CHECK(f.asked(1) == 1);
  CHECK(f.idle());
  f.at(0).add(streams("s"));
  const auto stream = f.start(shared.stream(question()));
  REQUIRE((stream->value && stream->value->has_value()));
  const auto event = f.start((**stream->value).next());
  CHECK((**event->value)->text == "s");
}

TEST_CASE("settings that do not hold") {
  routes_fixture f(1);
  const auto message = [](std::vector<provider> providers, const router_options& options = {}) {
    const auto checked = sluice::llm::validate(providers, options);
    if (checked) return std::string();
    CHECK(checked.error().is(errc::invalid_configuration));
    CHECK_THROWS_AS(router(std::move(providers), options), sluice::error_exception);
    return checked.error().message();
  };
  const auto with = [&](auto change) {
    router_options options;
    change(options.health);
    return message({provider("a", f.caller(0))}, options);
  };
  CHECK(message({}) == "router: no provider");
  CHECK(message({provider("", f.caller(0))}).find("name is empty") != std::string::npos);
  CHECK(message({provider("a", f.caller(0)), provider("a", f.caller(0))}).find("two providers are named a") !=
        std::string::npos);
  provider heavy("a", f.caller(0));
  heavy.weight = 0;
  CHECK(message({heavy}).find("weight") != std::string::npos);
  using sluice::llm::health_policy;
  CHECK(with([](health_policy&) {}).empty());
  CHECK(with([](health_policy& h) { h.failures = 0; }).find("failures") != std::string::npos);
  CHECK(with([](health_policy& h) { h.least_calls = 0; }).find("least_calls") != std::string::npos);
  CHECK(with([](health_policy& h) { h.share = 0; }).find("share") != std::string::npos);
  CHECK(with([](health_policy& h) { h.jitter = 1.5; }).find("jitter") != std::string::npos);
  CHECK(with([](health_policy& h) { h.window = {}; }).find("window") != std::string::npos);
  CHECK(with([](health_policy& h) { h.first_rest = duration(-1); }).find("first_rest") != std::string::npos);
  CHECK(with([](health_policy& h) { h.max_rest = duration(-1); }).find("max_rest") != std::string::npos);
  CHECK(with([](health_policy& h) { h.least_patience = duration(-1); }).find("least_patience") != std::string::npos);
}

TEST_CASE("what a call would reserve is what the provider that it asks first says, by its own name for the model") {
  routes_fixture f(2);
  sluice::llm::client_options by_name = once();
  by_name.estimator = [](const sluice::llm::request& what) {
    return sluice::cost{.tokens = what.model == "own" ? 77 : 55};
  };
  sluice::llm::client second(f.at(1), f.gate(1), by_name);
  std::vector<provider> both = all_of(f);
  both[1] = provider("b", second).with_model("m", "own");
  router routes(std::move(both), {.health = {.failures = 1, .first_rest = 1s, .jitter = 0}});
  CHECK(routes.estimate(question())->tokens == question_tokens);
  CHECK(routes.estimate(question(), {.kind = sluice::attempt::hedge})->tokens == 77);
  CHECK(any_client(routes).estimate(question(), {.reservation = sluice::cost{.tokens = 9}})->tokens == 9);

  f.at(0).add(error_of(500));
  f.at(1).add(says("from b"));
  CHECK(text_of(f.start(routes.chat(question()))) == "from b");
  CHECK(routes.estimate(question())->tokens == 77);
  CHECK(routes.estimate(sluice::llm::request("other").user("q"))->tokens == 55);
  f.advance(1s);
  CHECK(routes.estimate(question())->tokens == question_tokens);
  CHECK(routes.estimate(question(), {.reservation = sluice::cost{.tokens = -1}}).error().is(errc::invalid_argument));
}
