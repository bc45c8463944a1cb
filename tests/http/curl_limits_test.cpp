#include "http/deaf_server.hpp"
#include "http/loop_fixture.hpp"

#include <doctest/doctest.h>
#include <asio/post.hpp>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;
using namespace std::chrono_literals;

namespace {

// The next part goes out when the test asks for it.
class paced_server {
 public:
  explicit paced_server(asio::io_context& loop)
      : bell_(loop, asio::steady_timer::time_point::max()),
        server(loop, [this](raw_connection& c) -> asio::awaitable<void> {
          co_await c.read_request();
          asked = true;
          for (;;) {
            while (wanted_.empty()) {
              asio::error_code rung;
              co_await bell_.async_wait(asio::redirect_error(asio::use_awaitable, rung));
            }
            std::string part = std::exchange(wanted_, {});
            if (!co_await c.write(std::move(part))) co_return;
          }
        }) {}

  void send(std::string bytes) {
    wanted_ = std::move(bytes);
    bell_.cancel();
  }

  bool asked = false;

 private:
  std::string wanted_;
  asio::steady_timer bell_;

 public:
  raw_server server;
};

class limits_fixture : public loop_fixture {
 public:
  paced_server peer{loop};
  request what{"GET", peer.server.url()};

  limits_fixture() {
    what.limits.connect = 5s;
    what.limits.first_byte = 20s;
    what.limits.idle = 3s;
  }

  void check(const error& failure, errc kind, std::string_view text) {
    CHECK(failure.is(kind));
    CHECK(failure.message() == "127.0.0.1:" + std::to_string(peer.server.port()) + ": " + std::string(text));
  }
};

}  // namespace

TEST_CASE_FIXTURE(limits_fixture, "no connection within the connect limit") {
  const deaf_server deaf;
  request lost("GET", deaf.url());
  lost.limits.connect = 5s;
  auto running = start(fetch(*client, lost));
  const int before = open_descriptors();
  while (open_descriptors() == before) loop.poll_one();
  time.advance(5s - 1ns);
  while (loop.poll_one() > 0) {
  }
  CHECK_FALSE(running->ended);
  time.advance(1ns);
  run_until([&] { return running->ended; });
  const error& failure = running->value.value().failure;
  CHECK(failure.is(errc::connect_timeout));
  CHECK(failure.message().ends_with(": no connection within limits.connect (5 s) while connecting"));
}

TEST_CASE_FIXTURE(limits_fixture, "nothing back within the first-byte limit") {
  auto running = start(fetch(*client, what));
  run_until([&] { return peer.asked; });
  time.advance(20s - 1ns);
  while (loop.poll_one() > 0) {
  }
  CHECK_FALSE(running->ended);
  time.advance(1ns);
  run_until([&] { return running->ended; });
  check(running->value.value().failure, errc::first_byte_timeout,
        "no answer within limits.first_byte (20 s) while waiting for the answer");
  run_until([&] { return time.armed() == 0; });
}

TEST_CASE_FIXTURE(limits_fixture, "time 2: silence in mid-answer ends at the idle limit, a trickle does not") {
  auto running = start(fetch(*client, what));
  run_until([&] { return peer.asked; });
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  run_until([&] { return time.next() == time.now() + 3s; });
  for (int i = 0; i < 5; ++i) {
    time.advance(2s);
    peer.send("x");
    while (loop.poll_one() > 0) {
    }
    REQUIRE_FALSE(running->ended);
  }
  time.advance(3s);
  run_until([&] { return running->ended; });
  check(running->value.value().failure, errc::idle_timeout, "silent for limits.idle (3 s) after 5 bytes of the body");
}

TEST_CASE_FIXTURE(limits_fixture, "time 2: a trickle ends at the total limit") {
  what.limits.total = 60s;
  auto running = start(fetch(*client, what));
  run_until([&] { return peer.asked; });
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  run_until([&] { return time.next() == time.now() + 3s; });
  for (int i = 0; i < 59; ++i) {
    time.advance(1s);
    peer.send("x");
    while (loop.poll_one() > 0) {
    }
    REQUIRE_FALSE(running->ended);
  }
  time.advance(1s);
  run_until([&] { return running->ended; });
  check(running->value.value().failure, errc::total_timeout,
        "not finished within limits.total (60 s) after 59 bytes of the body");
}

TEST_CASE_FIXTURE(limits_fixture, "the deadline says during what it passed") {
  what.limits.deadline = time.now() + 10s;
  auto running = start(fetch(*client, what));
  run_until([&] { return peer.asked; });
  time.advance(10s);
  run_until([&] { return running->ended; });
  check(running->value.value().failure, errc::deadline_exceeded,
        "the deadline passed after 10 s while waiting for the answer");
}

TEST_CASE_FIXTURE(limits_fixture, "without limits an exchange arms nothing") {
  what.limits.connect = what.limits.first_byte = what.limits.idle = 0s;
  auto running = start(fetch(*client, what));
  run_until([&] { return peer.asked; });
  CHECK(time.armed() == 0);
  time.advance(24h);
  peer.send(answer_with("late"));
  run_until([&] { return running->ended; });
  CHECK(running->value.value().body == "late");
}

TEST_CASE_FIXTURE(limits_fixture, "limits are not armed anew for each part") {
  auto running = start(fetch(*client, what));
  run_until([&] { return peer.asked; });
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  run_until([&] { return time.next() == time.now() + 3s; });
  const instant first = time.next();
  time.advance(1s);
  peer.send("x");
  while (loop.poll_one() > 0) {
  }
  CHECK(time.next() == first);
  time.advance(2s);
  while (loop.poll_one() > 0) {
  }
  CHECK(time.next() == first + 1s);
  CHECK(time.armed() == 1);
}

TEST_CASE_FIXTURE(limits_fixture, "a reader that is behind is not the peer's silence") {
  curl_options small;
  small.read_buffer = 1000;
  auto narrow = make_curl_transport(loop.get_executor(), time, small);
  auto sending = start(narrow->send(what));
  run_until([&] { return peer.asked; });
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + std::string(200'000, 'x'));
  run_until([&] { return sending->ended; });
  auto& head = sending->value.value();
  REQUIRE(head.has_value());
  while (loop.poll_one() > 0) {
  }
  time.advance(1h);
  while (loop.poll_one() > 0) {
  }
  CHECK(run(read_all(**head)).value() == std::string(200'000, 'x'));
}

TEST_CASE_FIXTURE(limits_fixture, "an answer that has come whole has no limits any more") {
  what.limits.total = 5s;
  auto sending = start(client->send(what));
  run_until([&] { return peer.asked; });
  peer.send(answer_with("all"));
  run_until([&] { return sending->ended; });
  time.advance(1h);
  CHECK(run(read_all(**sending->value.value())).value() == "all");
}
