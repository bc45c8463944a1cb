#include "llm/estimates/reservation.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using sluice::cost;
using sluice::errc;
using sluice::usage;
using sluice::llm::call_options;
using sluice::llm::character_estimator;
using sluice::llm::client_options;
using sluice::llm::content_part;
using sluice::llm::dialect;
using sluice::llm::message;
using sluice::llm::request;
using sluice::llm::role;
using sluice::llm::detail::learned_usage;
using sluice::llm::detail::reservation;
using sluice::llm::detail::reserve;

namespace {

/// A client's reservations, and exchanges that end as told.
class bench {
 public:
  explicit bench(client_options options = client_options("http://host/v1")) : rules(std::move(options)) {}

  reservation made(const request& asked, const call_options& how = {}) {
    auto result = reserve(asked, how, rules, learned);
    REQUIRE(result);
    return *result;
  }
  void ended(const request& asked, const usage& reported, int times, const call_options& how = {}) {
    for (int i = 0; i < times; ++i) made(asked, how).learn(reported);
  }

  client_options rules;
  learned_usage learned;
};

// 1,000 tokens and 4.
request question() {
  request asked("m");
  asked.user(std::string(4'000, 'q'));
  return asked;
}

}  // namespace

TEST_CASE("at first it is the estimate") {
  bench at;
  const reservation plain = at.made(question());
  CHECK(plain.asked == cost{.tokens = 1'004 + 2'048, .output_tokens = 2'048});
  CHECK(plain.input_tokens == 1'004);
  CHECK(plain.output_limit == 0);
  const reservation limited = at.made(question().limit_output(500));
  CHECK(limited.asked == cost{.tokens = 1'504, .output_tokens = 500});
  CHECK(limited.output_limit == 500);
}

TEST_CASE("the provider's counts correct the prompt, for the model they are of") {
  bench at;
  at.ended(question().limit_output(500), {.input_tokens = 1'255, .output_tokens = 10}, 8);
  const reservation corrected = at.made(question().limit_output(500));
  CHECK(corrected.asked == cost{.tokens = 1'255 + 500, .output_tokens = 500});
  CHECK(corrected.input_tokens == 1'255);
  // What is learned from next is the estimate as it was.
  CHECK(corrected.uncorrected_input == 1'004);
  at.ended(question().limit_output(500), {.input_tokens = 1'255, .output_tokens = 10}, 200);
  CHECK(at.made(question().limit_output(500)).input_tokens == 1'255);
  request other("other");
  other.user(std::string(4'000, 'q'));
  CHECK(at.made(other).input_tokens == 1'004);
}

TEST_CASE("pictures neither teach nor are corrected") {
  bench at;
  const auto pictured = [] {
    request asked("m");
    asked.add(message(role::user, std::string(4'000, 'q')).with(content_part::image("image/png", "AAAA")))
        .limit_output(500);
    return asked;
  };
  at.ended(pictured(), {.input_tokens = 5'000, .output_tokens = 10}, 50);
  CHECK(at.made(pictured()).input_tokens == 1'004 + 1'600);
  at.ended(question().limit_output(500), {.input_tokens = 1'506, .output_tokens = 10}, 50);
  CHECK(at.made(pictured()).input_tokens == 1'506 + 1'600);
}

TEST_CASE("without a limit, what such answers took is reserved") {
  bench at;
  at.ended(question(), {.input_tokens = 1'004, .output_tokens = 300}, 19);
  CHECK(at.made(question()).asked.output_tokens == 2'048);
  at.ended(question(), {.input_tokens = 1'004, .output_tokens = 300}, 1);
  CHECK(at.made(question()).asked == cost{.tokens = 1'304, .output_tokens = 300});
  // Also more than the default.
  at.ended(question(), {.input_tokens = 1'004, .output_tokens = 9'000}, 400);
  CHECK(at.made(question()).asked.output_tokens == 9'000);
  // Of another class, of another effort, with a limit: another kind.
  CHECK(at.made(question(), {.workload = sluice::batch}).asked.output_tokens == 2'048);
  CHECK(at.made(question().think("low")).asked.output_tokens == 3'072);
  CHECK(at.made(question().limit_output(500)).asked.output_tokens == 500);
}

TEST_CASE("with a limit it is the limit, unless less is asked for") {
  bench at;
  at.ended(question().limit_output(4'000), {.input_tokens = 1'004, .output_tokens = 300}, 50);
  CHECK(at.made(question().limit_output(4'000)).asked.output_tokens == 4'000);
  at.rules.output_quantile = 0.9;
  CHECK(at.made(question().limit_output(4'000)).asked.output_tokens == 300);
  CHECK(at.made(question().limit_output(200)).asked.output_tokens == 200);
}

TEST_CASE("answers that came to their limit are known to be at least so long") {
  bench at;
  at.rules.output_quantile = 0.5;
  for (int i = 0; i < 100; ++i) {
    at.ended(question().limit_output(100), {.input_tokens = 1'004, .output_tokens = 100}, 1);
    at.ended(question().limit_output(5'000), {.input_tokens = 1'004, .output_tokens = 700}, 1);
  }
  CHECK(at.made(question().limit_output(5'000)).asked.output_tokens == 700);
}

TEST_CASE("several answers: several outputs, of which nothing is learned") {
  bench at;
  request three = question().extra("n", "3");
  CHECK(at.made(three).asked.output_tokens == 3 * 2'048);
  at.ended(three, {.input_tokens = 1'004, .output_tokens = 900}, 50);
  CHECK(at.made(question()).asked.output_tokens == 2'048);
  at.ended(question(), {.input_tokens = 1'004, .output_tokens = 300}, 50);
  CHECK(at.made(three).asked.output_tokens == 900);
}

TEST_CASE("a dialect that must have a limit is not reserved more than that") {
  bench at(client_options(dialect::anthropic_messages, "http://host/v1"));
  at.rules.default_max_tokens = 1'000;
  CHECK(at.made(question()).asked.output_tokens == 1'000);
  at.ended(question(), {.input_tokens = 1'004, .output_tokens = 300}, 50);
  CHECK(at.made(question()).asked.output_tokens == 300);
  CHECK(at.made(question().limit_output(8'000)).asked.output_tokens == 8'000);
}

TEST_CASE("the caller's word is taken as it is") {
  bench at;
  at.ended(question(), {.input_tokens = 2'000, .output_tokens = 300}, 50);
  const reservation said = at.made(question(), {.reservation = cost{.tokens = 700, .output_tokens = 200}});
  CHECK(said.asked == cost{.tokens = 700, .output_tokens = 200});
  CHECK(said.input_tokens == 500);
  CHECK(said.uncorrected_input == 0);
  // Without a split the estimate tells how much of it is the prompt, as far as it goes.
  CHECK(at.made(question(), {.reservation = cost{.tokens = 5'000}}).input_tokens == 1'004);
  CHECK(at.made(question(), {.reservation = cost{.tokens = 700}}).input_tokens == 700);

  at.rules.estimator = [](const request&) { return cost{.tokens = 50, .output_tokens = 20}; };
  const reservation own = at.made(question());
  CHECK(own.asked == cost{.tokens = 50, .output_tokens = 20});
  CHECK(own.pupil == nullptr);
}

TEST_CASE("nothing is learned when it is not wanted") {
  bench at;
  at.rules.learn_from_usage = false;
  at.ended(question(), {.input_tokens = 2'000, .output_tokens = 300}, 50);
  CHECK(at.made(question()).asked == cost{.tokens = 1'004 + 2'048, .output_tokens = 2'048});
  at.rules.learn_from_usage = true;
  CHECK(at.made(question()).asked == cost{.tokens = 1'004 + 2'048, .output_tokens = 2'048});
}

TEST_CASE("estimates that do not hold are refused, saying whose they are") {
  bench at;
  const auto problem = [&at](const call_options& how) {
    const auto result = reserve(question(), how, at.rules, at.learned);
    REQUIRE_FALSE(result);
    CHECK(result.error().is(errc::invalid_argument));
    return result.error().message();
  };
  CHECK(problem({.reservation = cost{.tokens = -1}}) ==
        "the call's reservation gave tokens = -1, output_tokens = 0, slots = 1; none may be negative, slots not 0, "
        "output_tokens "
        "not above tokens");
  CHECK(problem({.reservation = cost{.tokens = 1, .output_tokens = 2}}).starts_with("the call's reservation"));
  CHECK(problem({.reservation = cost{.tokens = 1, .slots = 0}}).starts_with("the call's reservation"));
  character_estimator wrong;
  wrong.part_tokens = [](const content_part&) { return -100'000; };
  at.rules.estimator = wrong;
  request asked("m");
  asked.add(message(role::user, "a").with(content_part::image("image/png", "A")));
  const auto result = reserve(asked, {}, at.rules, at.learned);
  REQUIRE_FALSE(result);
  CHECK(result.error().message().starts_with("the estimator gave tokens = -97947"));
}
