#include <sluice/testing/scripted_transport.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using sluice::errc;
using sluice::error;
using sluice::expected;
using sluice::stop_cause;
using sluice::stop_signal;
using sluice::testing::scripted_exchange;
using sluice::testing::scripted_transport;
namespace http = sluice::http;

namespace {

// What one caller got, so far.
struct log_of_caller {
  std::string said;
  std::optional<error> failure;
  std::unique_ptr<http::response> kept;
};

asio::awaitable<void> read_on(http::response& from, log_of_caller& log) {
  for (;;) {
    auto part = co_await from.read();
    if (!part) {
      log.failure = part.error();
      co_return;
    }
    if (part->empty()) break;
    log.said += *part;
    log.said += '|';
  }
  log.said += "end";
}

asio::awaitable<void> ask(http::transport& transport, log_of_caller& log, std::string body = {},
                          std::shared_ptr<stop_signal> stop = nullptr) {
  http::request request("POST", "http://test/v1");
  request.stop = std::move(stop);
  request.set_body(std::move(body));
  auto reply = co_await transport.send(std::move(request));
  if (!reply) {
    log.failure = reply.error();
    co_return;
  }
  log.said += std::to_string((*reply)->status()) + ':';
  co_await read_on(**reply, log);
}

asio::awaitable<void> ask_for_head(http::transport& transport, log_of_caller& log,
                                   std::shared_ptr<stop_signal> stop = nullptr) {
  http::request request("GET", "http://test/v1");
  request.stop = std::move(stop);
  auto reply = co_await transport.send(std::move(request));
  if (reply) log.kept = *std::move(reply);
}

}  // namespace

TEST_CASE("it answers in order, chunk by chunk, and records what was asked") {
  asio::io_context io;
  scripted_transport transport;
  transport.add(scripted_exchange(200).with_header("X-Id", "7").with_chunk("one").with_chunk("").with_chunk("two"));
  transport.add(scripted_exchange(503));
  CHECK(transport.unused() == 2);
  log_of_caller first;
  log_of_caller second;
  asio::co_spawn(io, ask(transport, first, "a"), asio::detached);
  io.poll();
  io.restart();
  asio::co_spawn(io, ask(transport, second, "b"), asio::detached);
  io.poll();
  CHECK(first.said == "200:one|two|end");
  CHECK(second.said == "503:end");
  const auto asked = transport.requests();
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].body() == "a");
  CHECK(asked[1].body() == "b");
  CHECK(asked[1].method() == "POST");
  CHECK(transport.finished() == 2);
  CHECK(transport.open() == 0);
  CHECK(transport.cancelled() == 0);
  CHECK(transport.unused() == 0);
}

TEST_CASE("headers are there, and the end comes again and again") {
  asio::io_context io;
  scripted_transport transport;
  transport.add(scripted_exchange(200).with_header("X-Id", "7"));
  log_of_caller log;
  asio::co_spawn(io, ask_for_head(transport, log), asio::detached);
  io.poll();
  REQUIRE(log.kept);
  CHECK(log.kept->status() == 200);
  REQUIRE(log.kept->headers().size() == 1);
  CHECK(log.kept->headers()[0].value() == "7");
  for (int i = 0; i < 2; ++i) {
    io.restart();
    asio::co_spawn(io, read_on(*log.kept, log), asio::detached);
    io.poll();
  }
  CHECK(log.said == "endend");
  CHECK(transport.finished() == 1);
}

TEST_CASE("when the script is used up, the handler is asked, else the request fails") {
  asio::io_context io;
  scripted_transport transport;
  log_of_caller none;
  asio::co_spawn(io, ask(transport, none), asio::detached);
  io.poll();
  REQUIRE(none.failure);
  CHECK(none.failure->is(errc::connect_failed));
  transport.on_request([](const http::request& what) { return scripted_exchange(200).with_chunk(what.body()); });
  log_of_caller some;
  io.restart();
  asio::co_spawn(io, ask(transport, some, "echo"), asio::detached);
  io.poll();
  CHECK(some.said == "200:echo|end");
}

TEST_CASE("failures at the head and in mid-body") {
  asio::io_context io;
  scripted_transport transport;
  transport.add(scripted_exchange::failure(errc::connect_timeout));
  transport.add(scripted_exchange().with_chunk("part").with_failure(errc::connection_lost, "the line is cut"));
  log_of_caller head;
  log_of_caller body;
  asio::co_spawn(io, ask(transport, head), asio::detached);
  asio::co_spawn(io, ask(transport, body), asio::detached);
  io.poll();
  REQUIRE(head.failure);
  CHECK(head.failure->is(errc::connect_timeout));
  CHECK_FALSE(head.failure->message().empty());
  CHECK(body.said == "200:part|");
  REQUIRE(body.failure);
  CHECK(*body.failure == error(errc::connection_lost, "the line is cut"));
  CHECK(transport.open() == 0);
  CHECK(transport.finished() == 0);
  CHECK(transport.cancelled() == 0);
}

