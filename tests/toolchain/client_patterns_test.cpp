// The same as calling_patterns_test.cpp for calls of models: every way in which a program is shown to make one.
#include <sluice/llm/client.hpp>
#include <sluice/testing/scripted_transport.hpp>

#include <doctest/doctest.h>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using namespace std::chrono_literals;
using sluice::testing::scripted_exchange;

static_assert(std::is_aggregate_v<sluice::llm::call_options>);
static_assert(std::is_trivially_destructible_v<sluice::llm::call_options>);
// What owns memory has a constructor instead.
static_assert(!std::is_aggregate_v<sluice::llm::request> && !std::is_aggregate_v<sluice::llm::message>);
static_assert(!std::is_aggregate_v<sluice::llm::reply> && !std::is_aggregate_v<sluice::llm::failure>);
static_assert(!std::is_aggregate_v<sluice::llm::tool> && !std::is_aggregate_v<sluice::llm::tool_call>);
static_assert(!std::is_aggregate_v<sluice::llm::stream_event> && !std::is_aggregate_v<sluice::llm::stream>);
static_assert(!std::is_aggregate_v<sluice::llm::client_options>);

const std::string whole_answer =
    R"({"model":"m","choices":[{"index":0,"finish_reason":"stop",)"
    R"("message":{"role":"assistant","content":"an answer that is too long to be kept inside the string"}}],)"
    R"("usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}})";

scripted_exchange plain() {
  return scripted_exchange(200).with_header("content-type", "application/json").with_chunk(whole_answer);
}

scripted_exchange streamed() {
  return scripted_exchange(200)
      .with_header("content-type", "text/event-stream")
      .with_chunk(
          "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"an answer that is too long to be kept \"}}]}\n\n")
      .with_chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"inside the string\"}}]}\n\n")
      .with_chunk("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
      .with_chunk("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12}}\n\n")
      .with_chunk("data: [DONE]\n\n");
}

struct house {
  asio::io_context context;
  sluice::bulkhead gate{context.get_executor(), sluice::policy({.slots = 2, .tokens = 8'000})};
  sluice::testing::scripted_transport wire;
  sluice::llm::client client{wire, gate, sluice::llm::client_options("http://127.0.0.1:1/v1", "key")};

  // Runs `program` to its end. Whatever it did, nothing may be held or open afterwards.
  void run(asio::awaitable<void> program) {
    std::exception_ptr failure;
    bool ended = false;
    asio::co_spawn(context, std::move(program), [&](std::exception_ptr thrown) {
      failure = thrown;
      ended = true;
    });
    context.run();
    CHECK(ended);
    if (failure) std::rethrow_exception(failure);
    CHECK(gate.try_admit({.tokens = 8'000, .slots = 2}));
    CHECK(wire.open() == 0);
  }
};

}  // namespace

TEST_CASE_FIXTURE(house, "chat with a request and options made in place") {
  for (int i = 0; i < 4; ++i) wire.add(plain());
  run([](house& self) -> asio::awaitable<void> {
    auto reply = co_await self.client.chat(sluice::llm::request("m").user("a question that is longer than that"));
    REQUIRE(reply.has_value());
    CHECK(reply->usage.output_tokens == 12);

    auto second = co_await self.client.chat(
        sluice::llm::request("m").system("Be brief.").user("Why?").limit_output(64),
        {.workload = sluice::batch, .deadline = self.gate.in(30s), .reservation = sluice::cost{.tokens = 200}});
    REQUIRE(second.has_value());
    CHECK(second->text.starts_with("an answer"));

    const auto text = (co_await self.client.chat(sluice::llm::request{"m"}.user("Why?"), {})).value().text;
    CHECK(text.ends_with("the string"));

    sluice::llm::request named("m");
    named.user("Why?");
    CHECK((co_await self.client.chat(named, {.workload = sluice::batch})).has_value());
  }(*this));
}

TEST_CASE_FIXTURE(house, "a request that does not hold, made in place") {
  run([](house& self) -> asio::awaitable<void> {
    auto refused = co_await self.client.chat(sluice::llm::request(""), {.deadline = self.gate.in(30s)});
    REQUIRE_FALSE(refused.has_value());
    auto impossible = co_await self.client.chat(sluice::llm::request("m").user("Why?").limit_output(1'000'000));
    REQUIRE_FALSE(impossible.has_value());
  }(*this));
}

TEST_CASE_FIXTURE(house, "stream, read in a loop") {
  wire.add(streamed());
  run([](house& self) -> asio::awaitable<void> {
    auto stream = co_await self.client.stream(sluice::llm::request("m").user("Why?"),
                                              {.workload = sluice::batch, .deadline = self.gate.in(30s)});
    REQUIRE(stream.has_value());
    std::string text;
    for (;;) {
      auto event = co_await stream->next();
      REQUIRE(event.has_value());
      if (!*event) break;
      if ((*event)->type == sluice::llm::stream_event::kind::text) text += (*event)->text;
    }
    CHECK(text == "an answer that is too long to be kept inside the string");
    CHECK(stream->result().usage.output_tokens == 12);
  }(*this));
}

TEST_CASE_FIXTURE(house, "stream, left after its first event") {
  wire.add(streamed());
  run([](house& self) -> asio::awaitable<void> {
    auto stream = (co_await self.client.stream(sluice::llm::request("m").user("Why?"))).value();
    CHECK((co_await stream.next()).has_value());
  }(*this));
}
