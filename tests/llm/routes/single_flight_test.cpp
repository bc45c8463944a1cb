#include "llm/call_fixture.hpp"

#include <sluice/llm/single_flight.hpp>

#include <doctest/doctest.h>
#include <asio/detached.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::errc;
using sluice::llm::call_options;
using sluice::llm::request;
using sluice::llm::sharing;
using sluice::llm::sharing_scope;
using sluice::llm::single_flight;
using sluice::llm::single_flight_options;
using sluice::testing::scripted_exchange;

namespace {

using chat = std::shared_ptr<started<chat_result>>;

bool answered(const chat& call) { return call->value && call->value->has_value() && (*call->value)->text == "Hi"; }
bool failed(const chat& call, errc kind) {
  return call->value && !call->value->has_value() && call->value->error().is(kind);
}

}  // namespace

TEST_CASE("identical requests in flight share one exchange, and each gets its own copy of the answer") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(plain(plain_answer).with_pause());
  const auto first = f.start(shared.chat(question()));
  const auto second = f.start(shared.chat(question()));
  const auto third = f.start(shared.chat(question()));
  CHECK(f.transport.requests().size() == 1);
  CHECK(f.in_flight() == 1);
  CHECK(f.held_tokens() == 500 + 128);
  CHECK(shared.statistics().in_flight == 1);
  f.transport.release(0);
  f.run();
  CHECK((answered(first) && answered(second) && answered(third)));
  CHECK(f.idle());
  CHECK(f.consumed() == 940);
  const auto counts = shared.statistics();
  CHECK(counts.leaders == 1);
  CHECK(counts.followers == 2);
  CHECK(counts.tokens_saved == 2 * 940);
  CHECK(counts.in_flight == 0);

  // Nothing is kept.
  f.transport.add(plain(plain_answer));
  CHECK(answered(f.start(shared.chat(question()))));
  CHECK(f.transport.requests().size() == 2);
}

TEST_CASE("any difference in the request is another question") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.on_request([](const auto&) { return scripted_exchange::silent(); });
  std::vector<chat> calls;
  std::vector<request> different{question(),
                                 question().with_temperature(0),
                                 question().with_seed(1),
                                 question().extra("top_p", "0.9"),
                                 question().user("and"),
                                 question().limit_output(499)};
  for (int copy = 0; copy < 2; ++copy) {
    for (const request& each : different)
      calls.push_back(f.start(shared.chat(each, {.reservation = sluice::cost{.tokens = 1}})));
  }
  // Four of them run, and the others wait for a slot.
  CHECK(f.in_flight() + f.waiting() == 6);
  CHECK(shared.statistics().followers == 6);
  for (const chat& each : calls) f.cancel(each);
  CHECK(f.idle());
  for (const chat& each : calls) CHECK(failed(each, errc::cancelled));
}

TEST_CASE("tenants share among themselves alone, unless the scope is all") {
  for (const auto scope : {sharing_scope::tenant, sharing_scope::all}) {
    call_fixture f;
    single_flight_options options;
    options.scope = scope;
    single_flight shared(f.caller, options);
    f.transport.add(plain(plain_answer).with_pause());
    f.transport.add(plain(plain_answer).with_pause());
    const auto a = f.start(shared.chat(question(), {.tenant = sluice::tenant("a")}));
    const auto b = f.start(shared.chat(question(), {.tenant = sluice::tenant("b")}));
    const auto again = f.start(shared.chat(question(), {.tenant = sluice::tenant("a")}));
    CHECK(f.transport.requests().size() == (scope == sharing_scope::all ? 1 : 2));
    f.transport.release_all();
    f.run();
    CHECK((answered(a) && answered(b) && answered(again)));
  }
}

TEST_CASE("a call may be left out, by itself, by what it asks, and by being a hedge") {
  call_fixture f;
  single_flight_options options;
  options.shareable = [](const request& what) { return what.temperature == 0.0; };
  single_flight shared(f.caller, options);
  f.transport.on_request([](const auto&) { return plain(plain_answer).with_pause(); });
  const request still = question().with_temperature(0);
  std::vector<chat> calls{f.start(shared.chat(still)), f.start(shared.chat(still)),
                          f.start(shared.chat(still, {}, sharing::alone)), f.start(shared.chat(question())),
                          f.start(shared.chat(still, {.kind = sluice::attempt::hedge}))};
  CHECK(f.transport.requests().size() == 4);
  CHECK(shared.statistics().alone == 3);
  CHECK(shared.statistics().leaders == 1);
  f.transport.release_all();
  f.run();
  for (const chat& each : calls) CHECK(answered(each));
}

