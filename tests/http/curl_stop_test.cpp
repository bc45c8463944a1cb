#include "http/deaf_server.hpp"
#include "http/loop_fixture.hpp"

#include <sluice/runtime/stop_signal.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

request stoppable(const std::string& url, const std::shared_ptr<stop_signal>& by) {
  request what("GET", url);
  what.stop = by;
  return what;
}

// A head, a part of the body, and then nothing any more.
class half_server : public loop_fixture {
 public:
  bool closed = false;
  raw_server server{loop, [this](raw_connection& c) -> asio::awaitable<void> {
                      co_await c.read_request();
                      co_await c.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart");
                      co_await c.closed();
                      closed = true;
                    }};
  std::shared_ptr<stop_signal> signal = std::make_shared<stop_signal>();
};

}  // namespace

TEST_CASE_FIXTURE(half_server, "stopped before it is sent: nothing is") {
  signal->stop(stop_cause::preempted);
  auto got = run(fetch(*client, stoppable(server.url(), signal)));
  CHECK(got.failure.is(errc::cancelled));
  CHECK(got.failure.message() == server.url("").substr(7) + ": the exchange was stopped");
  CHECK(server.accepted() == 0);
  CHECK(time.armed() == 0);
}

TEST_CASE_FIXTURE(loop_fixture, "stopped while connecting, it ends at once and leaves no descriptor") {
  const deaf_server deaf;
  const int before = open_descriptors();
  const auto signal = std::make_shared<stop_signal>();
  auto running = start(fetch(*client, stoppable(deaf.url(), signal)));
  while (open_descriptors() == before) loop.poll_one();
  REQUIRE_FALSE(running->ended);
  signal->stop(stop_cause::run_closed);
  CHECK(open_descriptors() == before);
  run_until([&] { return running->ended; });
  CHECK(running->value.value().failure.is(errc::cancelled));
  CHECK(time.armed() == 0);
}

TEST_CASE_FIXTURE(loop_fixture,
                  "stopped before the first byte: the server sees the connection close, the caller goes on") {
  bool asked = false;
  bool closed = false;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    asked = !(co_await c.read_request()).empty();
    co_await c.closed();
    closed = true;
  });
  const auto signal = std::make_shared<stop_signal>();
  bool went_on = false;
  const auto program = [&]() -> asio::awaitable<whole> {
    auto got = co_await fetch(*client, stoppable(server.url(), signal));
    // A coroutine that was cancelled would throw here.
    co_await asio::post(loop, asio::use_awaitable);
    went_on = true;
    co_return got;
  };
  auto running = start(program());
  run_until([&] { return asked; });
  signal->stop(stop_cause::preempted);
  CHECK(time.armed() == 0);
  run_until([&] { return running->ended && closed; });
  CHECK(running->value.value().failure.is(errc::cancelled));
  CHECK(went_on);
}

TEST_CASE_FIXTURE(half_server, "stopped in mid-body while somebody reads") {
  auto head = run(client->send(stoppable(server.url(), signal)));
  REQUIRE(head.has_value());
  CHECK(run((*head)->read()).value() == "part");
  auto reading = start((*head)->read());
  while (loop.poll_one() > 0) {
  }
  REQUIRE_FALSE(reading->ended);
  signal->stop(stop_cause::preempted);
  run_until([&] { return reading->ended && closed; });
  REQUIRE_FALSE(reading->value.value().has_value());
  CHECK(reading->value->error().is(errc::cancelled));
  CHECK(run((*head)->read()).error().is(errc::cancelled));
}

TEST_CASE_FIXTURE(half_server, "stopped between two reads: closed at once, and what nobody had read is lost") {
  for (const bool read_before : {true, false}) {
    closed = false;
    const auto own = std::make_shared<stop_signal>();
    auto head = run(client->send(stoppable(server.url(), own)));
    REQUIRE(head.has_value());
    if (read_before) CHECK(run((*head)->read()).value() == "part");
    own->stop(stop_cause::preempted);
    CHECK(time.armed() == 0);
    run_until([&] { return closed; });
    for (int i = 0; i < 2; ++i) CHECK(run((*head)->read()).error().is(errc::cancelled));
    CHECK((*head)->status() == 200);
  }
}

TEST_CASE_FIXTURE(loop_fixture, "a paused answer can be stopped") {
  curl_options small;
  small.read_buffer = 1000;
  auto narrow = make_curl_transport(loop.get_executor(), time, small);
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\n\r\n");
    while (co_await c.write(std::string(50'000, 'x'))) {
    }
  });
  const auto signal = std::make_shared<stop_signal>();
  auto head = run(narrow->send(stoppable(server.url(), signal)));
  while (loop.poll_one() > 0) {
  }
  signal->stop(stop_cause::preempted);
  run_until([&] { return server.open() == 0; });
  CHECK(run((*head)->read()).error().is(errc::cancelled));
}

