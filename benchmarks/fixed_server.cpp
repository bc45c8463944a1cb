#include "fixed_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <system_error>

namespace bars {
namespace {

void pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

/// The length of the whole request that `text` begins with, or zero when some of it is missing.
std::size_t whole_request(std::string_view text) {
  const std::size_t head = text.find("\r\n\r\n");
  if (head == std::string_view::npos) return 0;
  constexpr std::string_view name = "Content-Length: ";
  const std::size_t place = text.find(name);
  const std::size_t body = place < head ? std::strtoul(text.data() + place + name.size(), nullptr, 10) : 0;
  return text.size() >= head + 4 + body ? head + 4 + body : 0;
}

[[noreturn]] void serve(int listener) {
  const std::string reply =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(answer().size()) +
      "\r\n\r\n" + answer();
  std::map<int, std::string> unread;
  const int poller = ::epoll_create1(0);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = listener;
  ::epoll_ctl(poller, EPOLL_CTL_ADD, listener, &wanted);
  for (;;) {
    epoll_event ready[64];
    const int count = ::epoll_wait(poller, ready, 64, -1);
    for (int n = 0; n < count; ++n) {
      const int from = ready[n].data.fd;
      if (from == listener) {
        const int connection = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
        if (connection < 0) continue;
        const int on = 1;
        ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        wanted.data.fd = connection;
        ::epoll_ctl(poller, EPOLL_CTL_ADD, connection, &wanted);
        continue;
      }
      char bytes[16'384];
      const ssize_t got = ::read(from, bytes, sizeof bytes);
      if (got <= 0) {
        ::close(from);
        unread.erase(from);
        continue;
      }
      std::string& text = unread[from];
      text.append(bytes, static_cast<std::size_t>(got));
      while (const std::size_t length = whole_request(text)) {
        text.erase(0, length);
        if (::write(from, reply.data(), reply.size()) != static_cast<ssize_t>(reply.size())) std::_Exit(1);
      }
    }
  }
}

}  // namespace

const std::string& question() {
  static const std::string text =
      R"({"model":"fixed","messages":[{"role":"user","content":")" + std::string(200, 'q') + R"("}],"max_tokens":400})";
  return text;
}

const std::string& answer() {
  static const std::string text =
      R"({"id":"1","object":"chat.completion","created":1,"model":"fixed","choices":[{"index":0,"message":{"role":"assistant","content":")" +
      std::string(400, 'a') +
      R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":100,"total_tokens":150}})";
  return text;
}

fixed_server::fixed_server() {
  const int listener = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  checked(::bind(listener, reinterpret_cast<sockaddr*>(&address), length), "bind");
  checked(::listen(listener, 512), "listen");
  checked(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), "getsockname");
  url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1/chat/completions";
  process_ = checked(::fork(), "fork");
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::sysconf(_SC_NPROCESSORS_ONLN) > 1) pin_to(0);
    serve(listener);
  }
  ::close(listener);
}

fixed_server::~fixed_server() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void move_away_from_server() {
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (processors > 1) pin_to(static_cast<int>(processors) - 1);
}

}  // namespace bars
