// The system's clock, as libcurl and everybody else in this program sees it, jumps when a test says so.
#include "http/loop_fixture.hpp"

#include <sluice/runtime/time_source.hpp>

#include <doctest/doctest.h>

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {
time_t jumped = 0;
}

extern "C" int clock_gettime(clockid_t which, timespec* now) noexcept {
  const int result = static_cast<int>(::syscall(SYS_clock_gettime, which, now));
  if (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE) now->tv_sec += jumped;
  return result;
}

extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;
using namespace std::chrono_literals;

TEST_CASE("time 3: the system's clock jumps an hour either way in mid-stream, and nothing happens") {
  asio::io_context loop(1);
  const auto clock = make_steady_time_source(loop.get_executor());
  const auto client = make_curl_transport(loop.get_executor(), *clock);
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    for (;;) {
      if ((co_await c.read_request()).empty()) co_return;
      jumped += 3'600;
      co_await c.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("one "));
      jumped -= 7'200;
      co_await c.write(chunk("two"));
      jumped += 3'600;
      if (!co_await c.write(chunk(""))) co_return;
    }
  });
  const std::time_t real = ::time(nullptr);
  jumped = 3'600;
  REQUIRE(::time(nullptr) >= real + 3'600);
  jumped = 0;
  request what("GET", server.url("/", "localhost"));
  what.limits.connect = 100s;
  what.limits.first_byte = 100s;
  what.limits.idle = 100s;
  what.limits.total = 100s;
  what.limits.deadline = clock->now() + 100s;
  std::vector<whole> got;
  asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i < 3; ++i) got.push_back(co_await fetch(*client, what));
        loop.stop();
      },
      asio::detached);
  loop.run();
  REQUIRE(got.size() == 3);
  for (const whole& one : got) {
    CHECK(one.failure == error());
    CHECK(one.body == "one two");
  }
  // A jump between exchanges does not cost the connection.
  CHECK(server.accepted() == 1);
}
