/// \file
/// The provider of the HTTP bar: another process that gives every request the same answer.
#pragma once

#include <string>

namespace bars {

/// An HTTP/1.1 server on loopback, keep-alive, in a process of its own, pinned to the first processor where there is
/// more than one. It ends with this object, and with this process.
class fixed_server {
 public:
  fixed_server();
  fixed_server(const fixed_server&) = delete;
  fixed_server& operator=(const fixed_server&) = delete;
  ~fixed_server();

  [[nodiscard]] const std::string& url() const noexcept { return url_; }

 private:
  std::string url_;
  int process_ = -1;
};

/// What is asked, and how many bytes the answer's body has.
[[nodiscard]] const std::string& question();
[[nodiscard]] const std::string& answer();

/// Runs this thread on the last processor from now on, away from the server.
void move_away_from_server();

}  // namespace bars
