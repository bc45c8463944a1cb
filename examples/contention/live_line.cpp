#include "live_line.hpp"

#include "experiment.hpp"
#include "figures.hpp"

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <system_error>

namespace contention {
namespace {

using namespace std::chrono_literals;

std::string of_class(const char* name, const sluice::class_statistics& now, std::int64_t waiting_for_limit) {
  return std::string(name) + ' ' + with_commas(now.in_flight) + " running " +
         with_commas(now.waiting + waiting_for_limit) + " waiting";
}

}  // namespace

live_line::live_line(const asio::any_io_executor& executor, const arm_result& result, const caller& calls, bool quiet)
    : result_(result),
      calls_(calls),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      timer_(executor),
      start_(std::chrono::steady_clock::now()) {}

asio::awaitable<void> live_line::run() {
  while (!quiet_ && !stopped_) {
    timer_.expires_after(terminal_ ? 200ms : 5000ms);
    std::error_code stopped;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, stopped));
    if (!stopped) show();
  }
}

void live_line::stop() {
  stopped_ = true;
  timer_.cancel();
  if (terminal_ && !quiet_) std::fputs("\r\x1b[K", stderr);
}

std::string live_line::text() const {
  const auto now = calls_.gate().statistics();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_);
  return result_.name + ' ' + std::to_string(seconds.count()) + " s | " +
         of_class("chats:", now[sluice::interactive], calls_.waiting(sluice::interactive)) + " | " +
         of_class("agents:", now[sluice::batch], calls_.waiting(sluice::batch)) + " | tokens held " +
         with_commas(now.all.held.tokens) + " | 429s " + with_commas(result_.chats.too_many + result_.agents.too_many);
}

void live_line::show() const {
  auto line = text();
  // A line that wraps could not be rewritten in place.
  winsize window{};
  if (terminal_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1) {
    line.resize(std::min<std::size_t>(line.size(), window.ws_col - 1U));
  }
  std::fprintf(stderr, terminal_ ? "\r\x1b[K%s" : "%s\n", line.c_str());
  std::fflush(stderr);
}

}  // namespace contention
