// A live gate recorded: its log is replayed to the byte, has the instants at which things happened, and costs nothing
// when off.
#include "runtime/house.hpp"

#include <sluice/core/event_log.hpp>
#include <sluice/core/replay.hpp>

#include <string>
#include <thread>
#include <variant>
#include <vector>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

std::vector<core::event> events_of(const std::string& log) {
  auto reader = core::event_log_reader::open(log);
  REQUIRE_MESSAGE(reader, reader.error().message());
  std::vector<core::event> all;
  core::logged_event each;
  for (;;) {
    const auto more = reader->next(each);
    REQUIRE_MESSAGE(more, more.error().message());
    if (!*more) return all;
    all.push_back(each.what);
  }
}

void check_replay(const std::string& log) {
  const auto again = core::replay(log);
  REQUIRE_MESSAGE(again, again.error().message());
  if (again->difference) FAIL(again->difference->explain());
}

}  // namespace

TEST_CASE_FIXTURE(house, "waits, refusals, cancellations, reports and ends are replayed") {
  gate.start_recording();
  auto held = gate.try_admit({.tokens = 600, .output_tokens = 100});
  REQUIRE(held);
  CHECK_FALSE(gate.try_admit({.tokens = 600}));
  answer waits;
  answer late;
  answer gone;
  asio::cancellation_signal cancel;
  gate.async_admit({.cost = {.tokens = 500}}, tell(waits));
  gate.async_admit({.cost = {.tokens = 500}, .options = {.deadline = gate.in(2s)}}, tell(late));
  gate.async_admit({.cost = {.tokens = 500}}, asio::bind_cancellation_slot(cancel.slot(), tell(gone)));
  time.advance(1s);
  cancel.emit(asio::cancellation_type::total);
  REQUIRE(held->reconcile({.input_tokens = 400, .output_tokens = 50}));
  time.advance(2s);
  poll();
  CHECK(late.why() == reason::deadline_in_queue);
  CHECK(gone.why() == reason::cancelled);
  held->settle({.input_tokens = 450, .output_tokens = 80});
  held = unexpected<rejection>(late.result->error());
  poll();
  CHECK(waits.granted());
  waits.release();
  policy next = plain({.slots = 2, .tokens = 2'000});
  next.revision = 2;
  REQUIRE(gate.reconfigure(next));
  gate.close();
  const std::string log = gate.take_recording();
  CHECK(events_of(log).size() >= 9);
  check_replay(log);
}

TEST_CASE_FIXTURE(house, "work that never waits has its real instants in the log, which are otherwise not asked for") {
  gate.start_recording();
  time.advance(5s);
  const instant begun = time.now();
  { const auto held = gate.try_admit({.tokens = 100}); }
  auto held = gate.try_admit({.tokens = 100});
  REQUIRE(held);
  time.advance(3s);
  held = gate.try_admit({.tokens = 5'000});
  const auto events = events_of(gate.take_recording());
  REQUIRE(events.size() >= 4);
  CHECK(std::holds_alternative<core::events::enter>(events[0].what));
  CHECK(events[0].at == begun);
  CHECK(std::holds_alternative<core::events::finish>(events.back().what));
  CHECK(events.back().at == begun + 3s);
}

TEST_CASE_FIXTURE(house, "a recording can begin and end at any time, and no earlier one is kept") {
  CHECK(gate.take_recording().empty());
  auto early = gate.try_admit({.tokens = 100});
  gate.start_recording();
  early = unexpected<rejection>(gate.try_admit({.tokens = 9'999}).error());
  gate.start_recording();
  { const auto held = gate.try_admit({.tokens = 100}); }
  const std::string log = gate.take_recording();
  CHECK(events_of(log).size() == 2);
  CHECK_FALSE(core::event_log_reader::open(log)->from_the_start());
  { const auto held = gate.try_admit({.tokens = 100}); }
  CHECK(gate.take_recording().empty());
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "a full recording ends in good order, and the gate goes on") {
  gate.start_recording(2'000);
  for (int i = 0; i < 1'000; ++i) {
    const auto held = gate.try_admit({.tokens = 100});
    REQUIRE(held);
  }
  const std::string log = gate.take_recording();
  CHECK(log.size() < 2'200);
  CHECK(events_of(log).size() > 100);
  check_replay(log);
}

TEST_CASE("what several threads do at once is one order of events, which is replayed") {
  house self(plain({.slots = 3, .tokens = 3'000}));
  self.gate.start_recording();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&self] {
      for (int i = 0; i < 300; ++i) {
        auto held = self.gate.try_admit({.tokens = 1'000 + i});
        if (held) held->settle({.input_tokens = i, .output_tokens = 7});
      }
    });
  }
  for (std::thread& each : threads) each.join();
  const std::string log = self.gate.take_recording();
  CHECK(events_of(log).size() >= 900);
  check_replay(log);
  CHECK(empty(self.gate));
}
