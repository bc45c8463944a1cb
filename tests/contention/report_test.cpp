#include <contention/report.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace contention;

namespace {

arm_result arm_with(const std::string& name, double latency, std::int64_t runs = 0) {
  arm_result made;
  made.name = name;
  made.with_batch = runs > 0;
  made.seconds = 20;
  made.chats.started = 10;
  for (int i = 0; i < 10; ++i) {
    made.chats.piece_succeeded(latency);
    made.chats.first_tokens.push_back(latency / 2);
  }
  made.agents.started = runs;
  for (std::int64_t i = 0; i < runs; ++i) made.agents.piece_succeeded(latency * 3);
  return made;
}

}  // namespace

TEST_CASE("the table has a row for each arm and class") {
  auto limited = arm_with("limit", 4, 1'200);
  limited.chats.started = 11;
  limited.chats.piece_failed({sluice::errc::rate_limited, "slow down"});
  limited.chats.too_many = 4;
  limited.chats.refused = 1;
  limited.chats.broken_tokens = 30;
  limited.accounts.classes[0].preempted_total = 2;
  limited.accounts.classes[0].wasted_tokens_total = 1'000;
  options asked;
  asked.limit = 9;
  CHECK(result_table({arm_with("alone", 0.5), limited}, asked) == R"(
                                                       latency           first token                                    tokens
policy            work                  done  success      p50      p95          p50     p95  429s  refused  preempted  wasted
------------------------------------------------------------------------------------------------------------------------------
chats alone       chats             10 of 10  100.0 %   0.50 s   0.50 s       0.25 s  0.25 s     0        0          0       0
------------------------------------------------------------------------------------------------------------------------------
plain limit of 9  chats             10 of 11   90.9 %   4.00 s   4.00 s       2.00 s  2.00 s     4        1          2   1,030
                  agent runs  1,200 of 1,200  100.0 %  12.00 s  12.00 s            -       -     0        0          0       0

plain limit of 9, chats: 1 failed: the provider asked to slow down
)" + 1);
}

TEST_CASE("what the provider did for nobody is the chats' unless the batch was preempted") {
  auto result = arm_with("sluice", 1, 1);
  result.truth.emplace();
  result.truth->served = 11;
  result.truth->refused = 3;
  result.truth->most_open = 7;
  result.truth->input_tokens = 900;
  result.truth->output_tokens = 100;
  result.truth->wasted_input_tokens = 60;
  result.truth->wasted_output_tokens = 17;
  const auto last_of_row = [](const std::string& text, const std::string& row) {
    const auto at = text.find("  " + row);
    REQUIRE(at != text.npos);
    const auto line = text.substr(at, text.find('\n', at) - at);
    return line.substr(line.rfind(' ') + 1);
  };

  auto text = result_table({result}, options());
  CHECK(last_of_row(text, "chats ") == "77");
  CHECK(last_of_row(text, "agent runs ") == "0");
  CHECK(text.find(R"(
what the provider saw  answers  429s  most at once  tokens  of them for nobody
------------------------------------------------------------------------------
sluice                      11     3             7   1,000                  77
)") != text.npos);

  result.chats.broken_tokens = 7;
  result.accounts.classes[1].preempted_total = 1;
  text = result_table({result}, options());
  CHECK(last_of_row(text, "chats ") == "7");
  CHECK(last_of_row(text, "agent runs ") == "70");
}

TEST_CASE("an arm is drained when nothing is held by anybody") {
  auto result = arm_with("limit", 1, 1);
  CHECK(result.drained());
  CHECK(arm_line(result) == "limit: 20.00 s; accounts after drain: 0 in flight, 0 waiting, 0 tokens held");

  auto in_flight = result;
  in_flight.accounts.all.in_flight = 1;
  in_flight.accounts.all.held = {1, 1'500};
  CHECK_FALSE(in_flight.drained());
  CHECK(arm_line(in_flight) == "limit: 20.00 s; accounts after drain: 1 in flight, 0 waiting, 1,500 tokens held");

  auto waiting = result;
  waiting.limit_accounts.all.waiting = 2;
  CHECK_FALSE(waiting.drained());
  auto tokens = result;
  tokens.accounts.all.held.tokens = 1;
  CHECK_FALSE(tokens.drained());
}

TEST_CASE("the sentence says what the figures say") {
  CHECK(verdict({arm_with("alone", 0.5), arm_with("nothing", 5, 200), arm_with("limit", 4, 120),
                 arm_with("sluice", 0.6, 80)}) ==
        "sluice keeps chats close to what they take alone: 95 % of those answered are done within 0.60 s (1.2 times), "
        "alone within 0.50 s, behind a plain limit within 4.00 s (8.0 times), with nothing in between within 5.00 s "
        "(10.0 times); meanwhile 80 of 80 agent runs are finished, 4.0 a second instead of 6.0 behind the limit.");
}

TEST_CASE("chats that fail are told with their time") {
  auto nothing = arm_with("nothing", 5, 1);
  nothing.chats.started = 20;
  for (int i = 0; i < 10; ++i) nothing.chats.piece_failed({sluice::errc::rate_limited, "slow down"});
  const auto text = verdict({nothing, arm_with("sluice", 0.6, 1)});
  CHECK(text.find("within 5.00 s (50.0 % of the chats fail)") != std::string::npos);
}

TEST_CASE("better, but not close to alone, is not called close") {
  const auto text = verdict({arm_with("alone", 0.5), arm_with("limit", 4, 1), arm_with("sluice", 1.5, 1)});
  CHECK(text.find("sluice serves chats better than the others do: ") == 0);
}

TEST_CASE("no effect is called no effect") {
  CHECK(verdict({arm_with("alone", 0.5), arm_with("limit", 0.6, 1), arm_with("sluice", 0.6, 1)})
            .find("In this run sluice is not clearly better for chats: ") == 0);
  // Fast for those it answers, but it answers fewer.
  auto ours = arm_with("sluice", 0.5, 1);
  ours.chats.started = 11;
  ours.chats.piece_failed({sluice::errc::refused, "no room"});
  CHECK(verdict({arm_with("limit", 4, 1), ours}).find("In this run sluice is not clearly better") == 0);
}

TEST_CASE("as fast while answering more is better") {
  auto limit = arm_with("limit", 4, 1);
  limit.chats.started = 11;
  limit.chats.piece_failed({sluice::errc::deadline_exceeded, "late"});
  CHECK(verdict({limit, arm_with("sluice", 4.2, 1)}).find("sluice serves chats better than the others do: ") == 0);
  CHECK(verdict({limit, arm_with("sluice", 4.8, 1)}).find("In this run sluice is not clearly better") == 0);
}

TEST_CASE("an arm in which chats fail is not praised for the others") {
  auto ours = arm_with("sluice", 0.5, 1);
  ours.chats.started = 20;
  for (int i = 0; i < 10; ++i) ours.chats.piece_failed({sluice::errc::connect_failed, "gone"});
  CHECK(verdict({arm_with("limit", 4, 1), ours}).find("In this run many chats failed with sluice, too: ") == 0);
}

TEST_CASE("nothing to compare is said, too") {
  CHECK(verdict({arm_with("alone", 0.5)}) == "The arm sluice was not run, so there is nothing to compare.");
  arm_result ours;
  ours.name = "sluice";
  CHECK(verdict({ours}) == "With sluice not one chat was answered, so there is nothing to compare.");
}
