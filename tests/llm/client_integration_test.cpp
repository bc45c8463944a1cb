// The client over real HTTP: curl against the mock provider.
#include <sluice/http/curl_transport.hpp>
#include <sluice/llm/client.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

using namespace std::chrono_literals;
using sluice::errc;
using sluice::testing::mock_fault;
using sluice::testing::mock_provider;
using sluice::testing::mock_reply;
using sluice::testing::mock_stats;
using namespace sluice::llm;

namespace {

using chat_result = sluice::expected<reply, failure>;

// What one call gave, plain or streamed.
class outcome {
 public:
  outcome() = default;
  std::string text;
  std::vector<tool_call> calls;
  std::optional<reply> whole;
  std::optional<failure> failed;
};

class world {
 public:
  asio::io_context loop{1};
  mock_provider provider;
  sluice::bulkhead gate{loop.get_executor(), sluice::policy({.slots = 4, .tokens = 100'000})};
  std::unique_ptr<sluice::http::transport> transport =
      sluice::http::make_curl_transport(loop.get_executor(), gate.time());
  client caller{*transport, gate, once(provider.url())};

  // What one attempt gives is looked at; a pause after a refusal is short.
  [[nodiscard]] static client_options once(std::string url) {
    client_options options(std::move(url), "sk-secret");
    options.retry.max_attempts = 1;
    options.retry.first_backoff = 1ms;
    return options;
  }

  [[nodiscard]] static request question() {
    request asked("m");
    asked.user("Tell me.").limit_output(500);
    return asked;
  }

  outcome chat() {
    outcome out;
    go([](world& w, outcome& result) -> asio::awaitable<void> {
      auto answer = co_await w.caller.chat(question());
      if (answer) {
        result.whole = *answer;
      } else {
        result.failed = answer.error();
      }
    }(*this, out));
    return out;
  }

  outcome stream() {
    outcome out;
    go(read(*this, out, nullptr));
    return out;
  }

  // Calls `each` after every event.
  static asio::awaitable<void> read(world& w, outcome& result, std::function<void()> each) {
    auto opened = co_await w.caller.stream(question());
    if (!opened) {
      result.failed = opened.error();
      co_return;
    }
    for (;;) {
      auto event = co_await opened->next();
      if (!event) {
        result.failed = event.error();
        co_return;
      }
      if (!*event) break;
      if ((*event)->type == stream_event::kind::text) result.text += (*event)->text;
      if ((*event)->type == stream_event::kind::tool_call) result.calls.push_back((*event)->call);
      if (each) each();
    }
    result.whole = opened->result();
  }

  void go(asio::awaitable<void> what) {
    asio::co_spawn(loop, std::move(what), asio::detached);
    loop.restart();
    loop.run();
  }

  // Every permit and every exchange is back.
  [[nodiscard]] bool settled() {
    const auto all = gate.statistics().all;
    return all.in_flight == 0 && all.held == sluice::capacity{} && all.waiting == 0 &&
           provider.wait_until([](const mock_stats& s) { return s.open == 0; });
  }
};

}  // namespace

TEST_CASE("plain, over one connection") {
  world w;
  w.provider.reply_with(mock_reply::text("It is a gate."));
  w.provider.reply_with(mock_reply::text("So it is."));
  const auto first = w.chat();
  REQUIRE(first.whole.has_value());
  CHECK(first.whole->text == "It is a gate.");
  CHECK(first.whole->finish == finish_reason::stop);
  CHECK_FALSE(first.whole->usage.estimated);
  CHECK(first.whole->usage.output_tokens == 4);
  CHECK_FALSE(first.whole->request_id.empty());
  CHECK(w.chat().whole->text == "So it is.");
  CHECK(w.settled());
  CHECK(w.provider.stats().connections_opened == 1);
  CHECK(w.provider.stats().authorized == 2);
  CHECK(w.gate.statistics().all.consumed_tokens_total ==
        w.provider.stats().input_tokens + w.provider.stats().output_tokens);
}

TEST_CASE("streamed, with the same end, and the connection is used again") {
  world w;
  w.provider.reply_when([](const auto&) { return true; }, mock_reply::text("It is a gate."));
  const auto first = w.stream();
  REQUIRE(first.whole.has_value());
  CHECK(first.text == "It is a gate.");
  CHECK(first.whole->text == first.text);
  CHECK_FALSE(first.whole->usage.estimated);
  CHECK(first.whole->usage.output_tokens == 4);
  CHECK(w.stream().text == "It is a gate.");
  CHECK(w.settled());
  CHECK(w.provider.stats().served == 2);
  CHECK(w.provider.stats().cancelled == 0);
  CHECK(w.provider.stats().connections_opened == 1);
}

TEST_CASE("tool calls come whole, plain and streamed") {
  world w;
  w.provider.reply_when([](const auto&) { return true; },
                        mock_reply::text("Let me see.").with_tool_call("lookup", R"({"city":"Paris","days":3})", "t1"));
  for (const outcome& out : {w.chat(), w.stream()}) {
    REQUIRE(out.whole.has_value());
    REQUIRE(out.whole->tool_calls.size() == 1);
    CHECK(out.whole->tool_calls[0] == tool_call("t1", "lookup", R"({"city":"Paris","days":3})"));
    CHECK(out.whole->finish == finish_reason::tool_calls);
    CHECK(out.whole->text == "Let me see.");
  }
  CHECK(w.settled());
}

TEST_CASE("faults before the answer") {
  world w;
  const auto fails = [&w](mock_fault fault, errc kind) {
    // A connection that ends before it answered may be tried again by the transport.
    w.provider.fail_next(fault, 4);
    const auto plain = w.chat();
    const auto streamed = w.stream();
    w.provider.clear_faults();
    REQUIRE((plain.failed && streamed.failed));
    CHECK(plain.failed->is(kind));
    CHECK(streamed.failed->is(kind));
    CHECK(w.settled());
    return *plain.failed;
  };
  CHECK(fails(mock_fault::rate_limited(20ms), errc::rate_limited).retry_after == sluice::duration(20ms));
  CHECK(fails(mock_fault::rate_limited_ms(25ms), errc::rate_limited).retry_after == sluice::duration(25ms));
  CHECK(fails(mock_fault::quota_exhausted(), errc::quota_exhausted).provider_code == "insufficient_quota");
  CHECK(fails(mock_fault::status(500), errc::provider_failed).status == 500);
  CHECK(fails(mock_fault::status(503), errc::overloaded).status == 503);
  CHECK(fails(mock_fault::status(401), errc::unauthorized).status == 401);
  CHECK(fails(mock_fault::html(), errc::protocol_error).message().find("html") != std::string::npos);
  CHECK(fails(mock_fault::hang_up(), errc::connection_lost).status == 0);
  // Refusals cost nothing. The page came with status 200 to the plain call, which took its first byte for an answer's.
  CHECK(w.gate.statistics().all.consumed_tokens_total == 7);
}

TEST_CASE("faults in mid-stream keep what came") {
  world w;
  const auto fails = [&w](mock_fault fault, errc kind) {
    w.provider.reply_with(mock_reply::text("one two three four"));
    w.provider.fail_next(std::move(fault), 1);
    const auto out = w.stream();
    REQUIRE(out.failed.has_value());
    CHECK(out.failed->is(kind));
    CHECK(out.text.starts_with("one"));
    REQUIRE(out.failed->partial.has_value());
    CHECK(out.failed->partial->text == out.text);
    CHECK(w.settled());
  };
  fails(mock_fault::hang_up_after(2), errc::connection_lost);
  fails(mock_fault::bad_json(2), errc::protocol_error);
  fails(mock_fault::error_event(2), errc::provider_failed);
}

TEST_CASE("streams that are odd but whole") {
  world w;
  for (const mock_fault& fault :
       {mock_fault::no_done(), mock_fault::no_usage(), mock_fault::crlf(), mock_fault::byte_order_mark()}) {
    w.provider.reply_with(mock_reply::text("one two"));
    w.provider.fail_next(fault, 1);
    const auto out = w.stream();
    REQUIRE(out.whole.has_value());
    CHECK(out.whole->text == "one two");
    CHECK(out.whole->usage.estimated == (fault.what() == mock_fault::kind::no_usage));
  }
  CHECK(w.settled());
}

TEST_CASE("cancelling closes the provider's stream and gives the permit back") {
  world w;
  w.provider.reply_with(mock_reply::words(50));
  w.provider.fail_next(mock_fault::stall_after(3), 1);
  asio::cancellation_signal cancel;
  outcome out;
  int events = 0;
  // The third word is the last: the next read waits for ever.
  auto each = [&] {
    if (++events == 1) asio::post(w.loop, [&] { cancel.emit(asio::cancellation_type::terminal); });
  };
  bool ended = false;
  asio::co_spawn(w.loop, world::read(w, out, each),
                 asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { ended = true; }));
  w.loop.run();
  CHECK(ended);
  CHECK(w.settled());
  CHECK(w.provider.stats().cancelled == 1);
}

TEST_CASE("a stream that is dropped in the middle is closed too") {
  world w;
  w.provider.reply_with(mock_reply::words(50));
  w.provider.fail_next(mock_fault::stall_after(3), 1);
  w.go([](world& here) -> asio::awaitable<void> {
    auto opened = co_await here.caller.stream(world::question());
    if (opened) static_cast<void>(co_await opened->next());
  }(w));
  CHECK(w.settled());
  CHECK(w.provider.stats().cancelled == 1);
}

TEST_CASE("a provider that is gone is an error, not a hang") {
  world w;
  w.provider.stop();
  const auto out = w.chat();
  REQUIRE(out.failed.has_value());
  CHECK(out.failed->is(errc::connect_failed));
  CHECK(out.failed->message().find("sk-secret") == std::string::npos);
  CHECK(w.gate.statistics().all.in_flight == 0);
}
