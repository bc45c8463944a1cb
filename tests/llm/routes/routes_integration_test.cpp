// Sharing, hedging and routing over real connections, on several threads.
#include <sluice/llm/hedge.hpp>
#include <sluice/llm/router.hpp>
#include <sluice/llm/runtime.hpp>
#include <sluice/llm/single_flight.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <doctest/doctest.h>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using sluice::errc;
using sluice::runtime;
using sluice::runtime_options;
using sluice::llm::any_client;
using sluice::llm::any_stream;
using sluice::llm::call_options;
using sluice::llm::hedge;
using sluice::llm::provider;
using sluice::llm::request;
using sluice::llm::router;
using sluice::llm::single_flight;
using sluice::testing::mock_fault;
using sluice::testing::mock_provider;
using sluice::testing::mock_reply;

namespace {

sluice::policy rules() {
  sluice::policy made({.slots = 64, .tokens = 1'000'000});
  made.retries.enabled = false;
  return made;
}

request question(std::int64_t number = 0) {
  request asked("m");
  asked.user("Why?").limit_output(20).with_seed(number);
  return asked;
}

runtime_options with(const mock_provider& provider, std::size_t threads = 4) {
  sluice::llm::client_options server(provider.url());
  server.retry.max_attempts = 1;
  runtime_options made(rules(), server);
  made.threads = threads;
  return made;
}

/// A call on a strand of its own, so that it may be cancelled from elsewhere.
class caller {
 public:
  caller(runtime& on, asio::awaitable<std::string> what) : strand_(asio::make_strand(on.get_executor())) {
    asio::co_spawn(strand_, std::move(what),
                   asio::bind_cancellation_slot(signal_.slot(), [this](std::exception_ptr thrown, std::string said) {
                     told_.set_value(thrown ? "thrown" : std::move(said));
                   }));
  }
  void cancel() {
    asio::post(strand_, [this] { signal_.emit(asio::cancellation_type::terminal); });
  }
  [[nodiscard]] std::string wait() { return told_.get_future().get(); }

 private:
  asio::strand<asio::any_io_executor> strand_;
  asio::cancellation_signal signal_;
  std::promise<std::string> told_;
};

asio::awaitable<std::string> ask(any_client from, request what, call_options how = {}) {
  auto answer = co_await from.chat(std::move(what), how);
  if (answer) co_return answer->text;
  co_return answer.error().is(errc::cancelled) ? "cancelled" : answer.error().message();
}

asio::awaitable<std::string> read(any_client from, request what) {
  auto opened = co_await from.stream(std::move(what));
  if (!opened) co_return opened.error().is(errc::cancelled) ? "cancelled" : opened.error().message();
  for (;;) {
    auto event = co_await opened->next();
    if (!event) co_return event.error().is(errc::cancelled) ? "cancelled" : event.error().message();
    if (!*event) co_return opened->result().text;
  }
}

bool drained(runtime& rt) {
  return rt.run([](sluice::bulkhead& gate) -> asio::awaitable<bool> {
    const auto left = co_await gate.drain(20s);
    co_return left.drained;
  }(rt.gate()));
}

}  // namespace

TEST_CASE("callers on several threads share exchanges, leave, and all get one result") {
  mock_provider provider;
  provider.on_request([](const auto&) { return mock_reply::text("Because it is so."); });
  provider.freeze();
  runtime rt(with(provider));
  single_flight shared(rt.client());
  std::vector<std::unique_ptr<caller>> callers;
  for (std::int64_t i = 0; i < 200; ++i) {
    callers.push_back(
        std::make_unique<caller>(rt, i % 2 == 0 ? ask(shared, question(i % 3)) : read(shared, question(i % 3))));
  }
  for (auto seen = shared.statistics(); seen.leaders + seen.followers < 200; seen = shared.statistics())
    std::this_thread::yield();
  REQUIRE(provider.wait_until([](const auto& seen) { return seen.open == 6; }));
  for (std::size_t i = 0; i < callers.size(); i += 4) callers[i]->cancel();
  for (std::size_t i = 0; i < callers.size(); i += 4) {
    const std::string said = callers[i]->wait();
    CHECK((said == "cancelled" || said == "thrown"));
  }
  provider.thaw();
  for (std::size_t i = 0; i < callers.size(); ++i) {
    if (i % 4 != 0) CHECK(callers[i]->wait() == "Because it is so.");
  }
  CHECK(provider.stats().answered(200) == 6);
  CHECK(drained(rt));
  CHECK(shared.statistics().leaders == 6);
  CHECK(shared.statistics().followers == 194);
}

