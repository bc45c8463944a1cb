#include "contention/started_program.hpp"

#include <sluice/testing/mock_provider.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>

using namespace contention::test;
using sluice::testing::mock_provider;
using sluice::testing::mock_provider_options;

namespace {

const std::string zero_accounts = "accounts after drain: 0 in flight, 0 waiting, 0 tokens held\n";
const std::string trace_header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

bool mentions(const std::string& text, const std::string& what) { return text.find(what) != text.npos; }

// One line on standard error, nothing on standard output, and an exit code that says so.
void check_refused(const ended_program& ended, int exit_code, const std::string& what) {
  CAPTURE(ended.err);
  CHECK(ended.exit_code == exit_code);
  CHECK(ended.out.empty());
  CHECK(ended.err.rfind("contention: ", 0) == 0);
  CHECK(count(ended.err, "\n") == 1);
  CHECK(mentions(ended.err, what));
}

}  // namespace

TEST_CASE("every arm runs, ends with all permits back, and has its rows in the table") {
  const auto ended = start("--seconds 1 --agents 4 --quiet");
  CAPTURE(ended.out);
  CHECK(ended.exit_code == 0);
  CHECK(ended.err.empty());
  CHECK(count(ended.out, zero_accounts) == 4);
  for (const auto* name : {"alone: ", "nothing: ", "limit: ", "sluice: "}) CHECK(count(ended.out, name) >= 1);
  for (const auto* row : {"\nchats alone ", "\nnothing ", "\nplain limit of 32 ", "\nsluice "}) {
    CAPTURE(row);
    // In the table of results, and in that of what the provider saw.
    CHECK(count(ended.out, row) == 2);
  }
  CHECK(count(ended.out, "agent runs  ") == 3);
  CHECK(mentions(ended.out, "what the provider saw"));
  CHECK(ended.out.substr(ended.out.size() - 2) == ".\n");
}

TEST_CASE("agents of the mock make their loop of model, tool, model, in each dialect") {
  using sluice::testing::mock_dialect;
  auto spoken = mock_dialect::openai_chat;
  std::string dialect = "openai-chat";
  SUBCASE("chat completions") {}
  SUBCASE("Responses") {
    spoken = mock_dialect::openai_responses;
    dialect = "openai-responses";
  }
  SUBCASE("Messages") {
    spoken = mock_dialect::anthropic_messages;
    dialect = "anthropic-messages";
  }
  mock_provider server(mock_provider_options{});
  server.on_request([](const sluice::testing::mock_request& asked) {
    using sluice::testing::mock_reply;
    if (asked.tools == 0) return mock_reply::text("Good day.");
    if (asked.last_role == "tool") return mock_reply::text("Found.");
    return mock_reply::tool_call("look_up", R"({"query":"gates"})");
  });
  const scratch_directory scratch;
  const auto runs = scratch.write("runs.csv", trace_header + "2024-01-01 00:00:00,20,5\n2024-01-01 00:00:00,20,5\n");
  const auto chats = scratch.write("chats.csv", trace_header + "2024-01-01 00:00:00,20,5\n");
  const auto ended = start("--seconds 0.1 --arms sluice --quiet --provider " + server.url() + " --model tiny" +
                           " --dialect " + dialect + " --batch-trace " + runs + " --interactive-trace " + chats);
  CAPTURE(ended.out);
  CAPTURE(ended.err);
  CHECK(ended.exit_code == 0);
  CHECK(mentions(ended.out, "1 of 1"));
  CHECK(mentions(ended.out, "2 of 2"));
  // Only the mock of our own knows the truth.
  CHECK_FALSE(mentions(ended.out, "what the provider saw"));
  const auto seen = server.requests();
  CHECK(seen.size() == 5);
  CHECK(std::count_if(seen.begin(), seen.end(), [](auto& each) { return each.tools == 1; }) == 4);
  CHECK(std::count_if(seen.begin(), seen.end(), [](auto& each) { return each.last_role == "tool"; }) == 2);
  CHECK(std::count_if(seen.begin(), seen.end(), [](auto& each) { return each.stream; }) == 1);
  for (const auto& each : seen) {
    CHECK(each.model == "tiny");
    CHECK(each.dialect == spoken);
  }
}

TEST_CASE("the provider of our own speaks every dialect") {
  for (const std::string dialect : {"openai-responses", "anthropic-messages"}) {
    CAPTURE(dialect);
    const auto ended = start("--seconds 1 --agents 4 --arms sluice --quiet --dialect " + dialect);
    CAPTURE(ended.out);
    CHECK(ended.exit_code == 0);
    CHECK(ended.err.empty());
    CHECK(count(ended.out, zero_accounts) == 1);
    CHECK(mentions(ended.out, "what the provider saw"));
  }
}