TEST_CASE("pauses hold until they are released, each exchange by itself") {
  asio::io_context io;
  scripted_transport transport;
  const auto paused = [] {
    return scripted_exchange().with_pause_before_head().with_chunk("a").with_pause().with_chunk("b");
  };
  transport.add(paused());
  transport.add(paused());
  log_of_caller first;
  log_of_caller second;
  asio::co_spawn(io, ask(transport, first), asio::detached);
  asio::co_spawn(io, ask(transport, second), asio::detached);
  io.poll();
  CHECK(first.said.empty());
  CHECK(transport.open() == 2);
  transport.release(1);
  io.poll();
  CHECK(first.said.empty());
  CHECK(second.said == "200:a|");
  transport.release(0);
  transport.release(0);
  io.poll();
  CHECK(first.said == "200:a|b|end");
  CHECK(second.said == "200:a|");
  CHECK(transport.open() == 1);
  transport.release(99);
  transport.release_all();
  io.poll();
  CHECK(second.said == "200:a|b|end");
  CHECK(transport.finished() == 2);
}

TEST_CASE("cancellation ends an exchange wherever it waits") {
  asio::io_context io;
  scripted_transport transport;
  SUBCASE("before the head") { transport.add(scripted_exchange::silent()); }
  SUBCASE("in a pause before the head") { transport.add(scripted_exchange().with_pause_before_head()); }
  SUBCASE("in the body") { transport.add(scripted_exchange().with_chunk("a").with_silence()); }
  log_of_caller log;
  asio::cancellation_signal signal;
  bool completed = false;
  asio::co_spawn(io, ask(transport, log),
                 asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr) { completed = true; }));
  io.poll();
  CHECK(transport.open() == 1);
  signal.emit(asio::cancellation_type::terminal);
  io.poll();
  CHECK(completed);
  REQUIRE(log.failure);
  CHECK(log.failure->is(errc::cancelled));
  CHECK(transport.open() == 0);
  CHECK(transport.cancelled() == 1);
}

TEST_CASE("a stop ends an exchange wherever it waits, and leaves its caller alone") {
  asio::io_context io;
  scripted_transport transport;
  SUBCASE("before the head") { transport.add(scripted_exchange::silent()); }
  SUBCASE("in a pause before the head") { transport.add(scripted_exchange().with_pause_before_head()); }
  SUBCASE("in the body") { transport.add(scripted_exchange().with_chunk("a").with_silence()); }
  log_of_caller log;
  const auto signal = std::make_shared<stop_signal>();
  bool threw = true;
  asio::co_spawn(io, ask(transport, log, {}, signal), [&](std::exception_ptr thrown) { threw = thrown != nullptr; });
  io.poll();
  CHECK(transport.open() == 1);
  signal->stop(stop_cause::preempted);
  // Closed before the caller has been told.
  CHECK(transport.open() == 0);
  CHECK(transport.cancelled() == 1);
  CHECK_FALSE(log.failure);
  io.poll();
  CHECK_FALSE(threw);
  REQUIRE(log.failure);
  CHECK(log.failure->is(errc::cancelled));
}

TEST_CASE("stopped before it is sent: the script is left alone") {
  asio::io_context io;
  scripted_transport transport;
  transport.add(scripted_exchange(200));
  const auto signal = std::make_shared<stop_signal>();
  signal->stop(stop_cause::run_closed);
  log_of_caller log;
  asio::co_spawn(io, ask(transport, log, {}, signal), asio::detached);
  io.poll();
  REQUIRE(log.failure);
  CHECK(log.failure->is(errc::cancelled));
  CHECK(transport.requests().empty());
  CHECK(transport.unused() == 1);
  CHECK(transport.cancelled() == 0);
}

TEST_CASE("stopped between two reads, or after its end, or when the transport or the response is gone") {
  asio::io_context io;
  auto transport = std::make_unique<scripted_transport>();
  transport->add(scripted_exchange().with_chunk("a"));
  auto signal = std::make_shared<stop_signal>();
  log_of_caller log;
  asio::co_spawn(io, ask_for_head(*transport, log, signal), asio::detached);
  io.poll();
  io.restart();
  REQUIRE(log.kept);
  const auto read = [&] { asio::co_spawn(io, read_on(*log.kept, log), asio::detached); };
  SUBCASE("between two reads") {
    signal->stop(stop_cause::preempted);
    CHECK(transport->open() == 0);
    CHECK(transport->cancelled() == 1);
    read();
    io.poll();
    REQUIRE(log.failure);
    CHECK(log.failure->is(errc::cancelled));
    CHECK(log.said.empty());
  }
  SUBCASE("after its end") {
    read();
    io.poll();
    signal->stop(stop_cause::preempted);
    CHECK(transport->finished() == 1);
    CHECK(transport->cancelled() == 0);
    io.restart();
    read();
    io.poll();
    CHECK(log.said == "a|endend");
  }
  SUBCASE("when the response is gone") {
    log.kept.reset();
    signal->stop(stop_cause::preempted);
    CHECK(transport->cancelled() == 1);
  }
  SUBCASE("when the transport is gone") {
    transport.reset();
    signal->stop(stop_cause::preempted);
    read();
    io.poll();
    CHECK(log.failure->is(errc::cancelled));
  }
  SUBCASE("the signal goes first") {
    transport->release_all();
    signal.reset();
    read();
    io.poll();
    CHECK(log.said == "a|end");
  }
}

