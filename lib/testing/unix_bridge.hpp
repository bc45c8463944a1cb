/// \file
/// `unix_bridge`: lets a server on loopback be reached over a Unix socket as well.
#pragma once

#include <asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace sluice::testing {

/// Each connection to `path` becomes one to 127.0.0.1:`port`, and each byte goes on as it comes; when one side ends, so
/// does the other. Listens when it is constructed; a socket that was left at `path` is replaced, and it is removed at
/// the end. `context` must be run by one thread; to be destroyed when nobody runs it any more, before it. Throws
/// `error_exception` when it cannot listen.
class unix_bridge {
 public:
  unix_bridge(asio::io_context& context, std::string path, std::uint16_t port);
  unix_bridge(const unix_bridge&) = delete;
  unix_bridge& operator=(const unix_bridge&) = delete;
  ~unix_bridge();

 private:
  class listener;
  std::unique_ptr<listener> listener_;
};

}  // namespace sluice::testing