TEST_CASE("everybody is cancelled at once, again and again") {
  mock_provider provider;
  provider.freeze();
  runtime rt(with(provider));
  single_flight shared(rt.client());
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<caller>> callers;
    for (int i = 0; i < 40; ++i) {
      callers.push_back(std::make_unique<caller>(rt, i % 2 == 0 ? ask(shared, question()) : read(shared, question())));
    }
    for (const auto& each : callers) each->cancel();
    for (const auto& each : callers) {
      const std::string said = each->wait();
      CHECK((said == "cancelled" || said == "thrown"));
    }
  }
  CHECK(drained(rt));
  CHECK(shared.statistics().in_flight == 0);
  CHECK(provider.wait_until([](const auto& seen) { return seen.open == 0; }));
}

TEST_CASE("calls that get stuck are answered by their hedges") {
  mock_provider stuck;
  mock_provider quick;
  stuck.fail_when([](const auto&) { return true; }, mock_fault::stall());
  quick.on_request([](const auto&) { return mock_reply::text("Quickly."); });
  runtime rt(with(stuck));
  sluice::bulkhead other_gate(rt.get_executor(), rules(), rt.time());
  sluice::llm::client other(rt.transport(), other_gate, sluice::llm::client_options(quick.url()));
  sluice::llm::hedge_options options;
  options.learned = false;
  options.after = 10ms;
  hedge hedged(rt.client(), other, options);
  std::vector<std::unique_ptr<caller>> callers;
  for (int i = 0; i < 50; ++i) {
    callers.push_back(std::make_unique<caller>(rt, i % 2 == 0 ? ask(hedged, question(i)) : read(hedged, question(i))));
  }
  for (const auto& each : callers) CHECK(each->wait() == "Quickly.");
  CHECK(hedged.statistics().sent == 50);
  CHECK(hedged.statistics().won == 50);
  CHECK(drained(rt));
  CHECK(other_gate.statistics().all.in_flight == 0);
  CHECK(stuck.wait_until([](const auto& seen) { return seen.open == 0; }));
}

TEST_CASE("a provider that has gone is replaced by the next one") {
  mock_provider gone;
  mock_provider there;
  there.on_request([](const auto&) { return mock_reply::text("From the other one."); });
  runtime rt(with(gone));
  gone.stop();
  sluice::bulkhead other_gate(rt.get_executor(), rules(), rt.time());
  sluice::llm::client other(rt.transport(), other_gate, sluice::llm::client_options(there.url()));
  std::vector<provider> both{provider("gone", rt.client()), provider("there", other)};
  sluice::llm::router_options options;
  options.health.first_rest = 1h;
  options.health.max_rest = 1h;
  router routes(std::move(both), options);
  std::vector<std::unique_ptr<caller>> callers;
  for (int i = 0; i < 50; ++i) {
    callers.push_back(std::make_unique<caller>(rt, i % 2 == 0 ? ask(routes, question(i)) : read(routes, question(i))));
  }
  for (const auto& each : callers) CHECK(each->wait() == "From the other one.");
  const auto counts = routes.statistics();
  CHECK(counts[0].state == sluice::llm::provider_state::open);
  CHECK(counts[0].answered == 0);
  CHECK(counts[1].answered == 50);
  CHECK(drained(rt));
  CHECK(other_gate.statistics().all.in_flight == 0);
}
