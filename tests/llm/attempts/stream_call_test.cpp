// Streams that fail on their way: asked for again, gone on with, or told.
#include "llm/attempts/patient_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::errc;
using sluice::llm::client_options;
using sluice::llm::failure;
using sluice::llm::retry_policy;
using sluice::testing::scripted_exchange;

TEST_CASE("a stream is asked for again until its first event was handed out") {
  const std::string stop = chunk("", "\"stop\"");
  const auto seen = [&](std::vector<scripted_exchange> script, retry_policy rules = {}) {
    patient f(with(rules));
    for (auto& each : script) f.add(std::move(each));
    const auto reader = [](call_fixture& all) -> asio::awaitable<sluice::expected<std::string, failure>> {
      using result = sluice::expected<std::string, failure>;
      auto opened = co_await all.caller.stream(question());
      if (!opened) co_return result("?" + opened.error().message());
      std::string text;
      for (;;) {
        auto event = co_await opened->next();
        if (!event) co_return result(text + "!" + std::to_string(event.error().attempts));
        if (!*event) break;
        if ((*event)->type == sluice::llm::stream_event::kind::text) text += (*event)->text;
      }
      co_return result(text + "." + (opened->result().text == text ? "" : " but " + opened->result().text));
    };
    const auto read = f.start(reader(f));
    f.pass(20s);
    REQUIRE(read->value.has_value());
    CHECK(f.idle());
    return **read->value;
  };
  const auto whole = [&] { return streamed().with_chunk(text_chunk("whole") + stop + "data: [DONE]\n\n"); };
  const auto half = [&] { return streamed().with_chunk(text_chunk("half")); };
  CHECK(seen({broken(errc::connect_failed), whole()}) == "whole.");
  CHECK(seen({status(503), status(500), whole()}) == "whole.");
  CHECK(seen({streamed().with_failure(errc::connection_lost), whole()}) == "whole.");
  CHECK(seen({streamed(), whole()}) == "whole.");
  // What came with the failure in one piece was not handed out yet.
  CHECK(seen({streamed().with_chunk(text_chunk("half") + "data: {\"error\":{\"code\":500}}\n\n"), whole()}) ==
        "whole.");
  CHECK(seen({streamed().with_chunk("data: {\"error\":{\"type\":\"overloaded_error\"}}\n\n"), whole()}) == "whole.");
  CHECK(seen({streamed().with_chunk("data: {\"error\":{\"type\":\"invalid_request_error\"}}\n\n"), whole()}) == "!1");
  CHECK(seen({half().with_failure(errc::connection_lost), whole()}) == "half!1");
  CHECK(seen({half(), whole()}) == "half!1");
  CHECK(seen({streamed(), streamed(), streamed(), whole()}) == "!3");

  const retry_policy on{.continue_partial = true};
  const auto rest = [&](const char* text) {
    return streamed().with_chunk(text_chunk(text) + stop + "data: [DONE]\n\n");
  };
  CHECK(seen({half().with_failure(errc::connection_lost), rest(" and half")}, on) == "half and half.");
  CHECK(seen({half(), streamed().with_chunk(text_chunk(" more")), rest(" and end")}, on) == "half more and end.");
  CHECK(seen({half(), status(500), rest(" and end")}, on) == "half and end.");
  CHECK(seen({half(), half(), half(), rest("x")}, on) == "halfhalfhalf!3");
  CHECK(seen({half().with_chunk("data: {\"error\":{\"type\":\"invalid_request_error\"}}\n\n"), whole()}, on) ==
        "half!1");
  const std::string call = chunk(R"("tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{"}}])");
  CHECK(seen({half().with_chunk(call).with_failure(errc::connection_lost), whole()}, on) == "half!1");
  CHECK(seen({streamed().with_chunk(chunk(R"("reasoning":"hm")")).with_failure(errc::connection_lost), whole()}, on) ==
        "!1");
}

TEST_CASE("a continued answer is asked for with its beginning, and counted in all its parts") {
  client_options options = with({.continue_partial = true});
  patient f(options);
  f.add(streamed().with_chunk(text_chunk("one ")).with_chunk("data: {\"error\":{\"code\":500}}\n\n"));
  f.add(streamed().with_chunk(text_chunk("two")).with_chunk("data: {\"error\":{\"code\":500}}\n\n"));
  f.add(streamed().with_chunk(text_chunk(" three") + chunk("", "\"stop\"") + usage_chunk() + "data: [DONE]\n\n"));
  const auto opened = f.start(f.caller.stream(question().assistant("zero ")));
  REQUIRE((opened->value && opened->value->has_value()));
  sluice::llm::stream answer = *std::move(*opened->value);
  std::string text;
  bool done = false;
  while (!done) {
    const auto step = f.start(answer.next());
    f.pass(20s);
    REQUIRE((step->value && step->value->has_value()));
    if (**step->value) text += (**step->value)->text;
    done = !**step->value;
  }
  CHECK(text == "one two three");
  CHECK(answer.result().text == "one two three");
  CHECK(answer.result().finish == sluice::llm::finish_reason::stop);
  CHECK(answer.result().usage.estimated);
  CHECK(answer.result().usage.output_tokens > 40);
  REQUIRE(f.bodies.size() == 3);
  CHECK(has(f.bodies[0], R"({"role":"assistant","content":"zero "}])"));
  CHECK(has(f.bodies[1], R"({"role":"assistant","content":"zero one"}])"));
  CHECK(has(f.bodies[2], R"({"role":"assistant","content":"zero one two"}])"));
  CHECK(has(f.bodies[0], "\"max_completion_tokens\":500"));
  CHECK_FALSE(has(f.bodies[2], "\"max_completion_tokens\":500"));
  CHECK(f.idle());
}

TEST_CASE("a failure knows what all attempts have taken") {
  const auto of = [](const std::vector<std::string>& answers) {
    patient f(with({.max_attempts = 3}));
    for (const std::string& each : answers) {
      f.add(each.empty() ? status(503) : streamed().with_chunk(each).with_failure(errc::connection_lost, "gone"));
    }
    const auto opened = f.start(f.caller.stream(question()));
    f.pass(20s);
    REQUIRE(opened->value);
    if (!opened->value->has_value()) return opened->value->error();
    sluice::llm::stream answer = *std::move(*opened->value);
    for (;;) {
      const auto step = f.start(answer.next());
      f.pass(20s);
      REQUIRE(step->value);
      if (!step->value->has_value()) return step->value->error();
    }
  };
  CHECK(of({"", "", ""}).usage == sluice::llm::token_usage{});
  // A report that comes with no word of the answer, twice: neither was handed out, so each is followed by another one.
  const auto reported = of({usage_chunk(), "", usage_chunk()});
  CHECK(reported.attempts == 3);
  CHECK(reported.usage == sluice::llm::token_usage{.input_tokens = 1'800, .output_tokens = 80});
  const auto estimated = of({"", text_chunk("half")});
  CHECK(estimated.attempts == 2);
  CHECK(estimated.usage == sluice::llm::token_usage{.input_tokens = 1'004, .output_tokens = 1, .estimated = true});
}

TEST_CASE("a page or an error under the content type of a stream is what it is") {
  const auto fails = [](scripted_exchange script) {
    call_fixture f;
    f.transport.add(std::move(script));
    const auto opened = f.start(f.caller.stream(question()));
    REQUIRE((opened->value && opened->value->has_value()));
    const auto step = f.start((*opened->value)->next());
    REQUIRE((step->value && !step->value->has_value()));
    CHECK(f.idle());
    return step->value->error();
  };
  for (const char* mark : {"", "\xEF\xBB\xBF", " \r\n"}) {
    const failure page = fails(streamed().with_chunk(std::string(mark) + "<!doctype html><title>Sign in</title>"));
    CHECK(page.is(errc::protocol_error));
    CHECK(has(said(page), "the server's answer is not a model's: text/event-stream, which begins"));
    CHECK(has(said(page), "Sign in"));
    CHECK(page.status == 200);
  }
  CHECK(fails(streamed().with_chunk(R"({"error":{"message":"m","type":"server_error"}})")).is(errc::provider_failed));
}
