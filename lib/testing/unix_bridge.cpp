#include "testing/unix_bridge.hpp"

#include <sluice/core/error.hpp>

#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/write.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <utility>

namespace sluice::testing {
namespace {

using asio::ip::tcp;
using asio::local::stream_protocol;

class crossing : public std::enable_shared_from_this<crossing> {
 public:
  explicit crossing(stream_protocol::socket near) : near_(std::move(near)), far_(near_.get_executor()) {}

  void start(std::uint16_t port) {
    far_.async_connect({asio::ip::address_v4::loopback(), port}, [self = shared_from_this()](asio::error_code failure) {
      if (failure) return self->close();
      self->far_.set_option(tcp::no_delay(true), failure);
      self->carry(self->near_, self->far_, self->there_);
      self->carry(self->far_, self->near_, self->back_);
    });
  }

 private:
  using buffer = std::array<char, std::size_t{64} << 10>;

  template <typename From, typename To>
  void carry(From& from, To& to, buffer& by) {
    from.async_read_some(asio::buffer(by), [this, &from, &to, &by, self = shared_from_this()](asio::error_code failure,
                                                                                              std::size_t count) {
      if (failure) return close();
      asio::async_write(to, asio::buffer(by, count),
                        [this, &from, &to, &by, self](asio::error_code wrong, std::size_t) {
                          if (wrong) return close();
                          carry(from, to, by);
                        });
    });
  }

  void close() {
    asio::error_code ignored;
    near_.close(ignored);
    far_.close(ignored);
  }

  stream_protocol::socket near_;
  tcp::socket far_;
  buffer there_{};
  buffer back_{};
};

bool is_socket(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

}  // namespace

class unix_bridge::listener {
 public:
  listener(asio::io_context& context, std::string path, std::uint16_t port)
      : path_(std::move(path)), port_(port), acceptor_(context) {
    if (is_socket(path_)) ::unlink(path_.c_str());
    acceptor_.open();
    acceptor_.bind(stream_protocol::endpoint(path_));
    acceptor_.listen();
    accept();
  }

  ~listener() {
    if (is_socket(path_)) ::unlink(path_.c_str());
  }

 private:
  void accept() {
    acceptor_.async_accept([this](asio::error_code failure, stream_protocol::socket near) {
      if (failure) return;
      std::make_shared<crossing>(std::move(near))->start(port_);
      accept();
    });
  }

  std::string path_;
  std::uint16_t port_;
  stream_protocol::acceptor acceptor_;
};

unix_bridge::unix_bridge(asio::io_context& context, std::string path, std::uint16_t port) {
  try {
    listener_ = std::make_unique<listener>(context, path, port);
  } catch (const std::system_error& failure) {
    throw error_exception(
        error(errc::connect_failed, "cannot listen on the Unix socket " + path + ": " + failure.what()));
  }
}

unix_bridge::~unix_bridge() = default;

}  // namespace sluice::testing
