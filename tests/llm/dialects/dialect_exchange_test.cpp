// Each dialect from the call to its result, over a script: plain, streamed, and failing in mid-stream.
#include "llm/call_fixture.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace sluice::llm::test;
using sluice::errc;
using sluice::llm::client_options;
using sluice::llm::dialect;
using sluice::llm::failure;
using sluice::llm::reply;
using sluice::llm::stream_event;
using sluice::llm::token_usage;

namespace {

constexpr dialect all[] = {dialect::openai_chat, dialect::openai_responses, dialect::anthropic_messages};

client_options speaking(dialect spoken) {
  client_options options(spoken, "http://server/v1", "sk-secret");
  options.retry.max_attempts = 1;
  return options;
}

struct exchanged : call_fixture {
  explicit exchanged(dialect spoken)
      : call_fixture(sluice::policy({.slots = 4, .tokens = 100'000}), speaking(spoken)) {}
};

std::string recording(const char* name) {
  std::ifstream file(std::string(SLUICE_STREAMS) + '/' + name + ".sse", std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Text and two calls at once, in pieces that alternate where the dialect lets them.
std::string streamed_in(dialect spoken) {
  return recording(spoken == dialect::openai_chat        ? "chat_tools"
                   : spoken == dialect::openai_responses ? "responses_tools"
                                                         : "messages_tools");
}

std::string plain_in(dialect spoken) {
  switch (spoken) {
    case dialect::openai_chat:
      return R"({"id":"c9","model":"m","choices":[{"index":0,"message":{"content":"Let me look.","tool_calls":[)"
             R"({"id":"call_a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}},)"
             R"({"id":"call_b","type":"function","function":{"name":"time","arguments":"{\"zone\":\"CET\"}"}}]},)"
             R"("finish_reason":"tool_calls"}],"usage":{"prompt_tokens":80,"completion_tokens":33}})";
    case dialect::openai_responses:
      return R"({"id":"resp_9","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","content":[)"
             R"({"type":"output_text","text":"Let me look."}]},{"type":"function_call","id":"fc_1","call_id":"call_a",)"
             R"("name":"weather","arguments":"{\"city\":\"Paris\"}"},{"type":"function_call","id":"fc_2",)"
             R"("call_id":"call_b","name":"time","arguments":"{\"zone\":\"CET\"}"}],)"
             R"("usage":{"input_tokens":80,"output_tokens":33}})";
    case dialect::anthropic_messages: break;
  }
  return R"({"id":"msg_9","type":"message","role":"assistant","model":"m","content":[{"type":"text",)"
         R"("text":"Let me look."},{"type":"tool_use","id":"call_a","name":"weather","input":{"city":"Paris"}},)"
         R"({"type":"tool_use","id":"call_b","name":"time","input":{"zone":"CET"}}],"stop_reason":"tool_use",)"
         R"("usage":{"input_tokens":80,"output_tokens":33}})";
}

std::string calls_of(const reply& answer) {
  std::string told;
  for (const auto& call : answer.tool_calls) {
    told += call.id + ' ' + call.name + ' ' + call.arguments + (call.valid ? "\n" : " invalid\n");
  }
  return told;
}

/// The kinds of the events in order, texts as they are; then the result, or the failure.
struct told {
  std::string events;
  reply result;
  std::optional<failure> why;
};

told read(call_fixture& f) {
  told seen;
  const auto opened = f.start(f.caller.stream(question()));
  REQUIRE((opened->value && opened->value->has_value()));
  sluice::llm::stream answer = *std::move(*opened->value);
  for (;;) {
    const auto step = f.start(answer.next());
    REQUIRE(step->value);
    if (!step->value->has_value()) {
      seen.why = step->value->error();
      break;
    }
    if (!**step->value) break;
    const stream_event& event = ***step->value;
    switch (event.type) {
      case stream_event::kind::text: seen.events += event.text; break;
      case stream_event::kind::tool_call: seen.events += '[' + event.call.name + ']'; break;
      case stream_event::kind::usage: seen.events += '{' + std::to_string(event.usage.output_tokens) + '}'; break;
      case stream_event::kind::done: seen.events += '.'; break;
      default: seen.events += '?'; break;
    }
  }
  seen.result = answer.result();
  return seen;
}

}  // namespace

