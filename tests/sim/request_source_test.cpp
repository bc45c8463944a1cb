#include <sluice/sim/request_source.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::sim;
using sluice::instant;

namespace {

std::vector<trace_request> two() {
  std::vector<trace_request> trace(2);
  trace[0].arrival = instant{} + 1s;
  trace[0].max_tokens = 10;
  trace[1].arrival = instant{} + 4s;
  trace[1].max_tokens = 20;
  return trace;
}

}  // namespace

TEST_CASE("a trace is given once, in order, and what is no more is not touched") {
  const auto trace = two();
  trace_source source(trace);
  trace_request next;
  REQUIRE(source.next(next));
  CHECK(next.max_tokens == 10);
  REQUIRE(source.next(next));
  CHECK(next.max_tokens == 20);
  CHECK(next.arrival == instant{} + 4s);
  CHECK_FALSE(source.next(next));
  CHECK(next.max_tokens == 20);
  CHECK_FALSE(source.next(next));
}

TEST_CASE("a trace is gone through again, a period later each time, until there are enough") {
  const auto trace = two();
  trace_source source(trace, 5, 5s);
  std::vector<instant> arrivals;
  for (trace_request next; source.next(next);) arrivals.push_back(next.arrival);
  const instant zero{};
  CHECK(arrivals == std::vector{zero + 1s, zero + 4s, zero + 6s, zero + 9s, zero + 11s});
}

TEST_CASE("fewer than there are may be taken, and nothing comes of nothing") {
  const auto trace = two();
  trace_source one(trace, 1, 0s);
  trace_request next;
  CHECK(one.next(next));
  CHECK_FALSE(one.next(next));
  const std::vector<trace_request> nothing;
  trace_source none(nothing, 10, 1s);
  CHECK_FALSE(none.next(next));
}
