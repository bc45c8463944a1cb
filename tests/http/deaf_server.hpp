/// \file
/// `deaf_server`: a port on loopback where connecting never ends.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

namespace sluice::http::test {

/// It listens and never accepts, and its line of waiting connections is full: the kernel drops all further attempts.
class deaf_server {
 public:
  deaf_server() {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    if (::bind(listener_, address(), size) != 0 || ::listen(listener_, 0) != 0 ||
        ::getsockname(listener_, address(), &size) != 0) {
      throw std::runtime_error("cannot listen on loopback");
    }
    for (int& filler : fillers_) {
      filler = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      // In progress for ever, but for the first.
      static_cast<void>(::connect(filler, address(), size));
    }
  }
  ~deaf_server() {
    for (const int filler : fillers_) ::close(filler);
    ::close(listener_);
  }
  deaf_server(const deaf_server&) = delete;
  deaf_server& operator=(const deaf_server&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port()) + "/"; }
  [[nodiscard]] unsigned short port() const { return ntohs(address_.sin_port); }

 private:
  [[nodiscard]] sockaddr* address() { return reinterpret_cast<sockaddr*>(&address_); }

  int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address_{};
  std::array<int, 4> fillers_{};
};

}  // namespace sluice::http::test
