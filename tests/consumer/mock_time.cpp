// A user's test program: needs sluice::testing alone.
#include <sluice/testing/manual_time_source.hpp>

#include <iostream>

int main() {
  sluice::testing::manual_time_source time;
  const auto start = time.now();
  std::cout << (time.now() == start ? "time stands still" : "time runs") << '\n';
}
