#include "agent/loop/loop_fixture.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using llm::dialect;
using testing::scripted_exchange;

namespace {

std::string result_in(const llm::conversation& talk, std::size_t number) {
  for (const llm::message& each : talk.messages()) {
    if (each.who == llm::role::tool && number-- == 0) return each.text;
  }
  return {};
}

scripted_exchange refuses(int status, const std::string& code, const std::string& message) {
  const wire::json body = {{"error", {{"message", message}, {"type", "invalid_request_error"}, {"code", code}}}};
  return scripted_exchange(status).with_header("content-type", "application/json").with_chunk(body.dump());
}

}  // namespace

TEST_CASE("an answer at its limit is cut off, in each dialect") {
  for (const dialect spoken : {dialect::openai_chat, dialect::openai_responses, dialect::anthropic_messages}) {
    CAPTURE(to_string(spoken));
    loop_fixture f(spoken);
    f.add_lookup();
    f.how.request.limit_output(20);
    f.answers(said("It is sev").ends("length"));
    run_scope run = f.open();
    const run_result result = f.finish(run);
    CHECK(result.stop == run_stop::cut_off);
    CHECK(result.outcome == run_outcome::partial);
    CHECK(result.text == "It is sev");
    CHECK(result.turns == 1);
    CHECK(
        result.explanation ==
        "the answer came to its limit of 20 tokens; raise loop_options::request.max_output_tokens, or default_output");
    CHECK(f.talk.messages().back().text == "It is sev");
  }
}

TEST_CASE("a filter and a refusal are cut off, with the words that there are") {
  loop_fixture f;
  f.answers(said("It is").ends("content_filter"));
  run_scope run = f.open();
  const run_result filtered = f.finish(run);
  CHECK(filtered.stop == run_stop::cut_off);
  CHECK(filtered.text == "It is");
  CHECK(filtered.explanation == "the provider's filter cut the answer off");

  f.transport.add(
      scripted_exchange(200)
          .with_header("content-type", "application/json")
          .with_chunk(R"({"model":"m","choices":[{"index":0,"message":{"content":null,"refusal":"I will not."},)"
                      R"("finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}})"));
  const run_result refused = f.finish(run);
  CHECK(refused.stop == run_stop::cut_off);
  CHECK(refused.outcome == run_outcome::partial);
  CHECK(refused.text == "I will not.");
  CHECK(refused.explanation == "the model would not answer: I will not.");
}

TEST_CASE("calls of an answer that was filtered are not carried out, and have results all the same") {
  loop_fixture f;
  f.add_lookup();
  f.answers(said("It is").calls("lookup", R"({"key":"k"})").ends("content_filter"));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::cut_off);
  CHECK(f.looked_up.empty());
  CHECK(fits(f.talk));
  CHECK(mentions(result_in(f.talk, 0), "the answer that made the call is not whole"));
}

TEST_CASE("a model that answers nothing is cut off, and the explanation says so") {
  for (const std::string& text : {std::string(), std::string(" \n")}) {
    loop_fixture f;
    f.add_lookup();
    f.answers(said(text).took(100, 3));
    run_scope run = f.open();
    const run_result result = f.finish(run);
    CHECK(result.stop == run_stop::cut_off);
    CHECK(result.outcome == run_outcome::partial);
    CHECK(
        mentions(result.explanation, "the model's answer is empty: it ended (stop) without a word and without a call"));
    CHECK(mentions(result.explanation, "3 tokens"));
  }
}

TEST_CASE("calls are calls, whatever reason the answer gives for its end") {
  for (const std::string reason : {"stop", "length", "tool_calls"}) {
    CAPTURE(reason);
    loop_fixture f;
    f.add_lookup();
    f.answers(said().calls("lookup", R"({"key":"k"})").ends(reason));
    f.answers(said("Done."));
    run_scope run = f.open();
    const run_result result = f.finish(run);
    CHECK(result.stop == run_stop::answer);
    CHECK(f.looked_up.size() == 1);
    REQUIRE(result.warnings.size() == (reason == "length" ? 1 : 0));
    if (reason == "length") CHECK(mentions(result.warnings[0], "in the middle of its calls"));
  }
}

TEST_CASE("calls that were announced and not made are an answer, with a warning") {
  loop_fixture f;
  f.add_lookup();
  f.answers(said("It is 7.").ends("tool_calls"));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(result.outcome == run_outcome::complete);
  CHECK(result.warnings == std::vector<std::string>{"the model announced tool calls, and made none"});
}

