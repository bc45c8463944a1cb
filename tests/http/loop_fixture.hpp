/// \file
/// `loop_fixture`: one loop, a clock that stands still, and a client, all on the test's thread.
#pragma once

#include "http/raw_server.hpp"

#include <sluice/http/curl_transport.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>

#include <dirent.h>

#include <exception>
#include <memory>
#include <optional>

namespace sluice::http::test {

/// How many descriptors this process has open.
[[nodiscard]] inline int open_descriptors() {
  int count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

/// An operation that was started and may be cancelled; its result comes in `value` (or `failure`).
template <typename T>
struct started {
  std::optional<T> value;
  std::exception_ptr failure;
  bool ended = false;
  asio::cancellation_signal cancel;
};

class loop_fixture {
 public:
  asio::io_context loop{1};
  testing::manual_time_source time;
  std::unique_ptr<transport> client = make_curl_transport(loop.get_executor(), time);

  template <typename T>
  [[nodiscard]] std::shared_ptr<started<T>> start(asio::awaitable<T> what) {
    auto state = std::make_shared<started<T>>();
    asio::co_spawn(loop, std::move(what),
                   asio::bind_cancellation_slot(state->cancel.slot(), [state](std::exception_ptr failure, T value) {
                     state->ended = true;
                     state->failure = failure;
                     if (!failure) state->value.emplace(std::move(value));
                   }));
    return state;
  }

  template <typename Condition>
  void run_until(Condition reached) {
    while (!reached()) {
      // A loop without work can never reach it: better a failed test than a hang.
      if (loop.run_one() == 0) throw std::runtime_error("the loop ran out of work");
    }
  }

  template <typename T>
  [[nodiscard]] T run(asio::awaitable<T> what) {
    auto state = start(std::move(what));
    run_until([&] { return state->ended; });
    if (state->failure) std::rethrow_exception(state->failure);
    return *std::move(state->value);
  }
};

/// An answer that was read to its end.
struct whole {
  whole() = default;
  int status = 0;
  std::string body;
  error failure;
};

/// Awaits what `send` gave, and reads to the end.
[[nodiscard]] inline asio::awaitable<whole> finish(
    asio::awaitable<expected<std::unique_ptr<response>, error>> sending) {
  whole result;
  auto head = co_await std::move(sending);
  if (!head) {
    result.failure = head.error();
    co_return result;
  }
  result.status = (*head)->status();
  auto body = co_await read_all(**head);
  if (body) {
    result.body = *std::move(body);
  } else {
    result.failure = body.error();
  }
  co_return result;
}

/// Both: the transport is needed only until this returns.
[[nodiscard]] inline asio::awaitable<whole> fetch(transport& client, request what) {
  return finish(client.send(std::move(what)));
}

}  // namespace sluice::http::test
