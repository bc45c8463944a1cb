#include "http/loop_fixture.hpp"

#include <doctest/doctest.h>
#include <asio/strand.hpp>

#include <atomic>
#include <thread>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

// Its own thread, so that the loops under test have only the client in them.
class server_thread {
 public:
  server_thread()
      : server(loop_,
               [](raw_connection& c) -> asio::awaitable<void> {
                 for (;;) {
                   const std::string seen = co_await c.read_request();
                   if (seen.empty()) co_return;
                   if (seen.starts_with("GET /silent")) co_return co_await c.closed();
                   if (!co_await c.write(answer_with("ok"))) co_return;
                 }
               }),
        thread_([this] { loop_.run(); }) {}
  ~server_thread() {
    loop_.stop();
    thread_.join();
  }

 private:
  asio::io_context loop_{1};

 public:
  raw_server server;

 private:
  std::thread thread_;
};

}  // namespace

TEST_CASE("four threads on one loop, with cancellations in between: each exchange ends exactly once") {
  server_thread peer;
  asio::io_context loop;
  auto time = make_steady_time_source(loop.get_executor());
  auto client = make_curl_transport(loop.get_executor(), *time);
  std::atomic<int> ended{0};
  std::atomic<int> good{0};
  std::atomic<int> cancelled{0};
  std::atomic<int> outside{0};
  constexpr int chains = 16;
  constexpr int length = 50;
  const std::string url = peer.server.url();
  const std::string silent = peer.server.url("/silent");

  using strand_type = asio::strand<asio::io_context::executor_type>;
  const auto chain = [&](int number, const strand_type& own) -> asio::awaitable<void> {
    for (int i = 0; i < length; ++i) {
      if ((number + i) % 7 == 0) {
        // The answer never comes; the deadline cuts it off.
        request lost("GET", silent);
        lost.limits.deadline = time->now() + std::chrono::milliseconds(1);
        const whole got = co_await fetch(*client, std::move(lost));
        if (got.failure.is(errc::deadline_exceeded)) ++cancelled;
      } else {
        const whole got = co_await fetch(*client, request("GET", url));
        if (got.body == "ok") ++good;
      }
      ++ended;
      if (!own.running_in_this_thread()) ++outside;
    }
  };
  std::vector<strand_type> strands;
  for (int i = 0; i < chains; ++i) strands.push_back(asio::make_strand(loop));
  for (int i = 0; i < chains; ++i) {
    const strand_type& own = strands[static_cast<std::size_t>(i)];
    asio::co_spawn(own, chain(i, own), asio::detached);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { loop.run(); });
  for (auto& one : threads) one.join();
  CHECK(ended == chains * length);
  CHECK(outside == 0);
  CHECK(good + cancelled == chains * length);
  CHECK(cancelled > chains * length / 10);
}

TEST_CASE("a transport may be destroyed from a thread that is not its loop's, while it works") {
  server_thread peer;
  for (int round = 0; round < 20; ++round) {
    asio::io_context loop;
    auto time = make_steady_time_source(loop.get_executor());
    auto client = make_curl_transport(loop.get_executor(), *time);
    std::atomic<int> ended{0};
    for (int i = 0; i < 20; ++i) {
      asio::co_spawn(loop, fetch(*client, request("GET", peer.server.url(i % 2 == 0 ? "/" : "/silent"))),
                     [&](std::exception_ptr failure, const whole&) {
                       CHECK_FALSE(failure);
                       ++ended;
                     });
    }
    std::thread runner([&] { loop.run(); });
    while (ended < round % 10) std::this_thread::yield();
    client.reset();
    runner.join();
    CHECK(ended == 20);
  }
}