TEST_CASE("a provider that pauses is asked to go on, and a pause is a turn") {
  loop_fixture f(dialect::anthropic_messages);
  f.add_lookup();
  f.how.tell_what_is_left = true;
  f.answers(said("First half,").ends("paused"));
  f.answers(said("second half."));
  run_scope run = f.open(run_settings("root").limit({.tokens = 100'000}));
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(result.turns == 2);
  CHECK(result.text == "second half.");
  // It goes on from its own words: nothing may stand behind them.
  CHECK(f.sent(0)["messages"].back()["role"] == "user");
  CHECK(f.sent(1)["messages"].back()["role"] == "assistant");

  loop_fixture g(dialect::anthropic_messages);
  g.how.max_turns = 3;
  for (int i = 0; i < 3; ++i) g.answers(said("More.").ends("paused"));
  run_scope bounded = g.open();
  const run_result endless = g.finish(bounded);
  CHECK(endless.stop == run_stop::turns);
  CHECK(endless.turns == 3);
}

TEST_CASE("one turn with 792 calls: all are answered, in their order") {
  for (const dialect spoken : {dialect::openai_chat, dialect::openai_responses, dialect::anthropic_messages}) {
    CAPTURE(to_string(spoken));
    loop_fixture f(spoken);
    f.add_lookup();
    said many;
    for (int i = 0; i < 792; ++i) many = std::move(many).calls("lookup", R"({"key":")" + std::to_string(i) + R"("})");
    f.answers(many);
    f.answers(said("Done."));
    run_scope run = f.open();
    const run_result result = f.finish(run);
    CHECK(result.stop == run_stop::answer);
    CHECK(result.tool_calls == 792);
    CHECK(f.looked_up.size() == 792);
    CHECK(fits(f.talk));
    for (std::size_t i = 0; i < 792; ++i) REQUIRE(result_in(f.talk, i) == "value of " + std::to_string(i));
  }
}

TEST_CASE("one of five tools throws: the other four results stay") {
  loop_fixture f;
  f.add_lookup();
  f.tools.add(lookup_tool("broken"), [](const llm::tool_arguments&) -> asio::awaitable<expected<std::string, error>> {
    throw std::runtime_error("out of order");
    co_return "never";
  });
  said five;
  for (int i = 0; i < 5; ++i) {
    five = std::move(five).calls(i == 2 ? "broken" : "lookup", R"({"key":")" + std::to_string(i) + R"("})");
  }
  f.answers(five);
  f.answers(said("Done."));
  run_scope run = f.open();
  CHECK(f.finish(run).stop == run_stop::answer);
  for (const std::size_t i : {0U, 1U, 3U, 4U}) CHECK(result_in(f.talk, i) == "value of " + std::to_string(i));
  CHECK(mentions(result_in(f.talk, 2), "out of order"));
  CHECK(fits(f.talk));
}

TEST_CASE("bad calls are told to the model, which goes on") {
  loop_fixture f;
  f.add_lookup();
  f.transport.add(plain(said()
                            .calls("no_such_tool", "{}", "t1")
                            .calls("lookup", "{\"key\":", "t2")
                            .calls("lookup", R"({"key":3})", "t3")
                            .calls("lookup", "", "t4")
                            .calls("lookup", R"({"key":"a"})", "same")
                            .calls("lookup", R"({"key":"b"})", "same")
                            .calls("a name with spaces", "{}", "t7")));
  f.answers(said("Done."));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(fits(f.talk));
  CHECK(f.looked_up == std::vector<std::string>{"nothing", "a", "b"});
  CHECK(result.tool_calls == 3);
  CHECK(mentions(result_in(f.talk, 0), "no_such_tool"));
  CHECK(mentions(result_in(f.talk, 2), "key"));
  CHECK(result_in(f.talk, 4) == "value of a");
  CHECK(result_in(f.talk, 5) == "value of b");
  const auto sent = f.sent(1)["messages"];
  CHECK(sent[2]["tool_calls"][4]["id"] != sent[2]["tool_calls"][5]["id"]);
}

TEST_CASE("arguments of megabytes are told as too long") {
  loop_fixture f;
  f.add_lookup();
  f.answers(said().calls("lookup", R"({"key":")" + std::string(std::size_t{3} << 20U, 'x') + R"("})"));
  f.answers(said("Done."));
  policy rules({.slots = 4, .tokens = 10'000'000});
  rules.revision = 2;
  REQUIRE(f.gate.reconfigure(rules));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(f.looked_up.empty());
  CHECK(mentions(result_in(f.talk, 0), "long"));
}

TEST_CASE("a conversation too long for the model is cut to half and asked again, twice") {
  loop_fixture f;
  f.add_lookup();
  f.talk = llm::conversation("Be brief.");
  for (int i = 0; i < 16; ++i) {
    llm::reply answer;
    answer.text = std::string(400, 'a');
    f.talk.user("Question " + std::to_string(i)).add(answer);
  }
  f.talk.user("And now?");
  const std::size_t whole = f.talk.messages().size();
  for (int i = 0; i < 2; ++i) f.transport.add(refuses(400, "context_length_exceeded", "too many tokens"));
  f.answers(said("Done."));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::answer);
  CHECK(result.turns == 1);
  CHECK(f.asked() == 3);
  CHECK(f.sent(0)["messages"].size() == whole);
  CHECK(f.sent(1)["messages"].size() < whole / 2 + 2);
  CHECK(f.sent(2)["messages"].size() < whole / 4 + 2);
  CHECK(f.sent(2)["messages"].back()["content"] == "And now?");
  CHECK(result.warnings.size() == 2);
  CHECK(f.talk.messages().size() == whole + 1);

  for (int i = 0; i < 3; ++i) f.transport.add(refuses(400, "context_length_exceeded", "too many tokens"));
  f.talk.user("Still?");
  const run_result given_up = f.finish(run);
  CHECK(given_up.stop == run_stop::failed);
  CHECK(given_up.why->is(errc::context_too_long));
  CHECK(f.asked() == 6);
}

TEST_CASE("one question that is too long for the model fails at once: there is nothing to cut") {
  loop_fixture f;
  f.transport.add(refuses(400, "context_length_exceeded", "too many tokens"));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::failed);
  CHECK(result.why->is(errc::context_too_long));
  CHECK(f.asked() == 1);
}

TEST_CASE("a call that fails ends the loop, with the failure and all that was said before") {
  loop_fixture f;
  f.add_lookup();
  f.answers(said("Let me see.").calls("lookup", R"({"key":"k"})"));
  f.transport.add(refuses(401, "invalid_api_key", "wrong key"));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::failed);
  CHECK(result.outcome == run_outcome::partial);
  REQUIRE(result.why != nullptr);
  CHECK(result.why->is(errc::unauthorized));
  CHECK(result.explanation == result.why->message());
  CHECK(result.text == "Let me see.");
  CHECK(result.turns == 1);
  CHECK(fits(f.talk));
  CHECK(f.talk.messages().back().text == "value of k");
}

