/// \file
/// A blocking HTTP/1.1 client for tests: sends one request, and shows the answer byte for byte.
#pragma once

#include <asio.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::testing {

/// What came back.
struct loopback_reply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  /// Without the framing of chunks.
  std::string body;
  /// The answer came to its proper end.
  bool whole = false;

  [[nodiscard]] std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

class loopback_client {
 public:
  explicit loopback_client(std::uint16_t port) : socket_(context_) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
  }

  void send(std::string_view method, std::string_view target, std::string_view body = {},
            std::string_view header_lines = {}) {
    std::string text(method);
    text += " ";
    text += target;
    text += " HTTP/1.1\r\nhost: localhost\r\n";
    text += header_lines;
    if (method == "POST")
      text += "content-type: application/json\r\ncontent-length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n";
    text += body;
    asio::error_code failure;
    asio::write(socket_, asio::buffer(text), failure);
  }

  /// Reads until `mark` has come (true) or the connection has ended; keeps all for `read`.
  bool wait_for(std::string_view mark) {
    while (buffer_.find(mark) == std::string::npos) {
      if (!more()) return false;
    }
    return true;
  }

  /// The next answer, as far as it comes.
  loopback_reply read() {
    loopback_reply reply;
    if (!wait_for("\r\n\r\n")) return reply;
    auto head = take(buffer_.find("\r\n\r\n") + 2);
    take(2);
    reply.status = std::stoi(head.substr(head.find(' ')));
    head.erase(0, head.find("\r\n") + 2);
    while (!head.empty()) {
      const auto colon = head.find(": ");
      const auto end = head.find("\r\n");
      reply.headers.emplace_back(head.substr(0, colon), head.substr(colon + 2, end - colon - 2));
      head.erase(0, end + 2);
    }
    if (reply.header("transfer-encoding") == "chunked") {
      read_chunks(reply);
    } else if (const auto length = reply.header("content-length"); !length.empty()) {
      const auto size = static_cast<std::size_t>(std::stoul(length));
      while (buffer_.size() < size && more()) {
      }
      reply.whole = buffer_.size() >= size;
      reply.body = take(std::min(size, buffer_.size()));
    }
    return reply;
  }

  loopback_reply ask(std::string_view method, std::string_view target, std::string_view body = {},
                     std::string_view header_lines = {}) {
    send(method, target, body, header_lines);
    return read();
  }

  /// Waits for the peer to close; false when it sends something instead.
  bool wait_closed() {
    if (!buffer_.empty()) return false;
    return !more();
  }

  void close() { socket_.close(); }

  /// Everything that came and was not read yet.
  [[nodiscard]] const std::string& pending() const noexcept { return buffer_; }

 private:
  bool more() {
    char bytes[4096];
    asio::error_code failure;
    const auto count = socket_.read_some(asio::buffer(bytes), failure);
    buffer_.append(bytes, count);
    return !failure;
  }

  std::string take(std::size_t count) {
    auto taken = buffer_.substr(0, count);
    buffer_.erase(0, count);
    return taken;
  }

  void read_chunks(loopback_reply& reply) {
    for (;;) {
      while (buffer_.find("\r\n") == std::string::npos) {
        if (!more()) return;
      }
      const auto line = take(buffer_.find("\r\n") + 2);
      const auto size = static_cast<std::size_t>(std::stoul(line, nullptr, 16));
      while (buffer_.size() < size + 2) {
        if (!more()) {
          reply.body += take(std::min(size, buffer_.size()));
          return;
        }
      }
      reply.body += take(size);
      take(2);
      if (size == 0) {
        reply.whole = true;
        return;
      }
    }
  }

  asio::io_context context_;
  asio::ip::tcp::socket socket_;
  std::string buffer_;
};

}  // namespace sluice::testing
