#include "llm/call_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::errc;
using sluice::llm::call_options;
using sluice::llm::client_options;
using sluice::llm::finish_reason;
using sluice::llm::stream_event;
using sluice::testing::scripted_exchange;
using kind = sluice::llm::stream_event::kind;

namespace {

sluice::llm::stream open(call_fixture& f, call_options how = {}) {
  const auto opened = f.start(f.caller.stream(question(), how));
  REQUIRE((opened->value && opened->value->has_value()));
  return std::move(**opened->value);
}

// All events, in one text; ends with what the failure's code is called if there was one.
std::string read(call_fixture& f, sluice::llm::stream& from) {
  std::string seen;
  for (;;) {
    const auto step = f.start(from.next());
    REQUIRE(step->value.has_value());
    if (!*step->value) return seen + '!' + step->value->error().code().message();
    if (!**step->value) return seen;
    const stream_event& event = ***step->value;
    switch (event.type) {
      case kind::text: seen += event.text; break;
      case kind::reasoning: seen += '(' + event.text + ')'; break;
      case kind::refusal: seen += '[' + event.text + ']'; break;
      case kind::tool_call:
        seen += '<' + event.call.id + ' ' + event.call.name + ' ' + event.call.arguments + '>';
        break;
      case kind::usage: seen += '{' + std::to_string(event.usage.output_tokens) + '}'; break;
      case kind::done: seen += '.'; break;
    }
  }
}

struct outcome {
  std::string seen;
  sluice::llm::reply result;
  std::int64_t consumed = 0;
};

outcome play(scripted_exchange script) {
  call_fixture f;
  f.transport.add(std::move(script));
  auto stream = open(f);
  outcome out;
  out.seen = read(f, stream);
  CHECK(f.idle());
  // A stream that has ended stays so, whether well or not.
  const auto again = f.start(stream.next());
  CHECK(again->value->has_value() == (out.seen.find('!') == std::string::npos));
  out.result = stream.result();
  out.consumed = f.consumed();
  return out;
}

sluice::llm::failure failure_of(scripted_exchange script) {
  call_fixture f;
  f.transport.add(std::move(script));
  auto stream = open(f);
  for (;;) {
    const auto step = f.start(stream.next());
    REQUIRE(step->value.has_value());
    if (!*step->value) {
      CHECK(f.idle());
      return step->value->error();
    }
    REQUIRE((*step->value)->has_value());
  }
}

const std::string done = "data: [DONE]\n\n";
const std::string stop = chunk("", "\"stop\"");

}  // namespace

TEST_CASE("a stream gives texts, then the usage, then its end") {
  const auto out = play(
      streamed().with_chunk(text_chunk("Hel")).with_chunk(text_chunk("lo") + stop).with_chunk(usage_chunk() + done));
  CHECK(out.seen == "Hello{40}.");
  CHECK(out.result.text == "Hello");
  CHECK(out.result.finish == finish_reason::stop);
  CHECK(out.result.request_id == "r1");
  CHECK(out.result.usage == sluice::llm::token_usage{900, 40, 0, 0, false});
  CHECK(out.consumed == 940);
}

TEST_CASE("it is the same however the bytes are cut, and with any line ends") {
  std::string whole =
      text_chunk("a\\u20ac") + ": note\n\n" + chunk("\"reasoning_content\":\"r\"") + stop + usage_chunk() + done;
  for (const bool crlf : {false, true}) {
    std::string text;
    for (const char c : whole) {
      if (c == '\n' && crlf) text += '\r';
      text += c;
    }
    auto script = streamed();
    for (const char c : text) script = std::move(script).with_chunk(std::string(1, c));
    CHECK(play(std::move(script)).seen == "a\xE2\x82\xAC(r){40}.");
  }
}

TEST_CASE("tool calls come whole, after the texts") {
  const auto out =
      play(streamed()
               .with_chunk(text_chunk("See: "))
               .with_chunk(chunk(R"("tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}])"))
               .with_chunk(chunk(R"("tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}])"))
               .with_chunk(chunk(R"("tool_calls":[{"index":0,"function":{"arguments":":1}"}}])", "\"tool_calls\""))
               .with_chunk(usage_chunk() + done));
  CHECK(out.seen == "See: <a f {\"x\":1}><b g {}>{40}.");
  CHECK(out.result.tool_calls.size() == 2);
}

