/// \file
/// `socket_watch`: Asio's registration of a descriptor that libcurl owns.
#pragma once

#include <asio/posix/stream_descriptor.hpp>

#include <curl/curl.h>
#include <sys/stat.h>

#include <cstdint>

namespace sluice::http {

/// Waits are one-shot, and one at a time in each direction. The registration may outlive libcurl's interest, so that a
/// kept-alive connection costs no system call to come back; the descriptor itself is never closed here.
class socket_watch {
 public:
  /// Throws `std::system_error` when the descriptor cannot be registered.
  socket_watch(const asio::any_io_executor& executor, curl_socket_t socket, std::uint64_t generation)
      : descriptor_(executor, socket), inode_(inode_of(socket)), generation_(generation) {}
  socket_watch(const socket_watch&) = delete;
  socket_watch& operator=(const socket_watch&) = delete;
  ~socket_watch() {
    if (descriptor_.is_open()) descriptor_.release();
  }

  /// False when the number has meanwhile become another socket.
  [[nodiscard]] bool is_same_socket(curl_socket_t socket) const noexcept { return inode_of(socket) == inode_; }

  [[nodiscard]] asio::posix::stream_descriptor& descriptor() noexcept { return descriptor_; }
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

  /// The directions that libcurl wants, and those that a wait is pending for (`CURL_CSELECT_IN`, `CURL_CSELECT_OUT`).
  int wanted = 0;
  int pending = 0;
  /// In the engine's list of watches that may need a wait.
  bool touched = false;

 private:
  [[nodiscard]] static ino_t inode_of(curl_socket_t socket) noexcept {
    struct stat facts {};
    return ::fstat(socket, &facts) == 0 ? facts.st_ino : 0;
  }

  asio::posix::stream_descriptor descriptor_;
  ino_t inode_;
  std::uint64_t generation_;
};

}  // namespace sluice::http