TEST_CASE("a stream that breaks leaves what had come, in the result and in the conversation") {
  loop_fixture f;
  f.add_lookup();
  f.how.streamed = true;
  f.transport.add(scripted_exchange(200)
                      .with_header("content-type", "text/event-stream")
                      .with_chunk(event({{"content", "It is "}}))
                      .with_chunk(event({{"content", "sev"}}))
                      .with_failure(errc::connection_lost, "gone"));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::failed);
  CHECK(result.outcome == run_outcome::partial);
  CHECK(result.why->is(errc::connection_lost));
  CHECK(result.text == "It is sev");
  CHECK(result.last->text == "It is sev");
  CHECK(f.talk.messages().back().text == "It is sev");
  CHECK(fits(f.talk));
  CHECK(f.idle());
}

TEST_CASE("what a client throws is a failure of the loop") {
  loop_fixture f;
  struct thrower {
    bulkhead& at;
    asio::awaitable<expected<llm::reply, llm::failure>> chat(llm::request, llm::call_options) {
      throw std::runtime_error("broken client");
      co_return llm::reply();
    }
    asio::awaitable<expected<llm::stream, llm::failure>> stream(llm::request, llm::call_options) {
      co_return llm::stream();
    }
    [[nodiscard]] expected<cost, llm::failure> estimate(const llm::request&, const llm::call_options&) const {
      return cost{.tokens = 10, .output_tokens = 5};
    }
    bulkhead& gate() noexcept { return at; }
  } broken{f.gate};
  run_scope run = f.open();
  started<run_result> loop;
  f.start(loop, run_tools(run, broken, f.talk, f.tools, f.how));
  REQUIRE(loop.value.has_value());
  CHECK(loop.value->stop == run_stop::failed);
  CHECK(loop.value->explanation == "the call threw: broken client");
}

TEST_CASE("a last answer that is cut off or empty is a warning beside the limit") {
  loop_fixture f;
  f.add_lookup();
  f.how.max_turns = 1;
  f.answers(said("As far as").ends("length"));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::turns);
  CHECK(result.finalised);
  REQUIRE(result.warnings.size() == 1);
  CHECK(mentions(result.warnings[0], "the answer came to its limit of 4,096 tokens"));
}

TEST_CASE("calls that the last answer makes all the same are not carried out, and have results") {
  loop_fixture f;
  f.add_lookup();
  f.how.max_turns = 1;
  f.answers(said("Hm.").calls("lookup", R"({"key":"k"})"));
  run_scope run = f.open();
  const run_result result = f.finish(run);
  CHECK(result.stop == run_stop::turns);
  CHECK(result.text == "Hm.");
  CHECK(f.looked_up.empty());
  CHECK(fits(f.talk));
}