TEST_CASE("a follower leaves alone; so does the leader; the last one stops the exchange") {
  for (const int order : {0, 1, 2}) {
    CAPTURE(order);
    call_fixture f;
    single_flight shared(f.caller);
    f.transport.add(plain(plain_answer).with_pause());
    std::vector<chat> calls{f.start(shared.chat(question())), f.start(shared.chat(question())),
                            f.start(shared.chat(question()))};
    const chat& one = calls[static_cast<std::size_t>(order)];
    const chat& two = calls[static_cast<std::size_t>((order + 1) % 3)];
    const chat& three = calls[static_cast<std::size_t>((order + 2) % 3)];
    f.cancel(one);
    CHECK(failed(one, errc::cancelled));
    CHECK_FALSE(two->ended);
    CHECK(f.transport.open() == 1);
    f.cancel(two);
    CHECK(failed(two, errc::cancelled));
    CHECK(f.in_flight() == 1);
    SUBCASE("the last one stays") {
      f.transport.release(0);
      f.run();
      CHECK(answered(three));
      CHECK(f.transport.cancelled() == 0);
    }
    SUBCASE("the last one leaves, too") {
      f.cancel(three);
      CHECK(failed(three, errc::cancelled));
      CHECK(f.transport.cancelled() == 1);
    }
    CHECK(f.idle());
    CHECK(shared.statistics().in_flight == 0);
  }
}

TEST_CASE("an exchange that is being stopped is not joined") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(scripted_exchange::silent());
  f.transport.add(plain(plain_answer));
  const auto first = f.start(shared.chat(question()));
  first->cancel.emit(asio::cancellation_type::terminal);
  const auto second = f.start(shared.chat(question()));
  CHECK(failed(first, errc::cancelled));
  CHECK(answered(second));
  CHECK(f.idle());
}

TEST_CASE("waiting in the queue is shared, and left, in the same way") {
  call_fixture f(sluice::policy({.slots = 1, .tokens = 100'000}));
  auto taken = f.gate.try_admit({.tokens = 1});
  REQUIRE(taken.has_value());
  single_flight shared(f.caller);
  const auto first = f.start(shared.chat(question()));
  const auto second = f.start(shared.chat(question()));
  CHECK(f.waiting() == 1);
  f.cancel(first);
  CHECK(f.waiting() == 1);
  f.cancel(second);
  CHECK(f.waiting() == 0);
  CHECK(failed(second, errc::cancelled));
  CHECK(f.transport.requests().empty());
}

TEST_CASE("a failure is given to all") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(plain(R"({"error":{"message":"no such model","code":"model_not_found"}})", 404).with_pause());
  const auto first = f.start(shared.chat(question()));
  const auto second = f.start(shared.chat(question()));
  f.transport.release(0);
  f.run();
  for (const chat& each : {first, second}) {
    REQUIRE(failed(each, errc::provider_refused));
    CHECK(each->value->error().status == 404);
    CHECK(each->value->error().provider_code == "model_not_found");
  }
  CHECK(f.transport.requests().size() == 1);
  CHECK(shared.statistics().tokens_saved == 0);
}

TEST_CASE("each waits by its own deadline") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(plain(plain_answer).with_pause());
  const auto leader = f.start(shared.chat(question(), {.deadline = f.gate.in(20s)}));
  const auto hasty = f.start(shared.chat(question(), {.deadline = f.gate.in(5s)}));
  f.advance(5s);
  REQUIRE(failed(hasty, errc::deadline_exceeded));
  CHECK_FALSE(leader->ended);
  CHECK(f.in_flight() == 1);
  f.transport.release(0);
  f.run();
  CHECK(answered(leader));
  CHECK(f.time.armed() == 0);
}

TEST_CASE("the last one whose deadline passes stops the exchange") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(scripted_exchange::silent());
  const auto leader = f.start(shared.chat(question()));
  const auto second = f.start(shared.chat(question(), {.deadline = f.gate.in(5s)}));
  f.cancel(leader);
  f.advance(5s);
  REQUIRE(failed(second, errc::deadline_exceeded));
  CHECK(f.transport.cancelled() == 1);
  CHECK(f.idle());
}

