#include "llm/estimates/meter.hpp"

#include <sluice/runtime/bulkhead.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <doctest/doctest.h>
#include <asio/io_context.hpp>

#include <cstdint>
#include <string>
#include <utility>

using sluice::bulkhead;
using sluice::cost;
using sluice::policy;
using sluice::llm::reply;
using sluice::llm::token_usage;
using sluice::llm::usage_report;
using sluice::llm::detail::learned_usage;
using sluice::llm::detail::meter;
using sluice::llm::detail::reservation;

namespace {

/// A gate of 10,000 tokens, and exchanges of 1,000 tokens of prompt and 500 reserved for the answer.
class bench {
 public:
  meter begin() {
    reservation reserved;
    reserved.asked = {.tokens = 1'500, .output_tokens = 500};
    reserved.input_tokens = 1'000;
    reserved.pupil = &learned;
    reserved.model = 7;
    reserved.uncorrected_input = 1'000;
    reserved.output_kind = 9;
    auto held = gate.try_admit(reserved.asked);
    REQUIRE(held);
    return meter(*std::move(held), reserved, 32);
  }
  [[nodiscard]] std::int64_t held() const { return gate.statistics().all.held.tokens; }
  [[nodiscard]] std::int64_t consumed() const { return gate.statistics().all.consumed_tokens_total; }

  sluice::testing::manual_time_source time;
  asio::io_context loop;
  bulkhead gate{loop.get_executor(), policy({.slots = 4, .tokens = 10'000}), time};
  learned_usage learned;
};

usage_report report(std::int64_t input, std::int64_t output) {
  usage_report made;
  made.input_tokens = input;
  made.output_tokens = output;
  return made;
}

reply words(std::size_t tokens) {
  reply answer;
  answer.text = std::string(4 * tokens, 'a');
  return answer;
}

std::int64_t size(const reply& answer) { return static_cast<std::int64_t>(answer.text.size()); }

}  // namespace

TEST_CASE("the prompt's part comes back at the first token, the answer's as it comes") {
  bench at;
  meter account = at.begin();
  CHECK(at.held() == 1'500);
  account.saw(reply(), 0);
  CHECK(at.held() == 1'500);
  account.saw(words(1), 4);
  CHECK(at.held() == 499 + 128);
  // Not for each token.
  account.saw(words(32), 128);
  CHECK(at.held() == 499 + 128);
  account.saw(words(33), 132);
  CHECK(at.held() == 467 + 128);
}

TEST_CASE("an answer that says nothing has a prompt all the same") {
  bench at;
  meter account = at.begin();
  reply empty;
  empty.finish = sluice::llm::finish_reason::stop;
  account.saw(empty, 0);
  CHECK(at.held() == 500 + 128);
  CHECK(account.taken().input_tokens == 1'000);
  CHECK(account.taken().output_tokens == 0);
}

TEST_CASE("thoughts beyond what can be seen let the hold grow") {
  bench at;
  meter account = at.begin();
  account.saw(words(10), 40);
  usage_report thoughts = report(1'000, 3'000);
  thoughts.reasoning_tokens = 2'950;
  account.reported(thoughts);
  CHECK(at.held() == 2'500 + 128);
  CHECK(account.taken() == token_usage{.input_tokens = 1'000, .output_tokens = 3'000, .reasoning_tokens = 2'950});
  account.complete();
  account.end();
  CHECK(at.held() == 0);
  CHECK(at.consumed() == 4'000);
}

TEST_CASE("a report at the start is no last word: what came after it is charged when the answer breaks off") {
  bench at;
  {
    meter account = at.begin();
    account.reported(report(900, 1));
    CHECK(account.taken() == token_usage{.input_tokens = 900, .output_tokens = 1});
    account.saw(words(200), 800);
    CHECK(account.taken() == token_usage{.input_tokens = 900, .output_tokens = 200, .estimated = true});
  }
  CHECK(at.consumed() == 1'100);
  CHECK(at.held() == 0);
}

TEST_CASE("at the end the report is the last word, also when it is less than the estimate") {
  bench at;
  meter account = at.begin();
  const reply answer = words(200);
  account.reported(report(900, 1));
  account.saw(answer, size(answer));
  account.reported(report(900, 150));
  account.complete();
  CHECK(account.taken() == token_usage{.input_tokens = 900, .output_tokens = 150});
  account.end();
  CHECK(at.consumed() == 1'050);
}

TEST_CASE("half a report: the other half is an estimate, and said to be") {
  bench at;
  meter account = at.begin();
  usage_report half;
  half.output_tokens = 150;
  const reply answer = words(200);
  account.saw(answer, size(answer));
  account.reported(half);
  account.complete();
  CHECK(account.taken() == token_usage{.input_tokens = 1'000, .output_tokens = 150, .estimated = true});
  meter other = at.begin();
  usage_report prompt;
  prompt.input_tokens = 900;
  other.saw(answer, size(answer));
  other.reported(prompt);
  other.complete();
  CHECK(other.taken() == token_usage{.input_tokens = 900, .output_tokens = 200, .estimated = true});
}

TEST_CASE("parts of a report are never more than the whole") {
  bench at;
  meter account = at.begin();
  usage_report odd = report(100, 10);
  odd.cached_tokens = 1'000;
  odd.reasoning_tokens = 1'000;
  account.reported(odd);
  account.complete();
  CHECK(account.taken() ==
        token_usage{.input_tokens = 100, .output_tokens = 10, .cached_tokens = 100, .reasoning_tokens = 10});
}

TEST_CASE("what went into the cache is told, as far as it fits beside what came out of it") {
  bench at;
  const auto written = [&at](std::int64_t into_cache) {
    meter account = at.begin();
    usage_report made = report(1'000, 10);
    made.cached_tokens = 300;
    made.cache_written_tokens = into_cache;
    account.reported(made);
    account.complete();
    return account.taken().cache_written_tokens;
  };
  CHECK(written(0) == 0);
  CHECK(written(600) == 600);
  CHECK(written(5'000) == 700);
}

TEST_CASE("nothing came: nothing is charged") {
  bench at;
  { const meter account = at.begin(); }
  CHECK(at.consumed() == 0);
  CHECK(at.held() == 0);
}

TEST_CASE("whole answers that were counted teach, others do not") {
  bench at;
  const reply answer = words(300);
  for (int i = 0; i < 20; ++i) {
    meter broken = at.begin();
    broken.reported(report(1'500, 100));
  }
  for (int i = 0; i < 20; ++i) {
    meter uncounted = at.begin();
    uncounted.saw(answer, size(answer));
    uncounted.complete();
  }
  for (int i = 0; i < 20; ++i) {
    meter half = at.begin();
    usage_report output;
    output.output_tokens = 100;
    half.saw(answer, size(answer));
    half.reported(output);
    half.complete();
  }
  CHECK(at.learned.correction(7) == 1);
  CHECK_FALSE(at.learned.output_quantile(9, 0.95));
  for (int i = 0; i < 20; ++i) {
    meter whole = at.begin();
    whole.saw(answer, size(answer));
    whole.reported(report(1'200, 250));
    whole.complete();
  }
  CHECK(at.learned.correction(7) == doctest::Approx(1.2));
  CHECK(at.learned.output_quantile(9, 0.95) == 250);
}

TEST_CASE("a meter that was moved from ends nothing") {
  bench at;
  meter first = at.begin();
  first.saw(words(100), 400);
  {
    meter second = std::move(first);
    second.reported(report(900, 100));
    second.complete();
  }
  CHECK(at.consumed() == 1'000);
  first.end();
  CHECK(at.consumed() == 1'000);
}
