#include <contention/arms.hpp>
#include <contention/load.hpp>

#include <sluice/config/policy_file.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

using namespace contention;

namespace {

auto as_tuple(const job& one) { return std::tuple(one.at, one.input_tokens, one.output_tokens); }

bool same(const load& one, const load& other) {
  return std::equal(one.chats.begin(), one.chats.end(), other.chats.begin(), other.chats.end(),
                    [](const job& a, const job& b) { return as_tuple(a) == as_tuple(b); });
}

// A file that is gone with the test.
class scratch_file {
 public:
  explicit scratch_file(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("contention-load-test-" + std::to_string(++count))) {
    std::ofstream(path_) << text;
  }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  ~scratch_file() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string name() const { return path_.string(); }

 private:
  static inline int count = 0;
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("one seed gives one load, another seed another") {
  options asked;
  const auto first = make_load(asked);
  const auto again = make_load(asked);
  asked.seed = 2;
  const auto other = make_load(asked);
  REQUIRE(first);
  REQUIRE(again);
  REQUIRE(other);
  CHECK(same(*first, *again));
  CHECK_FALSE(same(*first, *other));
  CHECK(as_tuple(first->next_run(3, 7)) == as_tuple(again->next_run(3, 7)));
  CHECK(as_tuple(first->next_run(3, 7)) != as_tuple(other->next_run(3, 7)));
  CHECK(as_tuple(first->next_run(3, 7)) != as_tuple(first->next_run(7, 3)));
}

TEST_CASE("chats come at the rate that was asked for, in order, within the time") {
  options asked;
  asked.seconds = 1000;
  asked.chats_per_second = 4;
  const auto made = make_load(asked);
  REQUIRE(made);
  // Poisson: 4,000 with a deviation of 63; five of them.
  CHECK(made->chats.size() > 3'684);
  CHECK(made->chats.size() < 4'316);
  CHECK(std::is_sorted(made->chats.begin(), made->chats.end(), [](auto& a, auto& b) { return a.at < b.at; }));
  for (const auto& each : made->chats) {
    REQUIRE(each.at >= 0);
    REQUIRE(each.at < 1000);
    REQUIRE(each.input_tokens >= 150);
    REQUIRE(each.input_tokens <= 450);
    REQUIRE(each.output_tokens >= 20);
    REQUIRE(each.output_tokens <= 80);
  }
}

TEST_CASE("agents begin apart from each other, and go on without a pause") {
  options asked;
  asked.agents = 3;
  const auto made = make_load(asked);
  REQUIRE(made);
  CHECK(made->agents == 3);
  CHECK(made->runs.empty());
  CHECK(made->next_run(0, 0).at != made->next_run(1, 0).at);
  for (int agent = 0; agent < 50; ++agent) {
    REQUIRE(made->next_run(agent, 0).at >= 0);
    REQUIRE(made->next_run(agent, 0).at < 2);
    REQUIRE(made->next_run(agent, 1).at == 0);
  }
}

TEST_CASE("traces are played at the speed that was asked for, as far as the time goes") {
  const scratch_file file(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2023-11-16 18:00:00,10,1\n"
      "2023-11-16 18:00:06,0,0\n"
      "2023-11-16 18:00:39.9,30,3\n"
      "2023-11-16 18:00:40,40,4\n");
  options asked;
  asked.seconds = 20;
  asked.speed = 2;
  asked.interactive_trace = file.name();
  asked.batch_trace = file.name();
  const auto made = make_load(asked);
  REQUIRE(made);
  REQUIRE(made->chats.size() == 3);
  CHECK(as_tuple(made->chats[0]) == std::tuple(0.0, 10, 1));
  // Nothing can be asked with nothing.
  CHECK(as_tuple(made->chats[1]) == std::tuple(3.0, 1, 1));
  CHECK(made->chats[2].at == doctest::Approx(19.95));
  CHECK(made->runs.size() == 3);
  CHECK(made->agents == 0);
}

TEST_CASE("a bad trace is named") {
  const scratch_file file("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00,ten,1\n");
  options asked;
  asked.batch_trace = file.name();
  const auto made = make_load(asked);
  REQUIRE_FALSE(made);
  CHECK(made.error() == file.name() + ":2: ContextTokens 'ten' is not a whole number from 0 to 1,000,000");
}

TEST_CASE("every arm's policy holds") {
  CHECK(sluice::validate(sluice_policy()));
  CHECK(sluice::validate(open_policy()));
  CHECK(sluice::validate(plain_policy(1)));
}

TEST_CASE("the policy file beside the example says what its code says") {
  const auto read = sluice::read_policy_file(POLICY_FILE);
  REQUIRE(read);
  const auto ours = sluice_policy();
  CHECK(read->revision == ours.revision);
  CHECK(read->total == ours.total);
  CHECK(read->max_waiting == ours.max_waiting);
  CHECK(read->max_preemptions == ours.max_preemptions);
  REQUIRE(read->classes.size() == ours.classes.size());
  for (std::size_t i = 0; i < ours.classes.size(); ++i) {
    const auto& one = read->classes[i];
    const auto& other = ours.classes[i];
    CAPTURE(other.name);
    CHECK(one.name == other.name);
    CHECK(one.priority == other.priority);
    CHECK(one.floor == other.floor);
    CHECK(one.ceiling == other.ceiling);
    CHECK(one.preemptible == other.preemptible);
    CHECK(one.restore_within == other.restore_within);
    CHECK(one.max_waiting == other.max_waiting);
  }
}

TEST_CASE("the arms that were asked for, in that order") {
  options asked;
  asked.arms = {"sluice", "limit", "alone"};
  asked.limit = 12;
  const auto arms = make_arms(asked);
  REQUIRE(arms);
  REQUIRE(arms->size() == 3);
  CHECK((*arms)[0].name == "sluice");
  CHECK((*arms)[0].rules.total == sluice_policy().total);
  CHECK_FALSE((*arms)[0].plain_limit);
  CHECK((*arms)[1].plain_limit == 12);
  CHECK((*arms)[1].with_batch);
  CHECK_FALSE((*arms)[2].with_batch);
}

TEST_CASE("a bad policy file is named") {
  const scratch_file file(R"({"capacity": {"slots": 4, "tokens": 100}, "colour": 1})");
  options asked;
  asked.arms = {"sluice"};
  asked.policy_file = file.name();
  const auto arms = make_arms(asked);
  REQUIRE_FALSE(arms);
  CHECK(arms.error().message().find(file.name()) == 0);
  CHECK(arms.error().message().find("colour") != std::string::npos);
}