TEST_CASE("those with a later deadline than the leader's ask again, together") {
  call_fixture f(sluice::policy({.slots = 1, .tokens = 100'000}));
  auto taken = f.gate.try_admit({.tokens = 1});
  REQUIRE(taken.has_value());
  single_flight shared(f.caller);
  f.transport.add(plain(plain_answer).with_pause());
  const auto leader = f.start(shared.chat(question(), {.deadline = f.gate.in(1s)}));
  const auto second = f.start(shared.chat(question(), {.deadline = f.gate.in(9s)}));
  const auto third = f.start(shared.chat(question(), {.deadline = f.gate.in(5s)}));
  CHECK(f.waiting() == 1);
  f.advance(1s);
  REQUIRE(failed(leader, errc::deadline_exceeded));
  CHECK(leader->value->error().phase == sluice::llm::call_phase::queued);
  CHECK(f.waiting() == 1);
  CHECK_FALSE(second->ended);
  taken->release();
  f.run();
  CHECK(f.transport.requests().size() == 1);
  f.transport.release(0);
  f.run();
  CHECK((answered(second) && answered(third)));
  CHECK(f.idle());
}

TEST_CASE("a deadline that has passed is refused at once") {
  call_fixture f;
  single_flight shared(f.caller);
  const auto late = f.start(shared.chat(question(), {.deadline = f.gate.now() - 1s}));
  CHECK(failed(late, errc::deadline_exceeded));
  CHECK(f.transport.requests().empty());
}

TEST_CASE("what the leader's run cannot pay, another run may") {
  call_fixture f;
  single_flight shared(f.caller);
  sluice::run_options little;
  little.limit.tokens = 100;
  const auto poor = f.gate.open_run(little);
  const auto rich = f.gate.open_run();
  REQUIRE((poor && rich));
  f.transport.add(plain(plain_answer));
  f.transport.add(plain(plain_answer));
  // The leader's refusal takes a turn of the loop; the other one joins before it.
  auto first = shared.chat(question(), {.run = *poor});
  auto second = shared.chat(question(), {.run = *rich});
  chat_result from_poor(sluice::unexpected<sluice::llm::failure>(sluice::llm::failure(errc::ok, "")));
  chat_result from_rich = from_poor;
  const auto both = [](auto call, chat_result& into) -> asio::awaitable<void> { into = co_await std::move(call); };
  asio::co_spawn(f.loop, both(std::move(first), from_poor), asio::detached);
  asio::co_spawn(f.loop, both(std::move(second), from_rich), asio::detached);
  f.run();
  REQUIRE_FALSE(from_poor.has_value());
  CHECK(from_poor.error().is(errc::refused));
  CHECK(from_rich.has_value());
  CHECK(shared.statistics().followers == 1);
  CHECK(f.transport.requests().size() == 1);
  CHECK(f.idle());
}

TEST_CASE("an exchange that ends with its leader's run serves another run by another one, and nobody of its own") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(scripted_exchange::silent());
  f.transport.add(plain(plain_answer));
  const auto closing = f.gate.open_run();
  const auto other = f.gate.open_run();
  const auto leader = f.start(shared.chat(question(), {.run = *closing}));
  const auto same = f.start(shared.chat(question(), {.run = *closing}));
  const auto follower = f.start(shared.chat(question(), {.run = *other}));
  CHECK(f.transport.requests().size() == 1);
  f.gate.close_run(*closing);
  f.run();
  CHECK(failed(leader, errc::cancelled));
  CHECK(failed(same, errc::cancelled));
  CHECK(answered(follower));
  CHECK(f.transport.requests().size() == 2);
  CHECK(f.idle());
}

TEST_CASE("a more urgent call is not dragged down by a queued batch call; a less urgent one rides along") {
  call_fixture f(sluice::policy({.slots = 2, .tokens = 100'000}));
  std::vector<sluice::permit> taken;
  while (auto one = f.gate.try_admit({.tokens = 1}, sluice::batch)) taken.push_back(std::move(*one));
  single_flight shared(f.caller);
  f.transport.on_request([](const auto&) { return plain(plain_answer).with_pause(); });
  const auto slow = f.start(shared.chat(question(), {.workload = sluice::batch}));
  CHECK(f.waiting() == 1);
  const auto urgent = f.start(shared.chat(question()));
  CHECK(shared.statistics().leaders == 2);
  const auto rides = f.start(shared.chat(question(), {.workload = sluice::batch}));
  const auto with_urgent = f.start(shared.chat(question()));
  CHECK(shared.statistics().leaders == 2);
  taken.clear();
  f.transport.release_all();
  f.run();
  CHECK((answered(slow) && answered(urgent) && answered(rides) && answered(with_urgent)));
  CHECK(f.transport.requests().size() == 2);
  CHECK(f.idle());
}

TEST_CASE("a call does not share what another one asked of its own exchange") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.on_request([](const auto&) { return plain(plain_answer).with_pause(); });
  const auto plain_one = f.start(shared.chat(question()));
  const auto patient = f.start(shared.chat(question(), {.max_attempts = 5}));
  const auto too_large = f.start(shared.chat(question(), {.reservation = sluice::cost{.tokens = 1'000'000}}));
  CHECK(failed(too_large, errc::refused));
  CHECK(shared.statistics().leaders == 3);
  f.transport.release_all();
  f.run();
  CHECK((answered(plain_one) && answered(patient)));
  CHECK(f.idle());
}

TEST_CASE("a thousand followers") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(plain(plain_answer).with_pause());
  std::vector<chat> calls;
  for (int i = 0; i <= 1'000; ++i) calls.push_back(f.start(shared.chat(question())));
  for (std::size_t i = 0; i < calls.size(); i += 3) f.cancel(calls[i]);
  CHECK(f.in_flight() == 1);
  f.transport.release(0);
  f.run();
  for (std::size_t i = 0; i < calls.size(); ++i)
    CHECK((i % 3 == 0 ? failed(calls[i], errc::cancelled) : answered(calls[i])));
  CHECK(f.transport.requests().size() == 1);
  CHECK(shared.statistics().tokens_saved == 667 * 940);
  CHECK(f.idle());
}

TEST_CASE("what an estimator throws is thrown to everybody") {
  sluice::llm::client_options options("http://server/v1");
  options.estimator = [](const request&) -> sluice::cost { throw std::runtime_error("no estimate"); };
  call_fixture f(sluice::policy({.slots = 1, .tokens = 1'000}), options);
  single_flight shared(f.caller);
  const auto first = f.start(shared.chat(question()));
  REQUIRE(first->ended);
  CHECK_THROWS_AS(std::rethrow_exception(first->thrown), std::runtime_error);
  CHECK(shared.statistics().in_flight == 0);
}

TEST_CASE("the callers' context goes first: the exchange is stopped, and the others are served") {
  call_fixture f;
  single_flight shared(f.caller);
  f.transport.add(plain(plain_answer).with_pause());
  f.transport.add(scripted_exchange::silent());
  {
    asio::io_context other;
    const auto hold = [](auto call) -> asio::awaitable<void> { static_cast<void>(co_await std::move(call)); };
    asio::co_spawn(other, hold(shared.chat(question())), asio::detached);
    asio::co_spawn(other, hold(shared.chat(question().with_seed(1))), asio::detached);
    other.poll();
    f.run();
    CHECK(f.in_flight() == 2);
    const auto stays = f.start(shared.chat(question()));
    CHECK_FALSE(stays->ended);
  }
  f.run();
  // The one that nobody waits for any more has been stopped.
  CHECK(f.transport.cancelled() == 1);
  CHECK(f.in_flight() == 1);
  f.transport.release(0);
  f.run();
  CHECK(f.idle());
}

TEST_CASE("the gate's context goes first: callers elsewhere are told, and nothing stays behind") {
  asio::io_context callers;
  std::optional<chat_result> result;
  sluice::testing::manual_time_source time;
  sluice::testing::scripted_transport transport;
  transport.add(scripted_exchange::silent());
  auto home = std::make_unique<asio::io_context>();
  sluice::bulkhead gate(home->get_executor(), sluice::policy({.slots = 1, .tokens = 10'000}), time);
  sluice::llm::client caller(transport, gate, sluice::llm::client_options("http://server/v1"));
  single_flight shared(caller);
  const auto hold = [&](auto call) -> asio::awaitable<void> { result.emplace(co_await std::move(call)); };
  asio::co_spawn(callers, hold(shared.chat(question())), asio::detached);
  callers.poll();
  SUBCASE("while it is sent") { home->poll(); }
  SUBCASE("before it has begun") {}
  home.reset();
  callers.restart();
  callers.poll();
  REQUIRE(result.has_value());
  REQUIRE_FALSE(result->has_value());
  CHECK(result->error().is(errc::cancelled));
  CHECK(transport.open() == 0);
  CHECK(gate.statistics().all.in_flight == 0);
}

TEST_CASE("the gate and all that stands on it go before the loop in which calls are suspended") {
  asio::io_context loop;
  bool ended = false;
  {
    sluice::testing::manual_time_source time;
    sluice::testing::scripted_transport transport;
    transport.add(scripted_exchange::silent());
    sluice::bulkhead gate(loop.get_executor(), sluice::policy({.slots = 1, .tokens = 10'000}), time);
    sluice::llm::client caller(transport, gate, sluice::llm::client_options("http://server/v1"));
    single_flight shared(caller);
    const auto hold = [&](auto call) -> asio::awaitable<void> {
      static_cast<void>(co_await std::move(call));
      ended = true;
    };
    asio::co_spawn(loop, hold(shared.chat(question(), {.deadline = gate.in(9s)})), asio::detached);
    asio::co_spawn(loop, hold(shared.chat(question(), {.deadline = gate.in(5s)})), asio::detached);
    loop.poll();
    CHECK(transport.open() == 1);
  }
  CHECK_FALSE(ended);
}

TEST_CASE("what a call would reserve is what an exchange of its own would") {
  call_fixture f;
  const single_flight shared(f.caller);
  CHECK(shared.estimate(question())->tokens == question_tokens);
  CHECK(shared.estimate(question(), {.reservation = sluice::cost{.tokens = 5}})->tokens == 5);
}
