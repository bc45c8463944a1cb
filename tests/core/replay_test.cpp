#include "core/busy_machine.hpp"

#include <sluice/core/event_log.hpp>
#include <sluice/core/replay.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::busy_machine;

namespace {

std::string busy_log(std::uint64_t seed, int events) {
  std::string log;
  event_log_writer writer(log);
  busy_machine run(seed);
  run.machine.record(&writer);
  for (int i = 0; i < events; ++i) run.step();
  run.close();
  writer.end();
  return log;
}

/// The log of a machine to which the events of another log are put: equal to it when replay is exact.
std::string logged_again(const std::string& log) {
  auto reader = event_log_reader::open(log);
  REQUIRE(reader);
  admission machine(reader->initial());
  std::string again;
  event_log_writer writer(again);
  machine.record(&writer);
  logged_event each;
  for (;;) {
    const auto more = reader->next(each);
    REQUIRE(more);
    if (!*more) break;
    effects out;
    apply(machine, each.what, out);
  }
  writer.end();
  return again;
}

}  // namespace

TEST_CASE("random runs with all there is give the same effects again, byte for byte") {
  constexpr int seeds = 12;
  constexpr int events = 4'000;
  std::vector<std::uint64_t> seen(5);
  std::vector<std::uint64_t> rejected_for(16);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::string log;
    event_log_writer writer(log);
    busy_machine run(seed);
    run.machine.record(&writer);
    for (int i = 0; i < events; ++i) run.step();
    run.close();
    for (int i = 0; i < 30; ++i) run.step();
    writer.end();
    CHECK(writer.bytes() == log.size());

    const auto again = replay(log);
    REQUIRE_MESSAGE(again, again.error().message());
    if (again->difference) FAIL("seed " << seed << ": " << again->difference->explain());
    CHECK(again->events == writer.events());
    CHECK(logged_again(log) == log);
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += run.seen[i];
    for (std::size_t i = 0; i < rejected_for.size(); ++i) rejected_for[i] += run.rejected_for[i];
  }
  // It proves nothing unless every kind of effect, and every reason but `cancelled`, which is no effect, was there.
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK_MESSAGE(seen[i] > 0, "effect " << i);
  for (std::size_t i = 1; i < 15; ++i) {
    if (i == static_cast<std::size_t>(reason::cancelled)) continue;
    CHECK_MESSAGE(rejected_for[i] > 0, to_string(static_cast<reason>(i)));
  }
}

TEST_CASE("the same run has the same log") {
  CHECK(busy_log(5, 500) == busy_log(5, 500));
  CHECK(busy_log(5, 500) != busy_log(6, 500));
}

TEST_CASE("any changed byte is noticed") {
  const std::string log = busy_log(3, 120);
  for (std::size_t i = 0; i < log.size(); ++i) {
    for (const int change : {1, 0x80}) {
      std::string other = log;
      other[i] = static_cast<char>(other[i] ^ change);
      const auto again = replay(other);
      CHECK_MESSAGE((!again || again->difference.has_value()), "byte " << i);
    }
  }
}

TEST_CASE("a log that is cut off anywhere is noticed") {
  const std::string log = busy_log(4, 100);
  for (std::size_t size = 0; size < log.size(); ++size) {
    const auto again = replay(std::string_view(log).substr(0, size));
    REQUIRE_FALSE(again);
    CHECK(again.error().is(errc::invalid_argument));
  }
}

TEST_CASE("the first difference is told with its number and both sides") {
  // A log of what never was: the second request should have been granted.
  std::string log;
  event_log_writer writer(log);
  policy rules({1, 1'000});
  writer.begin(rules, true);
  request asked;
  asked.cost.tokens = 100;
  asked.tag = 7;
  effects out;
  out.list.push_back({effect::kind::granted, 0, {0, 1}, 7, {}});
  writer.append({instant(1ms), events::arrive{asked}}, {true, {0, 1}, {}}, out, {});
  asked.tag = 8;
  out.list.back() = {effect::kind::granted, 0, {1, 1}, 8, {}};
  writer.append({instant(2ms), events::arrive{asked}}, {true, {1, 1}, {}}, out, {});
  writer.end();

  const auto again = replay(log);
  REQUIRE(again);
  REQUIRE(again->difference);
  CHECK(again->events == 2);
  CHECK(again->difference->event == 1);
  CHECK(again->difference->at == instant(2ms));
  CHECK(again->difference->name == "arrive");
  CHECK(again->difference->logged == "done as 1.1, 1 effects; 1: granted 1.1 (tag 8)");
  CHECK(again->difference->replayed == "done as 1.1, 0 effects");
  CHECK(
      again->difference->explain() ==
      "event 1 (arrive at 2000000 ns): logged done as 1.1, 1 effects; 1: granted 1.1 (tag 8) | replayed done as 1.1, 0 "
      "effects");
}

TEST_CASE("one other number in a decision is a difference") {
  std::string honest;
  event_log_writer writer(honest);
  policy rules({1, 1'000});
  admission machine(rules);
  machine.record(&writer);
  request asked;
  asked.cost.tokens = 5'000;
  effects out;
  machine.arrive(asked, instant(1ms), out);
  REQUIRE(out.decisions.size() == 1);
  writer.end();
  REQUIRE(replay(honest));
  CHECK_FALSE(replay(honest)->difference);

  std::string forged;
  event_log_writer forger(forged);
  forger.begin(rules, true);
  ++out.decisions.front().shortfall;
  forger.append({instant(1ms), events::arrive{asked}}, {false, {}, {}}, out, {});
  forger.end();
  const auto again = replay(forged);
  REQUIRE(again);
  REQUIRE(again->difference);
  CHECK(again->difference->logged.find("shortfall 4001") != std::string::npos);
  CHECK(again->difference->replayed.find("shortfall 4000") != std::string::npos);
}

TEST_CASE("a log that begins in the middle is not replayed") {
  busy_machine run(9);
  for (int i = 0; i < 50; ++i) run.step();
  std::string log;
  event_log_writer writer(log);
  run.machine.record(&writer);
  for (int i = 0; i < 500; ++i) run.step();
  writer.end();
  const auto again = replay(log);
  REQUIRE_FALSE(again);
  CHECK(again.error().message() ==
        "event log: it begins in the middle of a machine's life and cannot be replayed; record from the start");
}