TEST_CASE("a plain answer with text, two calls and usage, in every dialect") {
  for (const dialect spoken : all) {
    CAPTURE(to_string(spoken));
    exchanged f(spoken);
    f.transport.add(plain(plain_in(spoken)).with_header("x-request-id", "r1"));
    const auto chat = f.start(f.caller.chat(question()));
    REQUIRE((chat->value && chat->value->has_value()));
    const reply& answer = **chat->value;
    CHECK(answer.text == "Let me look.");
    CHECK(calls_of(answer) == "call_a weather {\"city\":\"Paris\"}\ncall_b time {\"zone\":\"CET\"}\n");
    CHECK(answer.finish == sluice::llm::finish_reason::tool_calls);
    CHECK(answer.usage == token_usage{.input_tokens = 80, .output_tokens = 33});
    CHECK(answer.model == "m");
    CHECK(answer.request_id == "r1");
    CHECK(f.consumed() == 113);
    CHECK(f.idle());
  }
}

TEST_CASE("a stream of the same, however it is cut") {
  for (const dialect spoken : all) {
    CAPTURE(to_string(spoken));
    const std::string stream = streamed_in(spoken);
    for (const std::size_t piece : {stream.size(), std::size_t{1}, std::size_t{7}}) {
      CAPTURE(piece);
      exchanged f(spoken);
      auto script = streamed();
      for (std::size_t at = 0; at < stream.size(); at += piece) {
        script = std::move(script).with_chunk(stream.substr(at, piece));
      }
      f.transport.add(std::move(script));
      const told all_of = read(f);
      CHECK_FALSE(all_of.why.has_value());
      CHECK(all_of.result.text == "Let me look.");
      CHECK(all_of.result.finish == sluice::llm::finish_reason::tool_calls);
      CHECK(all_of.result.request_id == "r1");
      if (spoken == dialect::anthropic_messages) {
        CHECK(all_of.events == "Let me look.[weather][now][at]{89}.");
        CHECK(calls_of(all_of.result) ==
              "toolu_1 weather {\"city\": \"Paris\"}\ntoolu_2 now {}\ntoolu_3 at {\"zone\":\"CET\"}\n");
        CHECK(all_of.result.usage == token_usage{.input_tokens = 472, .output_tokens = 89});
        CHECK(f.consumed() == 561);
      } else {
        CHECK(all_of.events == "Let me look.[weather][time]{33}.");
        CHECK(calls_of(all_of.result) == "call_a weather {\"city\":\"Paris\"}\ncall_b time {\"zone\":\"CET\"}\n");
        CHECK(all_of.result.usage == token_usage{.input_tokens = 80, .output_tokens = 33});
        CHECK(f.consumed() == 113);
      }
      CHECK(f.idle());
    }
  }
}

TEST_CASE("an error in mid-stream is of its kind, and keeps half an answer and its usage") {
  struct row {
    dialect spoken;
    const char* name;
    errc kind;
    const char* code;
    const char* text;
    std::int64_t input;
  };
  for (const row& each :
       {row{dialect::openai_chat, "chat_error", errc::provider_failed, "server_error", "Half an ans", 1'004},
        row{dialect::openai_responses, "responses_failed", errc::provider_failed, "server_error", "Hal", 5},
        row{dialect::anthropic_messages, "messages_error", errc::overloaded, "overloaded_error", "Half", 25}}) {
    CAPTURE(each.name);
    exchanged f(each.spoken);
    f.transport.add(streamed().with_chunk(recording(each.name)).with_silence());
    const told half = read(f);
    REQUIRE(half.why.has_value());
    CHECK(half.why->is(each.kind));
    CHECK(half.why->provider_code == each.code);
    CHECK(half.why->status == 200);
    CHECK(half.why->request_id == "r1");
    CHECK(half.why->phase == sluice::llm::call_phase::answering);
    REQUIRE(half.why->partial.has_value());
    CHECK(half.why->partial->text == each.text);
    CHECK(half.why->usage == half.why->partial->usage);
    CHECK(half.why->usage.input_tokens == each.input);
    CHECK(half.why->usage.output_tokens > 0);
    CHECK(f.consumed() == half.why->usage.input_tokens + half.why->usage.output_tokens);
    CHECK(f.idle());
  }
}
