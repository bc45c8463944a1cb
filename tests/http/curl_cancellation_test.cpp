#include "http/deaf_server.hpp"
#include "http/loop_fixture.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

template <typename T>
void cancel(started<T>& what, asio::cancellation_type kind = asio::cancellation_type::terminal) {
  what.cancel.emit(kind);
}

}  // namespace

TEST_CASE_FIXTURE(loop_fixture, "time 5: cancelled before it was driven, nothing is sent") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> { co_await c.closed(); });
  auto running = start(fetch(*client, request("GET", server.url())));
  // The coroutine's first step; libcurl's first step is queued behind it.
  loop.poll_one();
  loop.poll_one();
  cancel(*running);
  run_until([&] { return running->ended; });
  CHECK(running->value.value().failure.is(errc::cancelled));
  CHECK(time.armed() == 0);
}

TEST_CASE_FIXTURE(loop_fixture, "time 5: cancelled while the name is looked up, it ends at once") {
  const int before = open_descriptors();
  auto running = start(fetch(*client, request("GET", "http://no-such-host.invalid/")));
  while (time.armed() == 0) loop.poll_one();
  loop.poll_one();
  REQUIRE_FALSE(running->ended);
  cancel(*running);
  run_until([&] { return running->ended; });
  CHECK(running->value.value().failure.is(errc::cancelled));
  // The look-up's own thread ends when its answer comes.
  while (open_descriptors() > before) std::this_thread::yield();
}

TEST_CASE_FIXTURE(loop_fixture, "time 5: cancelled while connecting, it ends at once and leaves no descriptor") {
  const deaf_server deaf;
  const int before = open_descriptors();
  auto running = start(fetch(*client, request("GET", deaf.url())));
  while (open_descriptors() == before) loop.poll_one();
  REQUIRE_FALSE(running->ended);
  cancel(*running);
  CHECK(open_descriptors() == before);
  run_until([&] { return running->ended; });
  CHECK(running->value.value().failure.is(errc::cancelled));
  CHECK(time.armed() == 0);
}

TEST_CASE_FIXTURE(loop_fixture, "time 5: cancelled while sending, the server sees the connection close") {
  bool connected = false;
  bool closed = false;
  asio::steady_timer bell(loop, asio::steady_timer::time_point::max());
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    connected = true;
    asio::error_code rung;
    co_await bell.async_wait(asio::redirect_error(asio::use_awaitable, rung));
    co_await c.closed();
    closed = true;
  });
  request what("POST", server.url());
  what.set_body(std::string(32'000'000, 'b'));
  auto running = start(fetch(*client, what));
  run_until([&] { return connected; });
  while (loop.poll_one() > 0) {
  }
  REQUIRE_FALSE(running->ended);
  cancel(*running);
  bell.cancel();
  run_until([&] { return running->ended && closed; });
  CHECK(running->value.value().failure.is(errc::cancelled));
}

TEST_CASE_FIXTURE(loop_fixture, "time 5: cancelled before the first byte, the server sees the connection close") {
  bool asked = false;
  bool closed = false;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    asked = !(co_await c.read_request()).empty();
    co_await c.closed();
    closed = true;
  });
  for (const auto kind : {asio::cancellation_type::terminal, asio::cancellation_type::all}) {
    asked = closed = false;
    auto running = start(fetch(*client, request("GET", server.url())));
    run_until([&] { return asked; });
    cancel(*running, kind);
    run_until([&] { return running->ended && closed; });
    CHECK(running->value.value().failure.is(errc::cancelled));
    CHECK(time.armed() == 0);
  }
}

TEST_CASE_FIXTURE(loop_fixture,
                  "time 5: cancelled in mid-body, the reader learns it and the server sees the connection close") {
  bool closed = false;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart");
    co_await c.closed();
    closed = true;
  });
  auto head = run(client->send(request("GET", server.url())));
  REQUIRE(head.has_value());
  CHECK(run((*head)->read()).value() == "part");
  auto reading = start((*head)->read());
  while (loop.poll_one() > 0) {
  }
  REQUIRE_FALSE(reading->ended);
  cancel(*reading);
  run_until([&] { return reading->ended && closed; });
  REQUIRE_FALSE(reading->value.value().has_value());
  CHECK(reading->value->error().is(errc::cancelled));
  CHECK(run((*head)->read()).error().is(errc::cancelled));
}

TEST_CASE_FIXTURE(loop_fixture, "time 5: destroying an answer before its end closes its connection") {
  bool closed = false;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart");
    co_await c.closed();
    closed = true;
  });
  auto head = run(client->send(request("GET", server.url())));
  REQUIRE(head.has_value());
  CHECK(time.armed() == 1);
  head->reset();
  CHECK(time.armed() == 0);
  run_until([&] { return closed; });
}

TEST_CASE_FIXTURE(loop_fixture, "destroying an answer that was read to its end keeps the connection") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    while (!(co_await c.read_request()).empty()) co_await c.write(answer_with("ok"));
  });
  for (int i = 0; i < 3; ++i) {
    auto head = run(client->send(request("GET", server.url())));
    CHECK(run(read_all(**head)).value() == "ok");
  }
  CHECK(server.accepted() == 1);
}

TEST_CASE_FIXTURE(loop_fixture, "time 5: a paused answer can be cancelled") {
  curl_options small;
  small.read_buffer = 1000;
  auto narrow = make_curl_transport(loop.get_executor(), time, small);
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    co_await c.read_request();
    co_await c.write("HTTP/1.1 200 OK\r\n\r\n");
    while (co_await c.write(std::string(50'000, 'x'))) {
    }
  });
  auto head = run(narrow->send(request("GET", server.url())));
  while (loop.poll_one() > 0) {
  }
  head->reset();
  run_until([&] { return server.open() == 0; });
  CHECK(time.armed() == 0);
}

TEST_CASE_FIXTURE(loop_fixture, "many cancellations among many exchanges: the others are not hurt") {
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    while (!(co_await c.read_request()).empty()) co_await c.write(answer_with("ok"));
  });
  for (unsigned round = 0; round < 40; ++round) {
    std::vector<std::shared_ptr<started<whole>>> all;
    for (int i = 0; i < 10; ++i) all.push_back(start(fetch(*client, request("GET", server.url()))));
    // Each round stops at another step of the way.
    for (unsigned step = 0; step < round * 3; ++step) loop.poll_one();
    for (std::size_t i = 0; i < all.size(); i += 2) cancel(*all[i]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      run_until([&] { return all[i]->ended; });
      if (i % 2 == 0 && all[i]->failure) {
        // Cancelled before its first step: the first co_await throws.
        CHECK_THROWS_AS(std::rethrow_exception(all[i]->failure), std::system_error);
        continue;
      }
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
