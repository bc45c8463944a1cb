#include <sluice/sim/timeline.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using sluice::instant;
using sluice::never;
using sluice::sim::timeline;

TEST_CASE("events happen in the order of their instants, then of planning") {
  timeline time;
  std::string log;
  const auto say = [&](const char* what) { return [&log, what] { log += what; }; };
  time.at(instant{} + 3s, say("d"));
  time.at(instant{} + 1s, say("a"));
  time.at(instant{} + 2s, say("b"));
  time.at(instant{} + 2s, say("c"));
  CHECK(time.planned() == 4);
  time.run();
  CHECK(log == "abcd");
  CHECK(time.now() == instant{} + 3s);
  CHECK(time.planned() == 0);
}

TEST_CASE("many events at one instant keep their order") {
  timeline time;
  std::string log;
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    time.at(instant{} + 1s, [&log, i] { log += std::to_string(i) + ' '; });
    expected += std::to_string(i) + ' ';
  }
  time.run();
  CHECK(log == expected);
}

TEST_CASE("an event may plan others; the past counts as now") {
  timeline time;
  std::string log;
  time.at(instant{} + 5s, [&] {
    log += 'a';
    time.at(instant{} + 1s, [&] {
      log += 'b';
      CHECK(time.now() == instant{} + 5s);
    });
    time.in(2s, [&] {
      log += 'c';
      CHECK(time.now() == instant{} + 7s);
    });
  });
  time.run();
  CHECK(log == "abc");
}

TEST_CASE("run_until includes its end, and moves the clock there") {
  timeline time;
  int happened = 0;
  time.at(instant{} + 1s, [&] { ++happened; });
  time.at(instant{} + 2s, [&] { ++happened; });
  time.at(instant{} + 3s, [&] { ++happened; });
  time.run_until(instant{} + 2s);
  CHECK(happened == 2);
  CHECK(time.now() == instant{} + 2s);
  time.run_until(instant{} + 2500ms);
  CHECK(time.now() == instant{} + 2500ms);
  time.run_until(instant{} + 1s);
  CHECK(time.now() == instant{} + 2500ms);
  time.run();
  CHECK(happened == 3);
  CHECK(time.now() == instant{} + 3s);
}

TEST_CASE("what is planned for never happens only in a run without end") {
  timeline time;
  bool happened = false;
  time.in(sluice::duration::max(), [&] { happened = true; });
  time.run_until(never - 1ns);
  CHECK_FALSE(happened);
  time.run();
  CHECK(happened);
}

TEST_CASE("an exception leaves the rest planned") {
  timeline time;
  bool happened = false;
  time.at(instant{} + 1s, [] { throw std::runtime_error("no"); });
  time.at(instant{} + 2s, [&] { happened = true; });
  CHECK_THROWS_AS(time.run(), std::runtime_error);
  CHECK(time.planned() == 1);
  time.run();
  CHECK(happened);
}
