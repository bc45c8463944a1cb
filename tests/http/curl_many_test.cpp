#include "http/loop_fixture.hpp"

#include <doctest/doctest.h>
#include <asio/post.hpp>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Their allocators do not tell what is in use.
constexpr bool counts_memory = false;
#else
constexpr bool counts_memory = true;
#endif

std::size_t bytes_in_use() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

constexpr std::size_t streams = 2'000;

bool has_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const bool enough = limit.rlim_max >= 2 * streams + 200;
  if (!enough) MESSAGE("this system allows too few descriptors: not tested");
  return enough;
}

}  // namespace

TEST_CASE_FIXTURE(loop_fixture, "two thousand streams at once: all end, and each takes little memory") {
  if (!has_descriptors()) return;
  std::vector<raw_connection*> waiting;
  asio::steady_timer bell(loop, asio::steady_timer::time_point::max());
  bool may_end = false;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    static_cast<void>(co_await c.read_request());
    co_await c.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("data: 1\n\n"));
    while (!may_end) {
      asio::error_code rung;
      co_await bell.async_wait(asio::redirect_error(asio::use_awaitable, rung));
    }
    co_await c.write(chunk("data: 2\n\n") + chunk(""));
    co_await c.closed();
  });
  std::size_t open = 0;
  const auto follow = [&]() -> asio::awaitable<std::string> {
    request what("POST", server.url());
    what.set_body(std::string(2'000, 'b'));
    auto head = co_await client->send(std::move(what));
    if (!head) co_return head.error().message();
    auto first = co_await (*head)->read();
    if (!first) co_return first.error().message();
    ++open;
    auto rest = co_await read_all(**head);
    co_return *first + (rest ? *rest : rest.error().message());
  };
  const std::size_t before = bytes_in_use();
  std::vector<std::shared_ptr<started<std::string>>> all;
  for (std::size_t i = 0; i < streams; ++i) all.push_back(start(follow()));
  run_until([&] { return open == streams; });
  const std::size_t each = (bytes_in_use() - before) / streams;
  if (counts_memory) {
    // The server's share is in it.
    MESSAGE("bytes for each stream: ", each);
    CHECK(each < 40 * 1024);
  }
  may_end = true;
  bell.cancel();
  run_until([&] { return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->ended; }); });
  CHECK(std::all_of(all.begin(), all.end(),
                    [](const auto& one) { return one->value.value() == "data: 1\n\ndata: 2\n\n"; }));
  CHECK(time.armed() == 0);
}

TEST_CASE_FIXTURE(loop_fixture, "two thousand streams given up at once leave nothing behind") {
  if (!has_descriptors()) return;
  const int before = open_descriptors();
  std::size_t asked = 0;
  raw_server server(loop, [&](raw_connection& c) -> asio::awaitable<void> {
    static_cast<void>(co_await c.read_request());
    ++asked;
    co_await c.closed();
  });
  std::vector<std::shared_ptr<started<whole>>> all;
  for (std::size_t i = 0; i < streams; ++i) all.push_back(start(fetch(*client, request("GET", server.url()))));
  run_until([&] { return asked == streams; });
  for (const auto& one : all) one->cancel.emit(asio::cancellation_type::terminal);
  run_until([&] { return server.open() == 0; });
  run_until([&] { return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->ended; }); });
  CHECK(std::all_of(all.begin(), all.end(),
                    [](const auto& one) { return one->value.value().failure.is(errc::cancelled); }));
  CHECK(time.armed() == 0);
  // The server's own socket.
  CHECK(open_descriptors() == before + 1);
}
