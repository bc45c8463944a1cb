#include <sluice/llm/estimator.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

using sluice::cost;
using sluice::llm::character_estimator;
using sluice::llm::content_part;
using sluice::llm::estimate_tokens;
using sluice::llm::message;
using sluice::llm::request;
using sluice::llm::request_size;
using sluice::llm::role;
using sluice::llm::text_ratios;

namespace {

constexpr std::int64_t most = std::int64_t{1} << 62;

std::int64_t output_of(const request& asked) { return character_estimator().measure(asked).output; }

}  // namespace

TEST_CASE("bytes without a text: a quarter, rounded up") {
  CHECK(estimate_tokens(0) == 0);
  CHECK(estimate_tokens(1) == 1);
  CHECK(estimate_tokens(4) == 1);
  CHECK(estimate_tokens(5) == 2);
  CHECK(estimate_tokens(-1) == 0);
  CHECK(estimate_tokens(std::numeric_limits<std::int64_t>::max()) == (std::int64_t{1} << 61));
}

TEST_CASE("all that is sent counts, and the limit is the output") {
  character_estimator estimate;
  estimate.ratios = text_ratios{.prose = 4, .code = 4, .json = 2, .numbers = 4};
  request asked("m");
  CHECK(estimate(asked) == cost{.tokens = 2'048, .output_tokens = 2'048});
  asked.system("abcdefgh").user("a").limit_output(100);
  CHECK(estimate(asked) == cost{.tokens = 3 + 2 * 4 + 100, .output_tokens = 100});
  // Name 2 and description 4 as words, the schema's 10 as JSON: 1.5 and 5.
  asked.with_tool(sluice::llm::tool("fn", "does", "{\"a\": 1  }"));
  CHECK(estimate(asked).tokens == 8 + 1 + 2 * 4 + 100);  // 2.25 + 1.5 + 5 = 8.75
  // A call of name 2 and arguments 8, and its result of 6: 0.5 + 4 + 1.5.
  sluice::llm::reply answer;
  answer.tool_calls.emplace_back("id", "fn", "{\"a\": 1}");
  asked.assistant(answer).tool_result("id", "result");
  CHECK(estimate(asked).tokens == 15 + 4 * 4 + 100);
  // A name of 4 and a schema of 20, and what only the provider reads.
  asked.json_output("name", std::string(20, 'x'));
  CHECK(estimate(asked).tokens == 26 + 4 * 4 + 100);
  asked.messages.back().opaque.emplace_back(sluice::llm::dialect::anthropic_messages, std::string(40, 'x'));
  CHECK(estimate(asked).tokens == 46 + 4 * 4 + 100);
}

TEST_CASE("the model's family decides") {
  const auto input = [](const char* model) {
    request asked(model);
    std::string text;
    for (int i = 0; i < 210; ++i) text += "\xE6\xB0\xB4";
    asked.user(text).limit_output(0);
    return character_estimator()(asked).tokens - 4;
  };
  CHECK(input("m") == 210);
  CHECK(input("gpt-4o") == 175);
  CHECK(input("gpt-4") == 263);
  CHECK(input("claude-sonnet-4") == 300);
}

TEST_CASE("pictures and files have a price, whatever their bytes") {
  character_estimator estimate;
  estimate.image_tokens = 765;
  estimate.file_tokens = 5'000;
  request asked("m");
  message said(role::user, "abcd");
  said.with(content_part::words("efgh"))
      .with(content_part::image("image/png", std::string(400'000, 'A')))
      .with(content_part::image_url("https://host/" + std::string(4'000, 'p')))
      .with(content_part::file("a.pdf", "application/pdf", std::string(900'000, 'A')));
  asked.add(said).limit_output(10);
  CHECK(estimate.measure(asked) ==
        request_size{.text = 2 + 4, .attachments = 2 * 765 + 5'000, .output = 10, .answers = 1});
  CHECK(estimate(asked) == cost{.tokens = 6 + 6'530 + 10, .output_tokens = 10});
  CHECK(estimate.tokens_of(said, "m") == 6 + 6'530);
  estimate.part_tokens = [](const content_part& part) { return part.what == content_part::kind::image ? 100 : 20; };
  CHECK(estimate.measure(asked).attachments == 220);
  CHECK(character_estimator().measure(asked).attachments == 2 * 1'600 + 6'000);
}

TEST_CASE("a dialect's own JSON is text, unless it holds a picture or a file") {
  const auto measured = [](const std::string& json, const character_estimator& estimate = {}) {
    request asked("m");
    asked.add(message(role::user, "").with(content_part::native(sluice::llm::dialect::anthropic_messages, json)));
    return estimate.measure(asked);
  };
  CHECK(measured(R"({"type":"text","text":"abcdefghij"})").text == 12 + 4);
  CHECK(measured(R"({"type":"text","text":"abcdefghij"})").attachments == 0);
  const std::string bytes(100'000, 'A');
  const request_size picture = measured(R"({"type":"image","source":{"data":")" + bytes + "\"}}");
  CHECK(picture.text == 4);
  CHECK(picture.attachments == 1'600);
  CHECK(measured(R"({"type":"document","source":{"data":")" + bytes + "\"}}").attachments == 6'000);
  character_estimator own;
  own.part_tokens = [](const content_part&) { return 7; };
  CHECK(measured("{}", own).attachments == 7);
}

TEST_CASE("thinking counts when there is no limit to hold it") {
  request asked("m");
  CHECK(output_of(asked) == 2'048);
  CHECK(output_of(request("m").think("none")) == 2'048);
  CHECK(output_of(request("m").think("minimal")) == 2'048 + 128);
  CHECK(output_of(request("m").think("low")) == 2'048 + 1'024);
  CHECK(output_of(request("m").think("medium")) == 2'048 + 2'048);
  CHECK(output_of(request("m").think("high")) == 2'048 + 4'096);
  CHECK(output_of(request("m").think("xhigh")) == 2'048 + 8'192);
  CHECK(output_of(request("m").think("as hard as you can")) == 2'048 + 2'048);
  CHECK(output_of(request("m").think("high").limit_output(500)) == 500);
}

TEST_CASE("several answers take several outputs") {
  request asked("m");
  asked.user("abcd").limit_output(100).extra("n", "3");
  CHECK(character_estimator()(asked) == cost{.tokens = 5 + 300, .output_tokens = 300});
  CHECK(character_estimator().measure(asked).answers == 3);
  for (const char* value : {"1", "0", "-2", "null", "2.5", "\"2\"", ""}) {
    CAPTURE(value);
    CHECK(character_estimator()(request("m").limit_output(100).extra("n", value)).output_tokens == 100);
  }
  CHECK(character_estimator()(request("m").limit_output(100).extra("best_of", "3")).output_tokens == 100);
}

TEST_CASE("settings count, and nothing wraps") {
  character_estimator estimate;
  estimate.tokens_per_message = 0;
  estimate.default_output_tokens = 10;
  request asked("m");
  asked.user("abcd");
  CHECK(estimate(asked) == cost{.tokens = 11, .output_tokens = 10});
  asked.limit_output(std::numeric_limits<std::int64_t>::max());
  CHECK(estimate(asked).tokens == most);
  asked.extra("n", "9223372036854775807");
  CHECK(estimate(asked) == cost{.tokens = most, .output_tokens = most});
  estimate.tokens_per_message = std::numeric_limits<std::int64_t>::max();
  CHECK(estimate(asked.user("b")).tokens == most);
}
