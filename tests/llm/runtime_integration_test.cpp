#include <sluice/llm/runtime.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using sluice::errc;
using sluice::runtime;
using sluice::runtime_options;
using sluice::testing::mock_fault;
using sluice::testing::mock_provider;
using sluice::testing::mock_reply;
using sluice::testing::mock_stats;

namespace {

sluice::policy rules() { return sluice::policy({.slots = 8, .tokens = 100'000}); }

sluice::llm::request question() {
  sluice::llm::request asked("m");
  asked.user("Why?").limit_output(100);
  return asked;
}

asio::awaitable<std::string> ask(sluice::llm::client& client) {
  auto answer = co_await client.chat(question());
  co_return answer ? answer->text : answer.error().message();
}

template <typename Do>
errc kind_of(Do what) {
  try {
    what();
  } catch (const sluice::error_exception& thrown) {
    return static_cast<errc>(thrown.why().code().value());
  }
  return errc::ok;
}

}  // namespace

TEST_CASE("a program without a loop asks a model") {
  mock_provider provider;
  provider.reply_with(mock_reply::text("Because."));
  runtime rt(runtime_options(rules(), sluice::llm::client_options(provider.url())));
  CHECK(rt.run(ask(rt.client())) == "Because.");
  CHECK(rt.gate().statistics().all.in_flight == 0);
}

TEST_CASE("results of any kind, and exceptions, come out of run") {
  runtime rt{runtime_options(rules())};
  class no_default {
   public:
    explicit no_default(int number) : value(std::make_unique<int>(number)) {}
    std::unique_ptr<int> value;
  };
  CHECK(*rt.run([]() -> asio::awaitable<no_default> { co_return no_default(7); }()).value == 7);
  bool ran = false;
  rt.run([](bool& done) -> asio::awaitable<void> {
    done = true;
    co_return;
  }(ran));
  CHECK(ran);
  CHECK_THROWS_AS(rt.run([]() -> asio::awaitable<int> {
    throw std::runtime_error("no");
    co_return 1;
  }()),
                  std::runtime_error);
}

TEST_CASE("what cannot be is named") {
  CHECK(kind_of([] {
          runtime_options none(rules());
          none.threads = 0;
          runtime rt(std::move(none));
        }) == errc::invalid_configuration);
  CHECK(kind_of([] { runtime rt(runtime_options(rules(), sluice::llm::client_options("nowhere"))); }) ==
        errc::invalid_configuration);
  runtime rt{runtime_options(rules())};
  CHECK(kind_of([&] { static_cast<void>(rt.client()); }) == errc::invalid_configuration);
  CHECK(rt.run([](runtime& own) -> asio::awaitable<errc> {
    co_return kind_of([&] { own.run([]() -> asio::awaitable<void> { co_return; }()); });
  }(rt)) == errc::invalid_argument);
}

TEST_CASE("several threads run it, and several call it") {
  mock_provider provider;
  provider.reply_when([](const auto&) { return true; }, mock_reply::text("yes"));
  runtime_options options(rules(), sluice::llm::client_options(provider.url()));
  options.threads = 3;
  runtime rt(std::move(options));
  std::vector<std::thread> callers;
  std::vector<int> right(4);
  for (int& count : right) {
    callers.emplace_back([&rt, &count] {
      for (int i = 0; i < 20; ++i) count += rt.run(ask(rt.client())) == "yes" ? 1 : 0;
    });
  }
  for (std::thread& one : callers) one.join();
  CHECK(right == std::vector<int>{20, 20, 20, 20});
  CHECK(rt.gate().statistics().all.in_flight == 0);
  CHECK(provider.stats().served == 80);
}

TEST_CASE("permits and streams may outlive it, and so may coroutines that wait in it") {
  mock_provider provider;
  provider.reply_when([](const auto&) { return true; }, mock_reply::words(50));
  provider.fail_next(mock_fault::stall_after(2), 2);
  sluice::permit kept;
  std::optional<sluice::llm::stream> stream;
  {
    runtime rt(runtime_options(rules(), sluice::llm::client_options(provider.url())));
    kept = std::move(*rt.gate().try_admit({.tokens = 5}));
    stream.emplace(rt.run([](sluice::llm::client& client) -> asio::awaitable<sluice::llm::stream> {
      auto opened = co_await client.stream(question());
      auto held = std::move(opened).value();
      static_cast<void>(co_await held.next());
      co_return held;
    }(rt.client())));
    asio::co_spawn(rt.get_executor(), ask(rt.client()), asio::detached);
    REQUIRE(provider.wait_until([](const mock_stats& s) { return s.open == 2; }));
  }
  stream.reset();
  kept.release();
  CHECK(provider.wait_until([](const mock_stats& s) { return s.open == 0; }));
}
