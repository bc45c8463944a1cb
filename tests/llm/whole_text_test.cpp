#include <sluice/llm/whole_text.hpp>

#include <doctest/doctest.h>

#include <string>

using sluice::errc;
using sluice::llm::failure;
using sluice::llm::finish_reason;
using sluice::llm::reply;
using sluice::llm::whole_text;

namespace {

reply answer(std::string text, finish_reason why = finish_reason::stop) {
  reply made;
  made.text = std::move(text);
  made.finish = why;
  made.request_id = "r1";
  return made;
}

/// The failure, with the answer in it.
failure told(const reply& what) {
  auto text = whole_text(what);
  REQUIRE_FALSE(text);
  REQUIRE(text.error().partial);
  CHECK(text.error().partial->text == what.text);
  CHECK(text.error().request_id == "r1");
  return text.error();
}

}  // namespace

TEST_CASE("words are given as they are") {
  CHECK(whole_text(answer("Because of scattering.")) == "Because of scattering.");
  CHECK(whole_text(answer("odd end", finish_reason::other)) == "odd end");
  reply announced = answer("no calls after all", finish_reason::tool_calls);
  announced.announced_calls_missing = true;
  CHECK(whole_text(announced) == "no calls after all");
}

TEST_CASE("a refusal is told") {
  reply refused = answer("", finish_reason::stop);
  refused.refusal = "I cannot help\nwith that.";
  CHECK(told(refused).is(errc::content_filtered));
  CHECK(told(refused).message() == "the model would not answer: I cannot help with that.");
  CHECK(told(refused).partial->refusal == "I cannot help\nwith that.");
  CHECK(told(answer("Sorry.", finish_reason::refusal)).message() == "the model would not answer: Sorry.");
  CHECK(told(answer("", finish_reason::refusal)).message() == "the model would not answer");
  CHECK(told(answer("Half a", finish_reason::content_filter)).is(errc::content_filtered));
}

TEST_CASE("tool calls are told, and kept") {
  reply calls = answer("Let me see.", finish_reason::tool_calls);
  calls.tool_calls.emplace_back("c1", "weather", "{}");
  calls.tool_calls.emplace_back("c2", "time", "{}");
  const failure why = told(calls);
  CHECK(why.is(errc::provider_refused));
  CHECK(why.message() == "the model called tools in place of an answer (weather, time); use chat");
  CHECK(why.partial->tool_calls.size() == 2);
}

TEST_CASE("half an answer is none") {
  CHECK(told(answer("The sky is", finish_reason::length)).is(errc::too_large));
  CHECK(told(answer("The sky is", finish_reason::paused)).is(errc::provider_refused));
  CHECK(told(answer("")).message() == "the answer is empty");
  CHECK(told(answer("")).what_helps() == sluice::llm::remedy::change_request);
}

TEST_CASE("a failure passes through") {
  const sluice::expected<reply, failure> lost = sluice::unexpected<failure>(failure(errc::rate_limited, "slow down"));
  const auto text = whole_text(lost);
  REQUIRE_FALSE(text);
  CHECK(text.error().message() == "slow down");
  CHECK_FALSE(text.error().partial);
}
