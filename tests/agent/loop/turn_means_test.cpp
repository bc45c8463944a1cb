#include "agent/loop/turn_means.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::agent;
using agent::detail::means_of;
using agent::detail::size_of;
using agent::detail::turn_size;

namespace {

constexpr spending no_limit{unlimited, unlimited, unlimited, unlimited};

spending tokens(std::int64_t amount) {
  spending some = no_limit;
  some.tokens = amount;
  return some;
}

}  // namespace

TEST_CASE("a root may spend what it kept on its last answer, a child may not") {
  run_balance account;
  account.limit = {.tokens = 1'000, .calls = 10, .tool_calls = unlimited, .money = unlimited};
  account.spent = {.tokens = 700, .calls = 10};
  account.payable = {.tokens = 100, .calls = 0, .tool_calls = unlimited, .money = unlimited};
  CHECK(means_of(account, true).working == account.payable);
  CHECK(means_of(account, true).last == spending{300, 0, unlimited, unlimited});
  CHECK(means_of(account, false).last == account.payable);
  account.spent.tokens = 1'200;
  CHECK(means_of(account, true).last.tokens == 0);
}

TEST_CASE("an answer may be as long as the rest pays for") {
  turn_size size;
  size.input = 100;
  size.wanted = 500;
  size.least = 50;
  CHECK(size.output_for(unlimited) == 500);
  CHECK(size.output_for(600) == 500);
  CHECK(size.output_for(599) == 499);
  CHECK(size.output_for(0) == -100);
  CHECK(size.is_paid_by(tokens(150)));
  CHECK_FALSE(size.is_paid_by(tokens(149)));
  size.answers = 3;
  CHECK(size.output_for(400) == 100);
  CHECK(size.is_paid_by(tokens(250)));
  CHECK_FALSE(size.is_paid_by(tokens(249)));
}

TEST_CASE("another request is one that is longer by its growth, behind the shortest answer") {
  turn_size size;
  size.input = 100;
  size.wanted = 500;
  size.least = 50;
  size.growth = 30;
  CHECK(size.leaves_another(tokens(330)));
  CHECK_FALSE(size.leaves_another(tokens(329)));
  CHECK(size.leaves_another(no_limit));
  spending one_call = no_limit;
  one_call.calls = 1;
  CHECK(size.is_paid_by(one_call));
  CHECK_FALSE(size.leaves_another(one_call));
  one_call.calls = 0;
  CHECK_FALSE(size.is_paid_by(one_call));
}

TEST_CASE("what two requests take at least is what they are held against, and does not overflow") {
  turn_size size;
  size.input = 15;
  size.wanted = 4'096;
  size.least = 64;
  size.growth = 64;
  CHECK(size.fewest() == 79);
  CHECK(size.fewest_of_another() == 143);
  CHECK(size.leaves_another(tokens(79 + 143)));
  CHECK_FALSE(size.leaves_another(tokens(79 + 142)));
  size.answers = 3;
  CHECK(size.fewest() == 15 + 192);
  CHECK(size.leaves_another(tokens(207 + 271)));
  CHECK_FALSE(size.leaves_another(tokens(207 + 270)));
  size.least = unlimited / 2;
  size.wanted = unlimited;
  CHECK(size.fewest() == unlimited);
  CHECK(size.fewest_of_another() == unlimited);
  CHECK_FALSE(size.leaves_another(tokens(unlimited - 1)));
  CHECK(size.leaves_another(no_limit));
}

TEST_CASE("the size of a request is what its client estimates") {
  loop_options how("m");
  how.least_output = 64;
  const turn_size size = size_of({.tokens = 700, .output_tokens = 600}, 200, how);
  CHECK(size.input == 100);
  CHECK(size.answers == 3);
  CHECK(size.wanted == 200);
  CHECK(size.least == 64);
  // A limit below the least is worth it, since it is what was asked for.
  CHECK(size_of({.tokens = 110, .output_tokens = 10}, 10, how).least == 10);
  // An estimate below the limit, or none of the output.
  CHECK(size_of({.tokens = 150, .output_tokens = 50}, 200, how).answers == 1);
  CHECK(size_of({.tokens = 150}, 200, how).input == 150);
}
