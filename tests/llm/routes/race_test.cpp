#include "llm/routes/race.hpp"

#include "llm/call_fixture.hpp"

#include <sluice/runtime/sleep.hpp>

#include <doctest/doctest.h>
#include <asio/detached.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

using namespace std::chrono_literals;
using sluice::duration;
using sluice::errc;
using sluice::instant;
using sluice::llm::failure;
using sluice::llm::detail::race;
using sluice::llm::detail::race_guard;
using result = sluice::expected<int, failure>;

namespace {

enum class way { value, failure, exception };

struct track {
  int running = 0;
  int ended = 0;
};

struct counted {
  explicit counted(track& which) : of(which) { ++of.running; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() {
    --of.running;
    ++of.ended;
  }
  track& of;
};

struct runs {
  sluice::testing::manual_time_source time;
  asio::io_context loop{1};
  track tracks;
  std::optional<result> got;
  std::size_t winner = race<int>::nobody;
  bool ended = false;
  std::exception_ptr thrown;
  asio::cancellation_signal cancel;

  asio::awaitable<result> attempt(duration length, int value, way how = way::value) {
    const counted here(tracks);
    co_await sluice::sleep_until(time, time.now() + length);
    if (how == way::exception) throw std::runtime_error("odd");
    if (how == way::failure)
      co_return sluice::unexpected<failure>(failure(errc::connect_failed, std::to_string(value)));
    co_return value;
  }

  asio::awaitable<void> both(asio::awaitable<result> first, asio::awaitable<result> second, duration delay) {
    const auto executor = co_await asio::this_coro::executor;
    const auto attempts = std::make_shared<race<int>>(executor, time);
    const race_guard<int> guard(attempts);
    attempts->start(0, std::move(first));
    if (!co_await attempts->run_to(time.now() + delay)) {
      attempts->start(1, std::move(second));
      static_cast<void>(co_await attempts->run_to(sluice::never));
    }
    CHECK(tracks.running == 0);
    winner = attempts->winner();
    const auto& of = attempts->at(winner == race<int>::nobody ? 0 : winner);
    if (of.answered) got = *of.answered;
    if (of.thrown) thrown = of.thrown;
  }

  void start(asio::awaitable<result> first, asio::awaitable<result> second, duration delay = 10ms) {
    asio::co_spawn(loop, both(std::move(first), std::move(second), delay),
                   asio::bind_cancellation_slot(cancel.slot(), [this](std::exception_ptr) { ended = true; }));
    poll();
  }
  void poll() {
    loop.restart();
    loop.poll();
  }
  void advance(duration length) {
    for (duration gone{}; gone < length; gone += 1ms) {
      time.advance(1ms);
      poll();
    }
  }
};

}  // namespace

TEST_CASE("the first to succeed wins, the other one has stopped by then") {
  runs r;
  SUBCASE("the first one, alone") {
    r.start(r.attempt(5ms, 1), r.attempt(1ms, 2));
    r.advance(5ms);
    CHECK(r.winner == 0);
    CHECK(r.tracks.ended == 1);
  }
  SUBCASE("the first one, beside the second") {
    r.start(r.attempt(15ms, 1), r.attempt(100ms, 2));
    r.advance(14ms);
    CHECK(r.tracks.running == 2);
    CHECK_FALSE(r.ended);
    r.advance(1ms);
    CHECK(r.winner == 0);
    CHECK(r.tracks.ended == 2);
  }
  SUBCASE("the second one") {
    r.start(r.attempt(100ms, 1), r.attempt(5ms, 2));
    r.advance(15ms);
    CHECK(r.winner == 1);
    CHECK(r.tracks.ended == 2);
  }
  CHECK(r.ended);
  REQUIRE((r.got && r.got->has_value()));
  CHECK(**r.got == static_cast<int>(r.winner) + 1);
  CHECK(r.time.armed() == 0);
}

TEST_CASE("a failure does not win, whichever comes first, and however it comes") {
  for (const way how : {way::failure, way::exception}) {
    {
      runs r;
      r.start(r.attempt(15ms, 1, how), r.attempt(20ms, 2));
      r.advance(29ms);
      CHECK_FALSE(r.ended);
      r.advance(1ms);
      CHECK(r.ended);
      CHECK(r.winner == 1);
    }
    {
      runs r;
      r.start(r.attempt(40ms, 1), r.attempt(1ms, 2, how));
      r.advance(39ms);
      CHECK_FALSE(r.ended);
      r.advance(1ms);
      CHECK(r.winner == 0);
    }
  }
}

TEST_CASE("when neither succeeds nobody has won, and both have ended") {
  runs r;
  r.start(r.attempt(15ms, 1, way::failure), r.attempt(30ms, 2, way::failure));
  r.advance(39ms);
  CHECK_FALSE(r.ended);
  r.advance(1ms);
  CHECK(r.ended);
  CHECK(r.winner == race<int>::nobody);
  CHECK(r.got->error().message() == "1");
}

TEST_CASE("both at one instant: one has won") {
  runs r;
  r.start(r.attempt(20ms, 1), r.attempt(10ms, 2));
  r.advance(20ms);
  CHECK(r.ended);
  CHECK(r.winner != race<int>::nobody);
  CHECK(r.tracks.running == 0);
}

TEST_CASE("the caller's cancellation stops both, at whatever time it comes") {
  for (const duration when : {0ms, 5ms, 10ms, 12ms}) {
    CAPTURE(when.count());
    runs r;
    r.start(r.attempt(100ms, 1), r.attempt(100ms, 2));
    r.advance(when);
    const int begun = r.tracks.running;
    CHECK(begun == (when >= 10ms ? 2 : 1));
    r.cancel.emit(asio::cancellation_type::terminal);
    CHECK_FALSE(r.ended);
    r.poll();
    CHECK(r.ended);
    CHECK(r.winner == race<int>::nobody);
    CHECK(r.tracks.running == 0);
    CHECK(r.tracks.ended == begun);
    CHECK(r.time.armed() == 0);
  }
}

TEST_CASE("a cancellation in the turn in which the delay has passed is not lost") {
  runs r;
  r.start(r.attempt(100ms, 1), r.attempt(100ms, 2));
  r.time.advance(10ms);
  // The caller has been woken for the second attempt, and has not run.
  r.cancel.emit(asio::cancellation_type::terminal);
  r.poll();
  CHECK(r.ended);
  CHECK(r.tracks.running == 0);
  CHECK(r.tracks.ended == 1);
  CHECK(r.time.armed() == 0);
}

TEST_CASE("a context that is destroyed takes both attempts with it") {
  runs r;
  auto other = std::make_unique<asio::io_context>();
  asio::co_spawn(*other, r.both(r.attempt(100ms, 1), r.attempt(100ms, 2), 10ms), asio::detached);
  other->poll();
  r.time.advance(12ms);
  other->restart();
  other->poll();
  CHECK(r.tracks.running == 2);
  other.reset();
  CHECK(r.tracks.running == 0);
  CHECK(r.time.armed() == 0);
}
