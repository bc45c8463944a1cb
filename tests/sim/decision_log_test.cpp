#include <sluice/sim/decision_log.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <limits>

using namespace std::chrono_literals;
using sluice::instant;
using sluice::reason;
using sluice::sim::decision_log;

TEST_CASE("a line has the instant, the decision, the number and the reason") {
  decision_log log;
  log.note(instant{} + 12'500ms, "start", 17);
  log.note(instant{} + 13s, "refuse", 18, reason::deadline_in_queue);
  CHECK(log.text() ==
        "12500000000 start 17\n13000000000 refuse 18 " + std::string(to_string(reason::deadline_in_queue)) + "\n");
  CHECK(log.lines() == 2);
}

TEST_CASE("the digest does not need the text, and differs with every part of a line") {
  decision_log kept;
  decision_log counted(false);
  for (auto* log : {&kept, &counted}) {
    log->note(instant{} + 1s, "start", 1);
    log->note(instant{} + 2s, "stop", 1);
  }
  CHECK(counted.text().empty());
  CHECK(counted.lines() == 2);
  CHECK(counted.digest() == kept.digest());

  const auto one = [](instant when, const char* what, std::uint64_t number, reason why) {
    decision_log log(false);
    log.note(when, what, number, why);
    return log.digest();
  };
  const auto usual = one(instant{} + 1s, "start", 1, reason::none);
  CHECK(one(instant{} + 1s + 1ns, "start", 1, reason::none) != usual);
  CHECK(one(instant{} + 1s, "stop", 1, reason::none) != usual);
  CHECK(one(instant{} + 1s, "start", 2, reason::none) != usual);
  CHECK(one(instant{} + 1s, "start", 1, reason::shed) != usual);
}

TEST_CASE("the greatest numbers fit into a line") {
  decision_log log;
  log.note(instant::max(), "start", std::numeric_limits<std::uint64_t>::max(), reason::deadline_in_queue);
  CHECK(log.text().find("9223372036854775807 start 18446744073709551615 ") == 0);
}
