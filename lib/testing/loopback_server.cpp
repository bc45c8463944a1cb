#include "testing/loopback_server.hpp"

#include <sluice/core/error.hpp>

#include <restinio/all.hpp>

#include <array>
#include <charconv>
#include <exception>
#include <utility>

namespace sluice::testing {
namespace {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 429: return "Too Many Requests";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 529: return "Overloaded";
    default: return "Status";
  }
}

void append_hex(std::string& to, std::size_t number) {
  std::array<char, 2 * sizeof(number)> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  to.append(digits.data(), end);
}

// Writes through the connection itself: the response builders can neither hang up in mid-body nor put several chunks
// into one buffer.
class restinio_answer final : public loopback_answer {
 public:
  explicit restinio_answer(restinio::request_t& request)
      : connection_(restinio::impl::access_req_connection(request)),
        request_(request.request_id()),
        keep_alive_(request.header().should_keep_alive()) {}

  void start(int status, const std::vector<http::header>& headers) override {
    head(status, headers);
    pending_ += "transfer-encoding: chunked\r\n\r\n";
  }

  void chunk(std::string_view bytes) override {
    if (bytes.empty()) return;
    append_hex(pending_, bytes.size());
    pending_ += "\r\n";
    pending_ += bytes;
    pending_ += "\r\n";
  }

  void flush() override {
    if (!pending_.empty()) write(false, false, {});
  }

  void end(delivered then) override {
    pending_ += "0\r\n\r\n";
    write(true, !keep_alive_, std::move(then));
  }

  void whole(int status, const std::vector<http::header>& headers, std::string_view body, delivered then) override {
    sized(status, headers, body, body.size());
    write(true, !keep_alive_, std::move(then));
  }

  void torn(int status, const std::vector<http::header>& headers, std::string_view body, std::size_t length) override {
    sized(status, headers, body, length);
  }

  void hang_up() override { write(true, true, {}); }

 private:
  void head(int status, const std::vector<http::header>& headers) {
    pending_ += "HTTP/1.1 ";
    pending_ += std::to_string(status);
    pending_ += ' ';
    pending_ += reason_phrase(status);
    pending_ += "\r\n";
    for (const auto& line : headers) {
      pending_ += line.name();
      pending_ += ": ";
      pending_ += line.value();
      pending_ += "\r\n";
    }
    if (!keep_alive_) pending_ += "connection: close\r\n";
  }

  void sized(int status, const std::vector<http::header>& headers, std::string_view body, std::size_t length) {
    head(status, headers);
    pending_ += "content-length: ";
    pending_ += std::to_string(length);
    pending_ += "\r\n\r\n";
    pending_ += body;
  }

  void write(bool last, bool close, delivered then) {
    restinio::writable_items_container_t items;
    if (!pending_.empty()) items.emplace_back(std::exchange(pending_, {}));
    restinio::write_group_t group(std::move(items));
    if (then) {
      group.after_write_notificator([then = std::move(then)](const asio::error_code& failure) { then(!failure); });
    }
    const restinio::response_output_flags_t flags{
        last ? restinio::response_parts_attr_t::final_parts : restinio::response_parts_attr_t::not_final_parts,
        close ? restinio::response_connection_attr_t::connection_close
              : restinio::response_connection_attr_t::connection_keepalive};
    connection_->write_response_parts(request_, flags, std::move(group));
  }

  restinio::impl::connection_handle_t connection_;
  restinio::request_id_t request_;
  bool keep_alive_;
  std::string pending_;
};

class connection_watch {
 public:
  explicit connection_watch(std::shared_ptr<loopback_events> events) : events_(std::move(events)) {}

  void state_changed(const restinio::connection_state::notice_t& notice) noexcept {
    const auto cause = notice.cause();
    if (restinio::holds_alternative<restinio::connection_state::accepted_t>(cause)) {
      events_->on_opened(notice.connection_id());
    } else if (restinio::holds_alternative<restinio::connection_state::closed_t>(cause)) {
      events_->on_closed(notice.connection_id());
    }
  }

 private:
  std::shared_ptr<loopback_events> events_;
};

struct handler_of_requests {
  std::shared_ptr<loopback_events> events;

  restinio::request_handling_status_t operator()(const restinio::request_handle_t& request) const {
    loopback_request arrived;
    arrived.method = request->header().method().c_str();
    arrived.target = request->header().request_target();
    arrived.body = request->body();
    arrived.connection = request->connection_id();
    request->header().for_each_field(
        [&](const auto& line) { arrived.headers.emplace_back(line.name(), line.value()); });
    arrived.answer = std::make_unique<restinio_answer>(*request);
    events->on_request(std::move(arrived));
    return restinio::request_accepted();
  }
};

// One thread, and no time limits of the server's own: a stalled answer stays stalled.
struct traits
    : restinio::single_thread_traits_t<restinio::null_timer_manager_t, restinio::null_logger_t, handler_of_requests> {
  using connection_state_listener_t = connection_watch;
};

class restinio_server final : public loopback_server {
 public:
  restinio_server(asio::io_context& context, std::uint16_t port, loopback_events events)
      : server_(restinio::external_io_context(context), [&](auto& settings) {
          auto shared = std::make_shared<loopback_events>(std::move(events));
          settings.port(port)
              .address("127.0.0.1")
              .request_handler(handler_of_requests{shared})
              .connection_state_listener(std::make_shared<connection_watch>(shared))
              // With room for another request it goes on reading while an answer is pending, and so sees the end of
              // the connection at once.
              .max_pipelined_requests(16)
              .concurrent_accepts_count(8)
              .socket_options_setter([](auto& options) { options.set_option(asio::ip::tcp::no_delay(true)); })
              .acceptor_post_bind_hook(
                  [this](asio::ip::tcp::acceptor& acceptor) { port_ = acceptor.local_endpoint().port(); });
        }) {
    server_.open_sync();
  }

  [[nodiscard]] std::uint16_t port() const noexcept override { return port_; }

 private:
  std::uint16_t port_ = 0;
  restinio::http_server_t<traits> server_;
};

}  // namespace

std::unique_ptr<loopback_server> make_loopback_server(asio::io_context& context, std::uint16_t port,
                                                      loopback_events events) {
  try {
    return std::make_unique<restinio_server>(context, port, std::move(events));
  } catch (const std::exception& failure) {
    throw error_exception(
        error(errc::connect_failed, "cannot listen on 127.0.0.1:" + std::to_string(port) + ": " + failure.what()));
  }
}

}  // namespace sluice::testing
