#include "http/curl_engine.hpp"
#include "http/exchange.hpp"
#include "http/request_check.hpp"

#include <sluice/http/curl_transport.hpp>

#include <optional>
#include <utility>

namespace sluice::http {
namespace {

class curl_response final : public response {
 public:
  explicit curl_response(std::shared_ptr<exchange> from) : exchange_(std::move(from)) {}

  [[nodiscard]] int status() const noexcept override { return exchange_->received().status(); }
  [[nodiscard]] const std::vector<header>& headers() const noexcept override {
    if (!headers_) headers_ = exchange_->received().headers();
    return *headers_;
  }

  [[nodiscard]] exchange_times times() const noexcept override { return exchange_->times(); }

  [[nodiscard]] asio::awaitable<expected<std::string, error>> read() override {
    for (;;) {
      if (auto part = exchange_->take_body()) co_return *std::move(part);
      co_await exchange_->wait(exchange::stage::body);
    }
  }

 private:
  std::shared_ptr<exchange> exchange_;
  mutable std::optional<std::vector<header>> headers_;
};

using result = expected<std::unique_ptr<response>, error>;

asio::awaitable<result> perform(std::shared_ptr<curl_engine> engine, request what) {
  if (auto wrong = check_request(what)) co_return unexpected(*std::move(wrong));
  auto running = std::make_shared<exchange>(std::move(engine), std::move(what));
  if (auto refused = running->begin()) co_return unexpected(*std::move(refused));
  co_await running->wait(exchange::stage::head);
  if (auto failed = running->head_failure()) co_return unexpected(*std::move(failed));
  std::unique_ptr<response> head = std::make_unique<curl_response>(std::move(running));
  co_return head;
}

class curl_transport final : public transport {
 public:
  explicit curl_transport(std::shared_ptr<curl_engine> engine) : engine_(std::move(engine)) {}
  ~curl_transport() override { engine_->close(); }

  // Not a coroutine: what it returns may be awaited when the transport is gone already.
  [[nodiscard]] asio::awaitable<result> send(request what) override { return perform(engine_, std::move(what)); }

 private:
  std::shared_ptr<curl_engine> engine_;
};

}  // namespace

std::unique_ptr<transport> make_curl_transport(asio::any_io_executor executor, time_source& time,
                                               curl_options options) {
  return std::make_unique<curl_transport>(curl_engine::make(executor, time, std::move(options)));
}

}  // namespace sluice::http
