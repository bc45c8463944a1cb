#include <sluice/testing/mock_provider.hpp>

#include "testing/loopback_server.hpp"
#include "testing/provider_engine.hpp"
#include "testing/unix_bridge.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <utility>

namespace sluice::testing {

class mock_provider::impl {
 public:
  explicit impl(mock_provider_options options)
      : options_(std::move(options)),
        context_(std::make_unique<asio::io_context>(1)),
        work_(asio::make_work_guard(*context_)),
        engine_(std::make_unique<provider_engine>(*context_, options_, script, ledger)) {
    loopback_events events;
    events.on_request = [this](loopback_request request) { engine_->arrived(std::move(request)); };
    events.on_opened = [this](std::uint64_t connection) { engine_->opened(connection); };
    events.on_closed = [this](std::uint64_t connection) { engine_->closed(connection); };
    server_ = make_loopback_server(*context_, options_.port, std::move(events));
    port_ = server_->port();
    if (!options_.unix_socket.empty()) {
      bridge_ = std::make_unique<unix_bridge>(*context_, options_.unix_socket, port_);
    }
    thread_ = std::thread([this] { context_->run(); });
    thread_id_ = thread_.get_id();
  }

  ~impl() { stop(); }

  // Runs `what` on the server's thread and waits until it is done; at once when this is that thread. After the stop
  // it is not run.
  template <typename What>
  void on_server(What what) {
    if (std::this_thread::get_id() == thread_id_) return what(*engine_);
    std::unique_lock lock(mutex_);
    if (stopped_) return;
    const auto ticket = ++tickets_;
    asio::post(*context_, [this, ticket, what = std::move(what)] {
      what(*engine_);
      // Once more around: the context queues completions of a handler's writes when that handler has returned, which
      // may be after a client has got the bytes and has come here.
      asio::post(*context_, [this, ticket] { turned(ticket); });
    });
    turned_.wait(lock, [&] { return stopped_ || done_ >= ticket; });
  }

  void stop() {
    const std::lock_guard one_at_a_time(stop_mutex_);
    if (!thread_.joinable()) return;
    context_->stop();
    thread_.join();
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    turned_.notify_all();
    engine_->drop_all();
    bridge_.reset();
    server_.reset();
    work_.reset();
    const std::lock_guard lock(mutex_);
    latest_ = engine_->requests();
    context_.reset();
    engine_.reset();
  }

  [[nodiscard]] std::vector<mock_request> requests() {
    std::vector<mock_request> seen;
    on_server([&](provider_engine& engine) { seen = engine.requests(); });
    const std::lock_guard lock(mutex_);
    return stopped_ ? latest_ : seen;
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  script_book script;
  provider_ledger ledger;

 private:
  void turned(std::uint64_t ticket) {
    {
      const std::lock_guard lock(mutex_);
      done_ = std::max(done_, ticket);
    }
    turned_.notify_all();
  }

  mock_provider_options options_;
  std::unique_ptr<asio::io_context> context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::unique_ptr<provider_engine> engine_;
  std::unique_ptr<loopback_server> server_;
  std::unique_ptr<unix_bridge> bridge_;
  std::uint16_t port_ = 0;
  std::thread thread_;
  std::thread::id thread_id_;

  std::mutex stop_mutex_;
  std::mutex mutex_;
  std::condition_variable turned_;
  std::uint64_t tickets_ = 0;
  std::uint64_t done_ = 0;
  bool stopped_ = false;
  std::vector<mock_request> latest_;
};

mock_provider::mock_provider(mock_provider_options options) : impl_(std::make_unique<impl>(std::move(options))) {}

mock_provider::~mock_provider() = default;

std::string mock_provider::url() const { return "http://127.0.0.1:" + std::to_string(port()) + "/v1"; }

std::uint16_t mock_provider::port() const noexcept { return impl_->port(); }

void mock_provider::reply_with(mock_reply reply) { impl_->script.reply_with(std::move(reply)); }

void mock_provider::reply_when(predicate matches, mock_reply reply) {
  impl_->script.reply_when(std::move(matches), std::move(reply));
}

void mock_provider::on_request(handler make) { impl_->script.on_request(std::move(make)); }

void mock_provider::clear_replies() { impl_->script.clear_replies(); }

void mock_provider::fail_next(mock_fault fault, std::size_t count) { impl_->script.fail_next(std::move(fault), count); }

void mock_provider::fail_when(predicate matches, mock_fault fault) {
  impl_->script.fail_when(std::move(matches), std::move(fault));
}

void mock_provider::fail_rate(double share, mock_fault fault, std::uint64_t seed) {
  impl_->script.fail_rate(share, std::move(fault), seed);
}

void mock_provider::clear_faults() { impl_->script.clear_faults(); }

void mock_provider::set_model(provider_model model) {
  impl_->on_server([model](provider_engine& engine) { engine.set_model(model); });
}

void mock_provider::freeze() {
  impl_->on_server([](provider_engine& engine) { engine.freeze(); });
}

void mock_provider::thaw() {
  impl_->on_server([](provider_engine& engine) { engine.thaw(); });
}

mock_stats mock_provider::stats() const {
  impl_->on_server([](provider_engine&) {});
  return impl_->ledger.read();
}

bool mock_provider::wait_until(const std::function<bool(const mock_stats&)>& reached, duration limit) const {
  return impl_->ledger.wait_until(reached, limit);
}

std::vector<mock_request> mock_provider::requests() const { return impl_->requests(); }

void mock_provider::stop() { impl_->stop(); }

}  // namespace sluice::testing
