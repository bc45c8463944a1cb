#include "drip_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <vector>

namespace bars {
namespace {

// Connections take turns, so that not all of them are written to in one go.
constexpr std::size_t groups = 10;

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

void pin_to_first() {
  if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

std::string chunked(const std::string& data) {
  std::array<char, 16> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", data.size());
  return size.data() + data + "\r\n";
}

void watch(int poller, int what) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = what;
  ::epoll_ctl(poller, EPOLL_CTL_ADD, what, &wanted);
}

[[noreturn]] void serve(int listener) {
  const std::string head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" +
                           chunked(dripped_event());
  const std::string event = chunked(dripped_event());
  std::array<std::vector<int>, groups> streams;
  std::size_t turn = 0;
  std::size_t next_group = 0;

  const int ticks = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  itimerspec every{};
  every.it_interval.tv_nsec = 1'000'000'000L / drip_server::events_a_second / static_cast<long>(groups);
  every.it_value = every.it_interval;
  ::timerfd_settime(ticks, 0, &every, nullptr);
  const int poller = ::epoll_create1(EPOLL_CLOEXEC);
  watch(poller, listener);
  watch(poller, ticks);
  for (;;) {
    std::array<epoll_event, 64> ready{};
    const int count = ::epoll_wait(poller, ready.data(), static_cast<int>(ready.size()), -1);
    for (int n = 0; n < count; ++n) {
      const int from = ready[static_cast<std::size_t>(n)].data.fd;
      if (from == listener) {
        const int connection = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (connection < 0) continue;
        const int on = 1;
        ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(poller, connection);
      } else if (from == ticks) {
        std::uint64_t passed = 0;
        if (::read(ticks, &passed, sizeof passed) != sizeof passed) std::_Exit(1);
        for (; passed > 0; --passed, ++turn) {
          for (const int stream : streams[turn % groups]) {
            if (::write(stream, event.data(), event.size()) != static_cast<ssize_t>(event.size())) std::_Exit(1);
          }
        }
      } else {
        // The requests are small: each comes in one piece.
        std::array<char, 16'384> bytes{};
        if (::read(from, bytes.data(), bytes.size()) <= 0) {
          for (auto& group : streams) group.erase(std::remove(group.begin(), group.end(), from), group.end());
          ::close(from);
        } else if (::write(from, head.data(), head.size()) == static_cast<ssize_t>(head.size())) {
          streams[next_group++ % groups].push_back(from);
        }
      }
    }
  }
}

}  // namespace

const std::string& dripped_event() {
  static const std::string text =
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"drip","choices":[{"index":0,"delta":{"content":" and so on"},"finish_reason":null}],"usage":null})"
      "\n\n";
  return text;
}

drip_server::drip_server() {
  const int listener = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  checked(::bind(listener, reinterpret_cast<sockaddr*>(&address), length), "bind");
  checked(::listen(listener, 4'096), "listen");
  checked(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), "getsockname");
  url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1";
  process_ = checked(::fork(), "fork");
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    pin_to_first();
    serve(listener);
  }
  ::close(listener);
}

drip_server::~drip_server() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace bars