TEST_CASE("the key goes to the provider, and nowhere else") {
  mock_provider_options options;
  options.api_key = "open-sesame";
  mock_provider server(options);
  std::string dialect;
  SUBCASE("OpenAI's") {}
  SUBCASE("Anthropic's") { dialect = " --dialect anthropic-messages"; }
  const auto arguments =
      "--seconds 0.5 --agents 1 --arms sluice --quiet --model tiny --provider " + server.url() + dialect;

  check_refused(start(arguments), 1, "does not accept the key (HTTP 401); set SLUICE_API_KEY");
  const auto wrong = start(arguments, "SLUICE_API_KEY=wrong-word");
  check_refused(wrong, 1, "does not accept the key");
  CHECK_FALSE(mentions(wrong.err, "wrong-word"));

  const auto ended = start(arguments, "SLUICE_API_KEY=open-sesame");
  CAPTURE(ended.err);
  CHECK(ended.exit_code == 0);
  CHECK_FALSE(mentions(ended.out, "open-sesame"));
  CHECK(server.stats().served > 0);
}

TEST_CASE("the provider dies in the middle, and everything comes back") {
  const auto ended = start("--seconds 1.5 --kill-after 0.5 --agents 12 --quiet");
  CAPTURE(ended.out);
  CAPTURE(ended.err);
  CHECK(ended.exit_code == 0);
  CHECK(ended.err.empty());
  CHECK(count(ended.out, zero_accounts) == 4);
  CHECK(count(ended.out, " failed: ") >= 4);
}

TEST_CASE("a provider that is dead from the start is an error at the end, or at once when it is somebody else's") {
  std::string url;
  {
    const mock_provider gone;
    url = gone.url();
  }
  check_refused(start("--provider " + url + " --model m --quiet"), 1, "the provider at " + url + " cannot be reached");
  check_refused(start("--provider nonsense --model m --quiet"), 1, "base_url");
}

TEST_CASE("when nothing at all succeeds, the exit code says so") {
  mock_provider server;
  server.fail_when([](const sluice::testing::mock_request&) { return true; },
                   sluice::testing::mock_fault::status(400, "no such model"));
  const auto ended = start("--seconds 0.5 --agents 1 --arms sluice --quiet --model gone --provider " + server.url());
  CHECK(ended.exit_code == 1);
  CHECK(mentions(ended.out, zero_accounts));
  CHECK(mentions(ended.out, "With sluice not one chat was answered"));
  CHECK(mentions(ended.err, "contention: nothing succeeded: "));
  CHECK(count(ended.err, "\n") == 1);
}

TEST_CASE("a policy of one's own is used") {
  const scratch_directory scratch;
  // Nobody may ever have so many tokens: everything is refused, and counted so.
  const auto closed = scratch.write("p.json", R"({"capacity": {"slots": 4, "tokens": 5}})");
  const auto ended = start("--seconds 0.5 --agents 1 --arms sluice --quiet --policy " + closed);
  CHECK(ended.exit_code == 1);
  CHECK(mentions(ended.out, zero_accounts));
  CHECK(mentions(ended.err, "nothing succeeded: "));
}

TEST_CASE("a policy that is closed would never end, and is refused") {
  const scratch_directory scratch;
  const auto closed = scratch.write("p.json", R"({"capacity": {"slots": 0, "tokens": 0}})");
  check_refused(start("--seconds 0.5 --arms sluice --quiet --policy " + closed), 2, "capacity: zero slots or tokens");
}

TEST_CASE("a bad option, file or combination is one line") {
  check_refused(start("--colour red"), 2, "--colour");
  check_refused(start("--seconds 0"), 2, "--seconds");
  check_refused(start("--arms sluice,none"), 2, "there is no arm 'none'");
  check_refused(start("--provider http://127.0.0.1:1/v1"), 2, "--model");
  check_refused(start("--policy /no/such/policy.json"), 2, "/no/such/policy.json");
  check_refused(start("--interactive-trace /no/such/trace.csv"), 2, "/no/such/trace.csv: No such file or directory");

  const scratch_directory scratch;
  const auto unknown = scratch.write("p.json", R"({"capacity": {"slots": 4, "tokens": 9000}, "speed": 1})");
  check_refused(start("--policy " + unknown), 2, "speed");
  const auto broken = scratch.write("q.json", "{");
  check_refused(start("--policy " + broken), 2, broken);
  const auto trace = scratch.write("t.csv", trace_header + "2024-01-01 00:00:00,20,5\n2024-01-01 00:00:01,20\n");
  check_refused(start("--batch-trace " + trace), 2, trace + ":3: expected three fields");
}

TEST_CASE("help ends well") {
  const auto ended = start("--help");
  CHECK(ended.exit_code == 0);
  CHECK(ended.err.empty());
  CHECK(mentions(ended.out, "--interactive-trace"));
}

TEST_CASE("without a terminal the live line is a line every few seconds") {
  const auto ended = start("--seconds 6 --agents 2 --arms sluice");
  CHECK(ended.exit_code == 0);
  CHECK(count(ended.err, "\n") >= 1);
  CHECK(mentions(ended.err, "sluice 5 s | chats: "));
  CHECK_FALSE(mentions(ended.err, "\r"));
}
