#include "sluice-sim/options.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace sluice_sim;

namespace {

auto read(std::vector<const char*> words) {
  words.insert(words.begin(), "sluice-sim");
  return read_options(static_cast<int>(words.size()), words.data());
}

using seeds = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("without options: everything, seeds 1 to 5, the policy that the library has for the pool") {
  const auto plain = read({});
  REQUIRE(plain);
  CHECK(plain->names.empty());
  CHECK(plain->asked.seeds == seeds{1, 2, 3, 4, 5});
  CHECK(plain->asked.policy.total == sluice::capacity{32, 64'000});
  CHECK(plain->report.empty());
}

TEST_CASE("experiments by name, in whatever case") {
  const auto two = read({"E1", "e2"});
  REQUIRE(two);
  CHECK(two->names == std::vector<std::string>{"E1", "E2"});
  const auto wrong = read({"E99"});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().exit_code != 0);
  CHECK(wrong.error().text.find("E99") != std::string::npos);
}

TEST_CASE("seeds as a list, a range, or both") {
  const auto mixed = read({"--seeds", "7,1-3,20"});
  REQUIRE(mixed);
  CHECK(mixed->asked.seeds == seeds{7, 1, 2, 3, 20});
  for (const char* wrong : {"", "x", "1-", "-1", "3-1", "1,,2", "1-2000", "1.5", "18446744073709551616"}) {
    CAPTURE(wrong);
    const auto refused = read({"--seeds", wrong});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().exit_code == 2);
    CHECK(refused.error().text.find("--seeds") != std::string::npos);
  }
}

TEST_CASE("a picture is of E1, so E1 has to be run") {
  const auto all = read({"--plot", "e1.svg"});
  REQUIRE(all);
  CHECK(all->picture == "e1.svg");
  CHECK(read({"E2", "e1", "--plot", "e1.svg"}));
  const auto without = read({"E2", "--plot", "e1.svg"});
  REQUIRE_FALSE(without);
  CHECK(without.error().exit_code == 2);
  CHECK(without.error().text.find("--plot") != std::string::npos);
}

TEST_CASE("help lists the experiments, and is no failure") {
  const auto help = read({"--help"});
  REQUIRE_FALSE(help);
  CHECK(help.error().exit_code == 0);
  for (const auto& each : experiments()) CHECK(help.error().text.find(each.description) != std::string::npos);
}

TEST_CASE("directories and files must be there") {
  CHECK_FALSE(read({"--traces", "/no/such/directory"}));
  CHECK_FALSE(read({"--policy", "/no/such/file.json"}));
}

TEST_CASE("a policy file is read, and what is wrong with it is said") {
  const auto file = std::filesystem::temp_directory_path() / "sluice-sim-options-test.json";
  std::ofstream(file) << R"({"capacity": {"slots": 3, "tokens": 9000}, "revision": 5})";
  const auto good = read({"--policy", file.c_str()});
  REQUIRE(good);
  CHECK(good->asked.policy.total == sluice::capacity{3, 9'000});
  CHECK(good->asked.policy.revision == 5);
  std::ofstream(file) << R"({"capacity": {"slots": 3, "tokens": 9000}, "colour": "red"})";
  const auto bad = read({"--policy", file.c_str()});
  REQUIRE_FALSE(bad);
  CHECK(bad.error().exit_code == 2);
  CHECK(bad.error().text.find("colour") != std::string::npos);
  std::filesystem::remove(file);
}
