#include "agent/loop/loop_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using llm::dialect;

TEST_CASE("when the working time is over the model answers in the time that was kept") {
  loop_fixture f;
  f.tools.add(lookup_tool(), [&](const llm::tool_arguments&) -> asio::awaitable<expected<std::string, error>> {
    f.time.advance(9s);
    co_return "late";
  });
  never_ends(f);
  run_settings how("root");
  how.until(f.gate.in(10s)).keep_for_last_answer({}, 2s);
  run_scope run = f.open(std::move(how));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::deadline);
  CHECK(result.outcome == run_outcome::partial);
  CHECK(result.finalised);
  CHECK(result.text == "As far as I know, 7.");
  CHECK(result.turns == 2);
  CHECK(mentions(result.explanation,
                 "the time of run root was over 1.0 s ago, but for the 2 s kept for its last answer"));
  CHECK(mentions(f.sent(1).dump(), "the time is over. Answer now"));
}

TEST_CASE("an answer that does not come within the working time is given up for the last one") {
  for (const bool in_queue : {true, false}) {
    CAPTURE(in_queue);
    loop_fixture f(dialect::openai_chat, policy({.slots = 1, .tokens = 100'000}));
    f.add_lookup();
    run_settings how("root");
    how.until(f.gate.in(10s)).keep_for_last_answer({}, 2s);
    run_scope run = f.open(std::move(how));
    auto busy = f.gate.try_admit({.tokens = 10});
    REQUIRE(busy.has_value());
    if (!in_queue) {
      busy->release();
      f.transport.add(testing::scripted_exchange::failure(errc::deadline_exceeded, "no first byte in time"));
    }
    f.answers(said("In time."));
    const auto waiting = f.begin(run);
    if (in_queue) {
      f.advance(7'999ms);
      CHECK_FALSE(waiting->ended);
      f.advance(1ms);
      CHECK_FALSE(waiting->ended);
      busy->release();
      f.run();
    }
    REQUIRE(waiting->value.has_value());
    const run_result& result = *waiting->value;
    CHECK(result.stop == run_stop::deadline);
    CHECK(result.outcome == run_outcome::partial);
    CHECK(result.finalised);
    CHECK(result.text == "In time.");
    CHECK(result.turns == 1);
    REQUIRE(result.why != nullptr);
    CHECK(result.why->is(errc::deadline_exceeded));
    CHECK(f.idle());
  }
}

TEST_CASE("a last answer that does not come either leaves what there was, and says both") {
  loop_fixture f;
  f.add_lookup();
  f.how.max_turns = 2;
  f.answers(said("Let me see.").calls("lookup", R"({"key":"k"})"));
  f.transport.add(testing::scripted_exchange::failure(errc::connect_failed, "nobody there"));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::turns);
  CHECK(result.outcome == run_outcome::partial);
  CHECK_FALSE(result.finalised);
  CHECK(result.text == "Let me see.");
  CHECK(result.why->is(errc::connect_failed));
  CHECK(mentions(result.explanation, "raise loop_options::max_turns"));
  CHECK(mentions(result.explanation, "the last answer failed: "));
  CHECK(mentions(result.explanation, "nobody there"));
  CHECK(fits(f.talk));
}

TEST_CASE("a deadline that is past ends the loop at once, and nothing is sent") {
  loop_fixture f;
  f.add_lookup();
  run_scope run = f.open(run_settings("root").until(f.gate.in(10s)));
  f.advance(11s);
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::deadline);
  CHECK(result.outcome == run_outcome::partial);
  CHECK(result.turns == 0);
  CHECK(f.asked() == 0);
  CHECK(mentions(result.explanation, "the time of run root was over 1.0 s ago; give it a later deadline"));
}
