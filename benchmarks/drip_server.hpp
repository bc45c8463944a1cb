/// \file
/// The provider of the bars about streams: another process, whose answers come a little at a time.
#pragma once

#include <string>

namespace bars {

/// An HTTP/1.1 server on loopback, in a process of its own, pinned to the first processor where there is more than one.
/// Every request is answered with a stream of chat completion events, 20 a second, that has no end. It ends with this
/// object, and with this process.
class drip_server {
 public:
  drip_server();
  drip_server(const drip_server&) = delete;
  drip_server& operator=(const drip_server&) = delete;
  ~drip_server();

  /// The base URL.
  [[nodiscard]] const std::string& url() const noexcept { return url_; }

  static constexpr int events_a_second = 20;

 private:
  std::string url_;
  int process_ = -1;
};

/// What an event says.
[[nodiscard]] const std::string& dripped_event();

}  // namespace bars