TEST_CASE("the hold: all of it first, the output at the first token, less while it comes, nothing at the end") {
  call_fixture f;
  const std::string words(4 * 200, 'w');
  f.transport.add(streamed()
                      .with_pause_before_head()
                      .with_chunk(chunk("\"role\":\"assistant\",\"content\":\"\""))
                      .with_chunk(text_chunk("abcd"))
                      .with_chunk(text_chunk("efgh"))
                      .with_chunk(text_chunk(words))
                      .with_chunk(stop + usage_chunk() + done));
  const auto opened = f.start(f.caller.stream(question()));
  CHECK(f.held_tokens() == question_tokens);
  f.transport.release(0);
  f.run();
  REQUIRE((opened->value && opened->value->has_value()));
  auto stream = std::move(**opened->value);
  // The head alone is no token.
  CHECK(f.held_tokens() == question_tokens);
  static_cast<void>(f.start(stream.next()));
  CHECK(f.held_tokens() == 499 + 128);
  static_cast<void>(f.start(stream.next()));
  // One token more is not worth a report.
  CHECK(f.held_tokens() == 499 + 128);
  static_cast<void>(f.start(stream.next()));
  CHECK(f.held_tokens() == 500 - 202 + 128);
  CHECK(stream.result().usage == sluice::llm::token_usage{1'004, 202, 0, 0, true});
  CHECK(read(f, stream) == "{40}.");
  CHECK(f.idle());
  CHECK(f.consumed() == 940);
}

TEST_CASE("usage that is not sent is estimated, and marked") {
  const auto out = play(streamed().with_chunk(text_chunk("abcdefgh") + stop + done));
  CHECK(out.seen == "abcdefgh{2}.");
  CHECK(out.result.usage == sluice::llm::token_usage{1'004, 2, 0, 0, true});
  CHECK(out.consumed == 1'006);
}

TEST_CASE("a stream whose usage lacks a figure has it estimated") {
  const auto usage = [](const std::string& figures) {
    return "data: {\"choices\":[],\"usage\":{" + figures + "}}\n\n";
  };
  const auto input_only =
      play(streamed().with_chunk(text_chunk("abcdefgh") + stop + usage("\"prompt_tokens\":900") + done));
  CHECK(input_only.result.usage == sluice::llm::token_usage{900, 2, 0, 0, true});
  CHECK(input_only.consumed == 902);
  const auto output_only =
      play(streamed().with_chunk(text_chunk("abcdefgh") + stop + usage("\"completion_tokens\":40") + done));
  CHECK(output_only.result.usage == sluice::llm::token_usage{1'004, 40, 0, 0, true});
  CHECK(output_only.consumed == 1'044);
}

TEST_CASE("an answer without a word and without usage has taken its prompt") {
  const std::string nothing = "data: {\"choices\":[{\"index\":0,\"delta\":null}]}\n\n";
  const auto out = play(streamed().with_chunk(nothing + stop + done));
  CHECK(out.seen == "{0}.");
  CHECK(out.result.usage == sluice::llm::token_usage{1'004, 0, 0, 0, true});
  CHECK(out.consumed == 1'004);
}

TEST_CASE("the end may lack its mark or its blank line") {
  CHECK(play(streamed().with_chunk(text_chunk("x") + stop)).seen == "x{1}.");
  CHECK(play(streamed().with_chunk(text_chunk("x") + stop + "data: [DONE]")).seen == "x{1}.");
  CHECK(play(streamed().with_chunk(text_chunk("x") + stop + "data:[DONE] \n")).seen == "x{1}.");
  std::string last = stop;
  while (last.ends_with('\n')) last.pop_back();
  const auto cut = play(streamed().with_chunk(text_chunk("[DONE]") + last));
  CHECK(cut.seen == "[DONE]{2}.");
  CHECK(cut.result.unterminated);
}

TEST_CASE("a stream without a finish reason is broken, and what came is kept and charged") {
  for (const std::string& end : {done, std::string(), std::string("data: {\"choices\":[{\"del")}) {
    CAPTURE(end);
    const auto failed = failure_of(streamed().with_chunk(text_chunk("half")).with_chunk(end));
    CHECK(failed.is(errc::connection_lost));
    REQUIRE(failed.partial.has_value());
    CHECK(failed.partial->text == "half");
    CHECK(failed.partial->usage.estimated);
    CHECK(failed.request_id == "r1");
  }
  CHECK(play(streamed().with_chunk(text_chunk("half")).with_failure(errc::idle_timeout, "idle")).consumed == 1'005);
  CHECK(play(streamed()).consumed == 0);
}

TEST_CASE("errors in mid-stream, named, unnamed or no JSON at all") {
  const auto named = failure_of(streamed().with_chunk(
      text_chunk("half") + "event: error\ndata: {\"message\":\"m\",\"type\":\"overloaded_error\"}\n\n"));
  CHECK(named.is(errc::overloaded));
  CHECK(named.partial->text == "half");
  const auto unnamed =
      failure_of(streamed().with_chunk(text_chunk("half") + "data: {\"error\":{\"message\":\"m\",\"code\":500}}\n\n"));
  CHECK(unnamed.is(errc::provider_failed));
  CHECK(unnamed.message() == "the provider failed (500): m");
  const auto broken = failure_of(streamed().with_chunk(text_chunk("half") + "data: {oops\n\n" + stop + done));
  CHECK(broken.is(errc::protocol_error));
  CHECK(broken.partial->text == "half");
}

TEST_CASE("what is no stream") {
  const auto json = [](std::string body) {
    return scripted_exchange(200).with_header("content-type", "application/json").with_chunk(std::move(body));
  };
  CHECK(play(json(plain_answer)).seen == "Hi{40}.");
  CHECK(play(scripted_exchange(200).with_chunk(" ").with_chunk(plain_answer)).seen == "Hi{40}.");
  CHECK(play(scripted_exchange(200).with_chunk(text_chunk("x") + stop)).seen == "x{1}.");
  CHECK(failure_of(json(R"({"error":{"message":"m","type":"server_error"}})")).is(errc::provider_failed));
  const auto page =
      failure_of(scripted_exchange(200).with_header("content-type", "text/html").with_chunk("<html>Sign in"));
  CHECK(page.is(errc::protocol_error));
  CHECK(page.message().find("<html>Sign in") != std::string::npos);
  CHECK_FALSE(page.partial.has_value());
  CHECK(failure_of(scripted_exchange(200).with_chunk(std::string(10'000, '<'))).is(errc::protocol_error));
  CHECK(failure_of(scripted_exchange(200)).is(errc::protocol_error));
}

TEST_CASE("an event beyond the limit ends the stream") {
  client_options options("http://server/v1");
  options.max_event = 300;
  call_fixture f(sluice::policy({.slots = 4, .tokens = 100'000}), options);
  f.transport.add(streamed().with_chunk(text_chunk("ok") + text_chunk(std::string(400, 'x')) + stop + done));
  auto stream = open(f);
  CHECK(read(f, stream).starts_with("ok!"));
  CHECK(f.start(stream.next())->value->error().is(errc::too_large));
  CHECK(f.idle());
}

TEST_CASE("a stream that begins with blanks: what comes behind them counts, and they have the limit of an event") {
  client_options options("http://server/v1");
  options.max_event = 300;
  call_fixture f(sluice::policy({.slots = 4, .tokens = 100'000}), options);
  const std::string blanks(140, '\n');
  f.transport.add(streamed().with_chunk(blanks).with_chunk(blanks).with_chunk(text_chunk("ok") + stop + done));
  auto first = open(f);
  CHECK(read(f, first).starts_with("ok{"));
  f.transport.add(streamed().with_chunk(blanks).with_chunk(blanks).with_chunk(blanks));
  auto second = open(f);
  CHECK(f.start(second.next())->value->error().is(errc::too_large));
  CHECK(f.idle());
}

TEST_CASE("a server that refuses to be asked for usage is asked once") {
  call_fixture f;
  f.transport.add(plain(R"({"error":{"message":"Unrecognized request argument: stream_options"}})", 400));
  f.transport.add(streamed().with_chunk(text_chunk("x") + stop + done));
  f.transport.add(streamed().with_chunk(text_chunk("y") + stop + done));
  auto first = open(f);
  CHECK(f.gate.statistics().all.admitted_total == 1);
  CHECK(read(f, first) == "x{1}.");
  auto second = open(f);
  CHECK(read(f, second) == "y{1}.");
  const auto sent = f.transport.requests();
  REQUIRE(sent.size() == 3);
  CHECK(sent[0].body().find("stream_options") != std::string::npos);
  CHECK(sent[1].body().find("stream_options") == std::string::npos);
  CHECK(sent[2].body().find("stream_options") == std::string::npos);
  CHECK(f.idle());

  f.transport.add(plain(R"({"error":{"message":"stream_options again"}})", 400));
  const auto refused = f.start(f.caller.stream(question()));
  REQUIRE((refused->value && !refused->value->has_value()));
  CHECK(refused->value->error().is(errc::provider_refused));
  CHECK(f.transport.requests().size() == 4);
}

TEST_CASE("a stream that is dropped closes its exchange, and is charged what was seen") {
  call_fixture f;
  f.transport.add(streamed().with_chunk(text_chunk("abcdefgh")).with_silence());
  {
    auto stream = open(f);
    static_cast<void>(f.start(stream.next()));
    CHECK(f.in_flight() == 1);
  }
  f.run();
  CHECK(f.idle());
  CHECK(f.transport.cancelled() == 1);
  CHECK(f.consumed() == 1'006);
}

TEST_CASE("cancelled while it waits for more: closed, charged, and the permit is back at once") {
  for (const auto as : {sluice::interactive, sluice::batch}) {
    call_fixture f;
    f.transport.add(streamed().with_chunk(text_chunk("abcdefgh")).with_silence());
    auto stream = open(f, {.workload = as});
    static_cast<void>(f.start(stream.next()));
    const auto step = f.start(stream.next());
    CHECK_FALSE(step->ended);
    f.cancel(step);
    REQUIRE(step->ended);
    // The stream is still there; its permit is not.
    CHECK(f.idle());
    CHECK(f.transport.cancelled() == 1);
    CHECK(f.consumed() == 1'006);
    const auto again = f.start(stream.next());
    REQUIRE((again->value && !again->value->has_value()));
    CHECK(again->value->error().is(errc::cancelled));
    CHECK(again->value->error().partial->text == "abcdefgh");
  }
}

TEST_CASE("preempted before anything was handed out: sent again; after that: told") {
  for (const bool handed_out : {false, true}) {
    CAPTURE(handed_out);
    call_fixture f(lending());
    auto first_half = [&] { return handed_out ? streamed().with_chunk(text_chunk("half")) : streamed(); };
    f.transport.add(first_half().with_silence());
    f.transport.add(first_half().with_silence());
    const call_options how{.workload = sluice::batch};
    auto first = open(f, how);
    auto second = open(f, how);
    if (handed_out) {
      static_cast<void>(f.start(first.next()));
      static_cast<void>(f.start(second.next()));
    }
    const auto a = f.start(first.next());
    const auto b = f.start(second.next());
    std::vector<sluice::permit> owners;
    while (auto one = f.gate.try_admit({.tokens = 1})) owners.push_back(std::move(*one));
    f.transport.add(plain(plain_answer));
    f.transport.add(streamed().with_chunk(text_chunk("again") + stop + done));
    const auto chat = f.start(f.caller.chat(question()));
    CHECK_FALSE(chat->ended);
    f.advance(2s);
    CHECK(f.gate.statistics()[sluice::batch].preempted_total == 1);
    REQUIRE((chat->value && chat->value->has_value()));
    if (handed_out) {
      const auto& lost = a->ended ? a : b;
      REQUIRE((lost->value && !lost->value->has_value()));
      CHECK(lost->value->error().is(errc::preempted));
      CHECK(lost->value->error().age.preemptions == 1);
      CHECK(lost->value->error().message().find("failure::age as call_options::age") != std::string::npos);
      CHECK(lost->value->error().partial->text == "half");
      CHECK(f.gate.statistics()[sluice::batch].wasted_tokens_total == 1'005);
    } else {
      CHECK(f.transport.requests().size() == 4);
      CHECK(a->ended != b->ended);
      const auto& came = a->ended ? a : b;
      REQUIRE((came->value && came->value->has_value()));
      CHECK((**came->value)->text == "again");
    }
    owners.clear();
    f.cancel(a->ended ? b : a);
    first = {};
    second = {};
    f.run();
    CHECK(f.idle());
  }
}

TEST_CASE("an empty stream") {
  call_fixture f;
  sluice::llm::stream none;
  CHECK(f.start(none.next())->value->error().is(errc::invalid_argument));
  CHECK(none.result().text.empty());
}