TEST_CASE_FIXTURE(loop_fixture,
                  "after its end was read, nothing stops it; one that was not read to its end is stopped") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    while (!(co_await c.read_request()).empty()) co_await c.write(answer_with("ok"));
  });
  const auto signal = std::make_shared<stop_signal>();
  auto read = run(client->send(stoppable(server.url(), signal)));
  CHECK(run(read_all(**read)).value() == "ok");
  auto unread = run(client->send(stoppable(server.url(), signal)));
  signal->stop(stop_cause::preempted);
  CHECK(run((*read)->read()).value().empty());
  CHECK(run((*unread)->read()).error().is(errc::cancelled));
  // The transport is none the worse for it.
  CHECK(run(fetch(*client, request("GET", server.url()))).body == "ok");
}

TEST_CASE_FIXTURE(half_server, "the signal, the answer and the transport may go in any order") {
  enum class first { the_signal, the_answer, the_transport };
  for (const first goes : {first::the_signal, first::the_answer, first::the_transport}) {
    closed = false;
    client = make_curl_transport(loop.get_executor(), time);
    auto own = std::make_shared<stop_signal>();
    const std::weak_ptr<stop_signal> watched = own;
    auto head = run(client->send(stoppable(server.url(), own)));
    REQUIRE(head.has_value());
    switch (goes) {
      case first::the_signal:
        own.reset();
        CHECK_FALSE(watched.expired());
        CHECK(run((*head)->read()).value() == "part");
        head->reset();
        break;
      case first::the_answer:
        head->reset();
        own->stop(stop_cause::preempted);
        own.reset();
        break;
      case first::the_transport:
        client.reset();
        own->stop(stop_cause::preempted);
        CHECK(run((*head)->read()).error().is(errc::cancelled));
        head->reset();
        own.reset();
        break;
    }
    CHECK(watched.expired());
    CHECK(time.armed() == 0);
    run_until([&] { return closed; });
  }
}

TEST_CASE("the loop may be destroyed before what is stopped") {
  testing::manual_time_source time;
  auto loop = std::make_unique<asio::io_context>(1);
  auto client = make_curl_transport(loop->get_executor(), time);
  const auto signal = std::make_shared<stop_signal>();
  {
    raw_server server(*loop, [](raw_connection& c) -> asio::awaitable<void> {
      co_await c.read_request();
      co_await c.closed();
    });
    asio::co_spawn(*loop, fetch(*client, stoppable(server.url(), signal)), asio::detached);
    while (server.open() == 0) loop->run_one();
  }
  loop.reset();
  signal->stop(stop_cause::run_closed);
  CHECK(time.armed() == 0);
  client.reset();
}

TEST_CASE_FIXTURE(loop_fixture, "many stopped among many exchanges, each at another step: the others are not hurt") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    while (!(co_await c.read_request()).empty()) co_await c.write(answer_with("ok"));
  });
  for (unsigned round = 0; round < 40; ++round) {
    std::vector<std::shared_ptr<started<whole>>> all;
    std::vector<std::shared_ptr<stop_signal>> signals;
    for (int i = 0; i < 10; ++i) {
      signals.push_back(std::make_shared<stop_signal>());
      all.push_back(start(fetch(*client, stoppable(server.url(), signals.back()))));
    }
    for (unsigned step = 0; step < round * 3; ++step) loop.poll_one();
    for (std::size_t i = 0; i < all.size(); i += 2) signals[i]->stop(stop_cause::preempted);
    for (std::size_t i = 0; i < all.size(); ++i) {
      run_until([&] { return all[i]->ended; });
      REQUIRE_FALSE(all[i]->failure);
      const whole& got = all[i]->value.value();
      if (i % 2 == 1 || got.failure == error()) {
        CHECK(got.body == "ok");
      } else {
        CHECK(got.failure.is(errc::cancelled));
      }
    }
    CHECK(time.armed() == 0);
  }
}

TEST_CASE("stopped from another thread, with four on the loop: each exchange ends once, well or stopped") {
  asio::io_context server_loop(1);
  raw_server server(server_loop, [](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      const std::string seen = co_await c.read_request();
      if (seen.empty()) co_return;
      if (seen.starts_with("GET /silent")) co_return co_await c.closed();
      if (!co_await c.write(answer_with("ok"))) co_return;
    }
  });
  std::thread peer([&] { server_loop.run(); });
  {
    asio::io_context loop;
    auto time = make_steady_time_source(loop.get_executor());
    auto client = make_curl_transport(loop.get_executor(), *time);
    constexpr std::size_t count = 400;
    std::vector<std::shared_ptr<stop_signal>> signals;
    std::atomic<std::size_t> ended = 0;
    std::atomic<std::size_t> good = 0;
    std::atomic<std::size_t> stopped = 0;
    for (std::size_t i = 0; i < count; ++i) {
      signals.push_back(std::make_shared<stop_signal>());
      asio::co_spawn(loop, fetch(*client, stoppable(server.url(i % 2 == 0 ? "/silent" : "/"), signals.back())),
                     [&](std::exception_ptr failure, const whole& got) {
                       ++ended;
                       if (failure) return;
                       if (got.body == "ok") ++good;
                       if (got.failure.is(errc::cancelled)) ++stopped;
                     });
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { loop.run(); });
    for (const auto& each : signals) each->stop(stop_cause::preempted);
    for (auto& each : threads) each.join();
    CHECK(ended == count);
    CHECK(good + stopped == count);
    CHECK(stopped >= count / 2);
    client.reset();
  }
  server_loop.stop();
  peer.join();
}
