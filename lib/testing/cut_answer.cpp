#include "testing/cut_answer.hpp"

#include <asio/steady_timer.hpp>

#include <optional>
#include <string>
#include <utility>

namespace sluice::testing {
namespace {

class pieces : public std::enable_shared_from_this<pieces> {
 public:
  pieces(asio::io_context& context, std::unique_ptr<loopback_answer> whole, std::size_t bytes, duration every)
      : inner(std::move(whole)), bytes_(bytes), every_(every), timer_(context) {}

  void add(std::string_view bytes) {
    left_.erase(0, std::exchange(at_, 0));
    left_ += bytes;
  }

  void end(loopback_answer::delivered then) {
    then_ = std::move(then);
    send();
  }

  void send() {
    if (waiting_) return;
    while (at_ < left_.size()) {
      piece();
      if (every_ > duration::zero()) return wait();
    }
    if (then_) inner->end(*std::exchange(then_, std::nullopt));
  }

  void send_at_once() {
    while (at_ < left_.size()) piece();
  }

  // What is on its way in time goes nowhere any more.
  void drop() {
    inner.reset();
    timer_.cancel();
  }

  std::unique_ptr<loopback_answer> inner;

 private:
  void piece() {
    const auto next = std::string_view(left_).substr(at_, bytes_);
    inner->chunk(next);
    at_ += next.size();
    inner->flush();
  }

  void wait() {
    waiting_ = true;
    timer_.expires_after(every_);
    timer_.async_wait([self = shared_from_this()](const asio::error_code&) {
      self->waiting_ = false;
      if (self->inner) self->send();
    });
  }

  std::size_t bytes_;
  duration every_;
  asio::steady_timer timer_;
  std::string left_;
  std::size_t at_ = 0;
  std::optional<loopback_answer::delivered> then_;
  bool waiting_ = false;
};

class cut_answer final : public loopback_answer {
 public:
  explicit cut_answer(std::shared_ptr<pieces> body) : body_(std::move(body)) {}
  ~cut_answer() override { body_->drop(); }

  void start(int status, const std::vector<http::header>& headers) override { body_->inner->start(status, headers); }
  void chunk(std::string_view bytes) override { body_->add(bytes); }
  void flush() override { body_->send(); }
  void end(delivered then) override { body_->end(std::move(then)); }

  void whole(int status, const std::vector<http::header>& headers, std::string_view body, delivered then) override {
    start(status, headers);
    chunk(body);
    end(std::move(then));
  }

  void torn(int status, const std::vector<http::header>& headers, std::string_view body, std::size_t length) override {
    body_->inner->torn(status, headers, body, length);
  }

  void hang_up() override {
    body_->send_at_once();
    body_->inner->hang_up();
  }

 private:
  std::shared_ptr<pieces> body_;
};

}  // namespace

std::unique_ptr<loopback_answer> make_cut_answer(asio::io_context& context, std::unique_ptr<loopback_answer> whole,
                                                 std::size_t bytes, duration every) {
  return std::make_unique<cut_answer>(std::make_shared<pieces>(context, std::move(whole), bytes, every));
}

}  // namespace sluice::testing
