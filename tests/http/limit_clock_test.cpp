#include "http/limit_clock.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace std::chrono_literals;
using http::limit_clock;

namespace {

constexpr instant start{1h};

http::limits all_limits() {
  http::limits l;
  l.connect = 5s;
  l.first_byte = 20s;
  l.idle = 3s;
  l.total = 60s;
  l.deadline = start + 50s;
  return l;
}

}  // namespace

TEST_CASE("while connecting, the connect limit runs") {
  const limit_clock clock(all_limits(), start);
  CHECK(clock.next() == start + 5s);
  CHECK(clock.passed(start + 5s - 1ns) == errc::ok);
  CHECK(clock.passed(start + 5s) == errc::connect_timeout);
}

TEST_CASE("once connected, the first byte has its own limit from there") {
  limit_clock clock(all_limits(), start);
  clock.connected(start + 4s);
  CHECK(clock.next() == start + 24s);
  CHECK(clock.passed(start + 24s) == errc::first_byte_timeout);
}

TEST_CASE("each byte starts the idle limit anew; a trickle ends at the total limit") {
  http::limits l = all_limits();
  l.deadline = never;
  limit_clock clock(l, start);
  clock.connected(start);
  for (instant now = start; now < start + 60s; now += 1s) {
    clock.received(now);
    CHECK(clock.passed(now) == errc::ok);
  }
  CHECK(clock.next() == start + 60s);
  CHECK(clock.passed(start + 60s) == errc::total_timeout);
}

TEST_CASE("the limit that passed first is the one that is named") {
  limit_clock clock(all_limits(), start);
  clock.received(start + 10s);
  CHECK(clock.passed(start + 1h) == errc::idle_timeout);
  clock.received(start + 49s);
  CHECK(clock.passed(start + 1h) == errc::deadline_exceeded);
}

TEST_CASE("a reader that is behind stops the idle limit, and only that") {
  limit_clock clock(all_limits(), start);
  clock.received(start + 1s);
  clock.paused();
  CHECK(clock.next() == start + 50s);
  CHECK(clock.passed(start + 49s) == errc::ok);
  clock.received(start + 49s);
  CHECK(clock.next() == start + 50s);
}

TEST_CASE("a new connection for the same exchange has its own connect limit") {
  limit_clock clock(all_limits(), start);
  clock.connected(start);
  clock.connecting(start + 2s);
  CHECK(clock.next() == start + 7s);
}

TEST_CASE("time 4: zero, negative and endless limits do not run") {
  http::limits l;
  l.connect = 0s;
  l.first_byte = -1s;
  l.idle = duration::max();
  limit_clock clock(l, start);
  CHECK(clock.next() == never);
  CHECK(clock.passed(never) == errc::ok);
  clock.connected(start);
  CHECK(clock.next() == never);
  clock.received(start);
  CHECK(clock.next() == never);
}

TEST_CASE("lengths are those of the settings; the deadline's counts from the start") {
  const limit_clock clock(all_limits(), start);
  CHECK(clock.length_of(errc::connect_timeout) == 5s);
  CHECK(clock.length_of(errc::first_byte_timeout) == 20s);
  CHECK(clock.length_of(errc::idle_timeout) == 3s);
  CHECK(clock.length_of(errc::total_timeout) == 60s);
  CHECK(clock.length_of(errc::deadline_exceeded) == 50s);
}