TEST_CASE("stopped from another thread") {
  asio::thread_pool pool(2);
  scripted_transport transport;
  transport.on_request([](const http::request&) { return scripted_exchange().with_chunk("a").with_silence(); });
  constexpr std::size_t count = 200;
  std::vector<log_of_caller> logs(count);
  std::vector<std::shared_ptr<stop_signal>> signals;
  for (auto& log : logs) {
    signals.push_back(std::make_shared<stop_signal>());
    asio::co_spawn(pool, ask(transport, log, {}, signals.back()), asio::detached);
  }
  for (const auto& each : signals) each->stop(stop_cause::preempted);
  pool.join();
  CHECK(transport.open() == 0);
  for (const auto& log : logs) {
    REQUIRE(log.failure);
    CHECK(log.failure->is(errc::cancelled));
  }
}

TEST_CASE("dropping a response before its end is a cancellation, after it is not") {
  asio::io_context io;
  scripted_transport transport;
  transport.add(scripted_exchange().with_chunk("a"));
  log_of_caller log;
  asio::co_spawn(io, ask_for_head(transport, log), asio::detached);
  io.poll();
  REQUIRE(log.kept);
  CHECK(transport.open() == 1);
  SUBCASE("before") {
    log.kept.reset();
    CHECK(transport.cancelled() == 1);
    CHECK(transport.finished() == 0);
  }
  SUBCASE("after") {
    io.restart();
    asio::co_spawn(io, read_on(*log.kept, log), asio::detached);
    io.poll();
    log.kept.reset();
    CHECK(transport.cancelled() == 0);
    CHECK(transport.finished() == 1);
  }
  CHECK(transport.open() == 0);
}

TEST_CASE("destroying the transport cancels what is pending, and what is read later") {
  asio::io_context io;
  auto transport = std::make_unique<scripted_transport>();
  transport->add(scripted_exchange::silent());
  transport->add(scripted_exchange().with_chunk("never read"));
  log_of_caller pending;
  log_of_caller later;
  asio::co_spawn(io, ask(*transport, pending), asio::detached);
  asio::co_spawn(io, ask_for_head(*transport, later), asio::detached);
  io.poll();
  REQUIRE(later.kept);
  transport.reset();
  io.poll();
  REQUIRE(pending.failure);
  CHECK(pending.failure->is(errc::cancelled));
  io.restart();
  asio::co_spawn(io, read_on(*later.kept, later), asio::detached);
  io.poll();
  REQUIRE(later.failure);
  CHECK(later.failure->is(errc::cancelled));
}

TEST_CASE("a context may be destroyed while callers wait in it") {
  scripted_transport transport;
  transport.add(scripted_exchange::silent());
  transport.add(scripted_exchange().with_chunk("a").with_pause());
  log_of_caller one;
  log_of_caller two;
  {
    asio::io_context io;
    asio::co_spawn(io, ask(transport, one), asio::detached);
    asio::co_spawn(io, ask(transport, two), asio::detached);
    io.poll();
    CHECK(transport.open() == 2);
  }
  CHECK(transport.open() == 0);
  CHECK(transport.cancelled() == 2);
  transport.release_all();
  CHECK(two.said == "200:a|");
}

TEST_CASE("callers on several threads, released from another") {
  scripted_transport transport;
  transport.on_request([](const http::request&) {
    return scripted_exchange().with_pause_before_head().with_chunk("a").with_pause().with_chunk("b");
  });
  asio::thread_pool pool(3);
  constexpr std::size_t count = 200;
  std::vector<log_of_caller> logs(count);
  std::atomic<std::size_t> done = 0;
  for (auto& log : logs) {
    asio::co_spawn(pool, ask(transport, log), [&](std::exception_ptr) { ++done; });
  }
  while (transport.requests().size() < count) std::this_thread::yield();
  for (std::size_t i = 0; i < count; ++i) transport.release(i);
  transport.release_all();
  pool.join();
  CHECK(done == count);
  CHECK(transport.finished() == count);
  for (const auto& log : logs) CHECK(log.said == "200:a|b|end");
}
