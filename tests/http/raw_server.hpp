/// \file
/// `raw_server`: a server on loopback that sends exactly the bytes that a test tells it to, for faults that no
/// well-behaved server would commit.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read_until.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::http::test {

/// One accepted connection. Nothing throws: a broken connection shows in the results.
class raw_connection {
 public:
  raw_connection(asio::ip::tcp::socket socket, int number) : socket_(std::move(socket)), number_(number) {}

  /// Which connection of the server this is, from 1.
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] asio::ip::tcp::socket& socket() noexcept { return socket_; }

  /// The next request, head and body; empty when the client has closed.
  [[nodiscard]] asio::awaitable<std::string> read_request() {
    asio::error_code wrong;
    const std::size_t head = co_await asio::async_read_until(socket_, asio::dynamic_buffer(input_), "\r\n\r\n",
                                                             asio::redirect_error(asio::use_awaitable, wrong));
    if (wrong) co_return std::string();
    const std::size_t size = head + content_length(std::string_view(input_).substr(0, head));
    while (input_.size() < size) {
      char part[4096];
      const std::size_t got =
          co_await socket_.async_read_some(asio::buffer(part), asio::redirect_error(asio::use_awaitable, wrong));
      if (wrong) co_return std::string();
      input_.append(part, got);
    }
    std::string request = input_.substr(0, size);
    input_.erase(0, size);
    co_return request;
  }

  /// Sends `bytes`; false when the client has gone.
  [[nodiscard]] asio::awaitable<bool> write(std::string bytes) {
    asio::error_code wrong;
    co_await asio::async_write(socket_, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, wrong));
    co_return !wrong;
  }

  /// Completes when the client has closed or reset the connection; what it still sends is thrown away.
  [[nodiscard]] asio::awaitable<void> closed() {
    asio::error_code wrong;
    char part[4096];
    while (!wrong) {
      co_await socket_.async_read_some(asio::buffer(part), asio::redirect_error(asio::use_awaitable, wrong));
    }
  }

 private:
  static std::size_t content_length(std::string_view head) {
    constexpr std::string_view name = "\r\nContent-Length: ";
    const std::size_t at = head.find(name);
    return at == head.npos ? 0 : static_cast<std::size_t>(std::atoll(head.data() + at + name.size()));
  }

  asio::ip::tcp::socket socket_;
  std::string input_;
  int number_;
};

/// Accepts on 127.0.0.1, or the address given, and runs `script` for each connection, on the test's own loop. A
/// connection is closed when its script ends. Must not outlive the loop.
class raw_server {
 public:
  using script = std::function<asio::awaitable<void>(raw_connection&)>;

  raw_server(asio::io_context& loop, script each, const asio::ip::tcp::endpoint& where = {loopback(), 0})
      : state_(std::make_shared<state>(loop, std::move(each), where)) {
    asio::co_spawn(loop, accept(state_), asio::detached);
  }
  ~raw_server() {
    asio::error_code ignored;
    state_->acceptor.close(ignored);
  }
  raw_server(const raw_server&) = delete;
  raw_server& operator=(const raw_server&) = delete;

  [[nodiscard]] std::string url(std::string_view path = "/", std::string_view host = "127.0.0.1") const {
    return "http://" + std::string(host) + ':' + std::to_string(port()) + std::string(path);
  }
  [[nodiscard]] unsigned short port() const { return state_->port; }
  /// Connections accepted so far, and those whose script has not ended.
  [[nodiscard]] int accepted() const noexcept { return state_->accepted; }
  [[nodiscard]] int open() const noexcept { return state_->open; }

 private:
  struct state {
    state(asio::io_context& loop, script each, const asio::ip::tcp::endpoint& where)
        : acceptor(loop), run(std::move(each)) {
      acceptor.open(where.protocol());
      acceptor.bind(where);
      acceptor.listen(4096);
      port = acceptor.local_endpoint().port();
    }
    asio::ip::tcp::acceptor acceptor;
    script run;
    unsigned short port = 0;
    int accepted = 0;
    int open = 0;
  };

  static asio::ip::address loopback() { return asio::ip::make_address("127.0.0.1"); }

  static asio::awaitable<void> accept(std::shared_ptr<state> self) {
    for (;;) {
      asio::error_code wrong;
      auto socket = co_await self->acceptor.async_accept(asio::redirect_error(asio::use_awaitable, wrong));
      if (wrong) co_return;
      auto one = std::make_shared<raw_connection>(std::move(socket), ++self->accepted);
      ++self->open;
      asio::co_spawn(self->acceptor.get_executor(), serve(self, std::move(one)), asio::detached);
    }
  }

  static asio::awaitable<void> serve(std::shared_ptr<state> self, std::shared_ptr<raw_connection> one) {
    co_await self->run(*one);
    --self->open;
  }

  std::shared_ptr<state> state_;
};

/// A whole answer with a length.
[[nodiscard]] inline std::string answer_with(std::string_view body, std::string_view more_headers = {},
                                             std::string_view status = "200 OK") {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more_headers) + "\r\n" + std::string(body);
}

/// One chunk of a chunked body.
[[nodiscard]] inline std::string chunk(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string size;
  for (std::size_t rest = bytes.size(); rest > 0; rest /= 16) size.insert(size.begin(), digits[rest % 16]);
  if (size.empty()) size = "0";
  return size + "\r\n" + std::string(bytes) + "\r\n";
}

}  // namespace sluice::http::test
