#include <contention/arms.hpp>
#include <contention/options.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace contention;

namespace {

auto read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "contention");
  return read_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string error_of(std::vector<const char*> arguments) {
  const auto got = read(std::move(arguments));
  REQUIRE_FALSE(got);
  CHECK(got.error().exit_code == 2);
  CHECK(got.error().text.find('\n') == std::string::npos);
  return got.error().text;
}

bool mentions(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("without options everything has its default") {
  const auto got = read({});
  REQUIRE(got);
  CHECK(got->seconds == 20);
  CHECK(got->seed == 1);
  CHECK(got->speed == 1);
  CHECK(got->provider_url.empty());
  CHECK(got->arms == arm_names());
  CHECK(got->dialect == sluice::llm::dialect::openai_chat);
  CHECK_FALSE(got->kill_after);
  CHECK_FALSE(got->quiet);
}

TEST_CASE("options are taken") {
  const auto got = read({"--seconds", "1.5",           "--seed", "7",        "--arms", "sluice,alone",
                         "--quiet",   "--kill-after",  "0.5",    "--limit",  "8",      "--interactive-trace",
                         "a.csv",     "--batch-trace", "b.csv",  "--speed",  "0.25",   "--policy",
                         "p.json",    "--chats",       "2",      "--agents", "0"});
  REQUIRE(got);
  CHECK(got->seconds == 1.5);
  CHECK(got->seed == 7);
  CHECK(got->arms == std::vector<std::string>{"sluice", "alone"});
  CHECK(got->quiet);
  CHECK(got->kill_after == 0.5);
  CHECK(got->limit == 8);
  CHECK(got->interactive_trace == "a.csv");
  CHECK(got->batch_trace == "b.csv");
  CHECK(got->speed == 0.25);
  CHECK(got->policy_file == "p.json");
  CHECK(got->chats_per_second == 2);
  CHECK(got->agents == 0);
}

TEST_CASE("a provider of one's own") {
  const auto got = read({"--provider", "http://localhost:8000/v1", "--model", "qwen"});
  REQUIRE(got);
  CHECK(got->provider_url == "http://localhost:8000/v1");
  CHECK(got->model == "qwen");
}

TEST_CASE("each dialect by its name") {
  using sluice::llm::dialect;
  CHECK(read({"--dialect", "openai-chat"})->dialect == dialect::openai_chat);
  CHECK(read({"--dialect", "openai-responses"})->dialect == dialect::openai_responses);
  CHECK(read({"--dialect", "anthropic-messages"})->dialect == dialect::anthropic_messages);
  const auto wrong = error_of({"--dialect", "latin"});
  CHECK(mentions(wrong, "--dialect"));
  CHECK(mentions(wrong, "anthropic-messages"));
}

TEST_CASE("help is not an error") {
  const auto got = read({"--help"});
  REQUIRE_FALSE(got);
  CHECK(got.error().exit_code == 0);
  for (const auto* name :
       {"--seconds", "--seed", "--policy", "--provider", "--model", "--dialect", "--interactive-trace", "--batch-trace",
        "--speed", "--arms", "--kill-after", "--quiet", "SLUICE_API_KEY"}) {
    CAPTURE(name);
    CHECK(mentions(got.error().text, name));
  }
}

TEST_CASE("every error is one line and names its option") {
  CHECK(mentions(error_of({"--colour"}), "--colour"));
  CHECK(mentions(error_of({"stray"}), "stray"));
  CHECK(mentions(error_of({"--seconds"}), "--seconds"));
  for (const auto* bad : {"0", "-1", "ten", "nan", "inf", "1e9"}) {
    CAPTURE(bad);
    CHECK(mentions(error_of({"--seconds", bad}), "--seconds"));
  }
  CHECK(mentions(error_of({"--seed", "-1"}), "--seed"));
  CHECK(mentions(error_of({"--seed", "x"}), "--seed"));
  CHECK(mentions(error_of({"--limit", "0"}), "--limit"));
  CHECK(mentions(error_of({"--agents", "-1"}), "--agents"));
  CHECK(mentions(error_of({"--chats", "0"}), "--chats"));
  CHECK(mentions(error_of({"--speed", "0", "--batch-trace", "b.csv"}), "--speed"));
  CHECK(mentions(error_of({"--kill-after", "-1"}), "--kill-after"));
  CHECK(mentions(error_of({"--kill-after", "2", "--seconds", "2"}), "must be less than --seconds"));
  CHECK(error_of({"--arms", "sluice,none"}) ==
        "--arms: there is no arm 'none'; there are alone, nothing, limit, sluice");
}

TEST_CASE("options that make no sense together are refused") {
  CHECK(error_of({"--provider", "http://x/v1"}) == "--provider needs --model NAME");
  CHECK(mentions(error_of({"--model", "m"}), "--provider"));
  CHECK(mentions(error_of({"--speed", "2"}), "--interactive-trace"));
  CHECK(mentions(error_of({"--provider", "http://x/v1", "--model", "m", "--kill-after", "1"}), "--kill-after"));
}
