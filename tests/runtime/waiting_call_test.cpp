#include "runtime/waiting_call.hpp"

#include <sluice/testing/manual_time_source.hpp>

#include <doctest/doctest.h>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using sluice::instant;
using sluice::detail::waiting_call;
using ending = waiting_call::ending;

namespace {

class place final : public waiting_call {
 public:
  using waiting_call::waiting_call;
  std::vector<ending> wishes;
  bool lets_go = true;

 private:
  bool leave(ending why) noexcept override {
    wishes.push_back(why);
    return lets_go;
  }
};

struct house {
  sluice::testing::manual_time_source time;
  std::unique_ptr<asio::io_context> loop = std::make_unique<asio::io_context>(1);
  std::shared_ptr<place> here = std::make_shared<place>(time);
  std::optional<ending> ended;
  std::vector<int> frames;
  asio::cancellation_signal cancel;

  void start(instant until = sluice::never) {
    asio::co_spawn(*loop, wait(until), asio::bind_cancellation_slot(cancel.slot(), asio::detached));
    poll();
  }
  asio::awaitable<void> wait(instant until) {
    struct frame {
      std::vector<int>& of;
      explicit frame(std::vector<int>& all) : of(all) { of.push_back(1); }
      ~frame() { of.pop_back(); }
    } const counted(frames);
    const auto mine = here;
    ended = co_await mine->wait(until);
  }
  void poll() {
    loop->restart();
    loop->poll();
  }
};

}  // namespace

TEST_CASE("woken, once, and never within the call that wakes") {
  house h;
  h.start();
  CHECK_FALSE(h.ended);
  h.here->wake();
  CHECK_FALSE(h.ended);
  h.here->wake();
  h.poll();
  CHECK(h.ended == ending::woken);
  CHECK(h.here->wishes.empty());
}

TEST_CASE("a wake that came before it waits is not lost, unless it prepares anew") {
  house h;
  h.here->wake();
  SUBCASE("not lost") {
    h.start();
    CHECK(h.ended == ending::woken);
  }
  SUBCASE("forgotten") {
    h.here->prepare();
    h.start();
    CHECK_FALSE(h.ended);
    h.here->wake();
    h.poll();
    CHECK(h.ended == ending::woken);
  }
}

TEST_CASE("its instant, or a cancellation, lets it go at once") {
  house h;
  h.start(h.time.now() + 5s);
  CHECK(h.time.armed() == 1);
  SUBCASE("late") {
    h.time.advance(5s);
    h.poll();
    CHECK(h.ended == ending::late);
  }
  SUBCASE("cancelled") {
    h.cancel.emit(asio::cancellation_type::terminal);
    h.poll();
    CHECK(h.ended == ending::cancelled);
  }
  SUBCASE("neither") {
    h.cancel.emit(asio::cancellation_type::none);
    h.time.advance(4s);
    h.poll();
    CHECK_FALSE(h.ended);
    h.here->wake();
    h.poll();
    CHECK(h.ended == ending::woken);
  }
  CHECK(h.time.armed() == 0);
}

TEST_CASE("it may be held until it is woken; then the first reason counts") {
  house h;
  h.here->lets_go = false;
  h.start(h.time.now() + 5s);
  h.time.advance(5s);
  h.cancel.emit(asio::cancellation_type::terminal);
  h.poll();
  CHECK_FALSE(h.ended);
  CHECK(h.here->wishes == std::vector<ending>{ending::late});
  h.here->wake();
  h.poll();
  CHECK(h.ended == ending::late);
}

TEST_CASE("a cancellation after its end, and between two waits, does nothing") {
  house h;
  h.start();
  h.here->wake();
  h.poll();
  h.cancel.emit(asio::cancellation_type::terminal);
  CHECK(h.here->wishes.empty());
}

TEST_CASE("its context may go while it waits, and its clock, too") {
  SUBCASE("the context") {
    house h;
    h.start(h.time.now() + 5s);
    CHECK(h.frames.size() == 1);
    h.loop.reset();
    CHECK(h.frames.empty());
    CHECK_FALSE(h.ended);
    h.here->wake();
    CHECK(h.here.use_count() == 1);
    h.here.reset();
    CHECK(h.time.armed() == 0);
  }
  SUBCASE("the clock") {
    asio::io_context loop;
    auto time = std::make_unique<sluice::testing::manual_time_source>();
    const auto here = std::make_shared<place>(*time);
    std::optional<ending> ended;
    const auto wait = [&](instant until) -> asio::awaitable<void> { ended = co_await here->wait(until); };
    asio::co_spawn(loop, wait(time->now() + 5s), asio::detached);
    loop.poll();
    time.reset();
    here->wake();
    loop.restart();
    loop.poll();
    CHECK(ended == ending::woken);
  }
}

TEST_CASE("many threads wake, cancel and run the clock at once: it ends, once") {
  for (int round = 0; round < 200; ++round) {
    house h;
    h.start(h.time.now() + 1s);
    std::thread clock([&] { h.time.advance(1s); });
    std::thread waker([&] { h.here->wake(); });
    h.cancel.emit(asio::cancellation_type::terminal);
    clock.join();
    waker.join();
    h.poll();
    CHECK(h.ended.has_value());
    CHECK(h.here->wishes.size() <= 2);
    CHECK(h.frames.empty());
  }
}
