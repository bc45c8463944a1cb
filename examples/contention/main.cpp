// Chats and batch agents share one provider, under one arm after the other; then a table says what each was worth.
#include "experiment.hpp"
#include "provider.hpp"
#include "report.hpp"

#include <sluice/llm/runtime.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace contention;

constexpr int well = 0;
constexpr int went_wrong = 1;
constexpr int wrongly_asked = 2;

int fail(int exit_code, const std::string& why) {
  std::fprintf(stderr, "contention: %s\n", why.c_str());
  return exit_code;
}

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// A look at somebody else's provider before anything is sent to it. Empty when all is well.
std::string problem_with(const options& asked) {
  const provider server(asked);
  sluice::runtime house(sluice::runtime_options(open_policy(), server.address()));
  auto checked = house.run(server.check(house.transport()));
  return checked ? std::string() : std::move(checked).error();
}

// The first reason why work failed, if none at all succeeded.
std::string total_failure(const std::vector<arm_result>& results) {
  std::string why;
  for (const auto& each : results) {
    for (const auto* seen : {&each.chats, &each.agents}) {
      if (seen->succeeded > 0) return {};
      if (why.empty() && !seen->failures.empty()) why = seen->failures.begin()->first;
    }
  }
  return why;
}

int run(const options& asked) {
  const auto arrivals = make_load(asked);
  if (!arrivals) return fail(wrongly_asked, arrivals.error());
  const auto arms = make_arms(asked);
  if (!arms) return fail(wrongly_asked, arms.error().message());
  if (!asked.provider_url.empty()) {
    if (const auto problem = problem_with(asked); !problem.empty()) return fail(went_wrong, problem);
  }

  std::vector<arm_result> results;
  for (const auto& each : *arms) {
    results.push_back(run_arm(each, *arrivals, asked));
    say(arm_line(results.back()));
  }
  say('\n' + result_table(results, asked));
  say(verdict(results));

  for (const auto& each : results) {
    if (!each.drained()) return fail(went_wrong, "arm " + each.name + ": permits are still held after the drain");
  }
  if (const auto why = total_failure(results); !why.empty() && !asked.kill_after) {
    return fail(went_wrong, "nothing succeeded: " + why);
  }
  return well;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto asked = read_options(argc, argv);
    if (asked) return run(*asked);
    if (asked.error().exit_code != well) return fail(asked.error().exit_code, asked.error().text);
    say(asked.error().text);
    return well;
  } catch (const sluice::error_exception& wrong) {
    return fail(went_wrong, wrong.why().message());
  } catch (const std::exception& wrong) {
    return fail(went_wrong, wrong.what());
  }
}
