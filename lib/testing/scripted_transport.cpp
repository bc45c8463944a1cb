#include <sluice/testing/scripted_transport.hpp>

#include <asio/experimental/concurrent_channel.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace sluice::testing {
namespace {

// The number says nothing: with an error code alone, Asio 1.22 cannot decide between two of its templates.
using wake_up = asio::experimental::concurrent_channel<void(asio::error_code, int)>;

error scripted_error(errc code, std::string message) {
  if (message.empty()) message = make_error_code(code).message();
  return {code, std::move(message)};
}

error left() { return {errc::cancelled, "the exchange was cancelled"}; }

}  // namespace

/// What a transport, its exchanges and their callers share.
class script_stage {
 public:
  std::mutex mutex;
  std::deque<scripted_exchange> script;
  scripted_transport::handler make;
  std::vector<http::request> requests;
  std::vector<std::weak_ptr<script_player>> players;
  std::size_t open = 0;
  std::size_t cancelled = 0;
  std::size_t finished = 0;
  bool released_for_good = false;
  bool closed = false;
};

/// One exchange being played. Its owner is the caller's coroutine, then the response; the stage only knows of it.
class script_player final : public stop_signal::listener {
 public:
  using step_kind = scripted_exchange::step_kind;

  /// What a step that does not wait has brought.
  struct arrival {
    bool head = false;
    std::string bytes;
    std::optional<error> failure;
  };

  script_player(std::shared_ptr<script_stage> stage, scripted_exchange what)
      : stage_(std::move(stage)), what_(std::move(what)) {}
  script_player(const script_player&) = delete;
  script_player& operator=(const script_player&) = delete;

  ~script_player() {
    const std::lock_guard lock(stage_->mutex);
    leave();
  }

  [[nodiscard]] int status() const noexcept { return what_.status_; }
  [[nodiscard]] const std::vector<http::header>& headers() const noexcept { return what_.headers_; }

  void on_stop() noexcept override {
    const std::lock_guard lock(stage_->mutex);
    leave();
    wake();
  }

  // With the stage's mutex held.
  void allow_one() {
    ++allowed_;
    wake();
  }
  void wake() {
    if (waiting_ != nullptr) waiting_->try_send(asio::error_code(), 0);
  }

  /// Plays on to the next head, bytes, failure or end.
  static asio::awaitable<arrival> next(script_player& self) {
    const auto executor = co_await asio::this_coro::executor;
    for (;;) {
      wake_up signal(executor, 1);
      arrival brought;
      if (self.play(brought, signal)) co_return brought;
      const parked here(self);
      asio::error_code failure;
      co_await signal.async_receive(asio::redirect_error(asio::use_awaitable, failure));
      if (failure) {
        const std::lock_guard lock(self.stage_->mutex);
        self.leave();
      }
    }
  }

 private:
  // While the caller waits, also when it never comes back.
  class parked {
   public:
    explicit parked(script_player& who) noexcept : who_(who) {}
    parked(const parked&) = delete;
    parked& operator=(const parked&) = delete;
    ~parked() {
      const std::lock_guard lock(who_.stage_->mutex);
      who_.waiting_ = nullptr;
    }

   private:
    script_player& who_;
  };

  // False: nothing yet, and `signal` will tell.
  bool play(arrival& brought, wake_up& signal) {
    const std::lock_guard lock(stage_->mutex);
    if (stage_->closed) leave();
    if (gone_) {
      brought.failure = left();
      return true;
    }
    if (failure_) {
      brought.failure = failure_;
      return true;
    }
    while (at_ < what_.steps_.size()) {
      auto& step = what_.steps_[at_];
      if (step.what == step_kind::silence || (step.what == step_kind::pause && !pass_pause())) {
        waiting_ = &signal;
        return false;
      }
      ++at_;
      if (step.what == step_kind::pause) continue;
      brought.head = step.what == step_kind::head;
      brought.bytes = std::move(step.bytes);
      if (step.what == step_kind::failure) {
        failure_ = brought.failure = step.why;
        end();
      }
      return true;
    }
    if (end()) ++stage_->finished;
    return true;
  }

  bool pass_pause() noexcept {
    if (stage_->released_for_good) return true;
    if (allowed_ == 0) return false;
    --allowed_;
    return true;
  }

  void leave() noexcept {
    if (!end()) return;
    gone_ = true;
    ++stage_->cancelled;
  }

  bool end() noexcept {
    if (std::exchange(over_, true)) return false;
    --stage_->open;
    return true;
  }

  std::shared_ptr<script_stage> stage_;
  scripted_exchange what_;
  std::size_t at_ = 0;
  std::size_t allowed_ = 0;
  bool over_ = false;
  bool gone_ = false;
  std::optional<error> failure_;
  wake_up* waiting_ = nullptr;
};

namespace {

class scripted_response final : public http::response {
 public:
  explicit scripted_response(std::shared_ptr<script_player> player) : player_(std::move(player)) {}

  [[nodiscard]] int status() const noexcept override { return player_->status(); }
  [[nodiscard]] const std::vector<http::header>& headers() const noexcept override { return player_->headers(); }

  [[nodiscard]] asio::awaitable<expected<std::string, error>> read() override { return read_from(player_); }

 private:
  static asio::awaitable<expected<std::string, error>> read_from(std::shared_ptr<script_player> player) {
    auto brought = co_await script_player::next(*player);
    if (brought.failure) co_return unexpected(*std::move(brought.failure));
    co_return std::move(brought.bytes);
  }

  std::shared_ptr<script_player> player_;
};

using outcome = expected<std::unique_ptr<http::response>, error>;

asio::awaitable<outcome> perform(std::shared_ptr<script_stage> stage, http::request what) {
  const std::shared_ptr<stop_signal> stop = what.stop;
  if (stop && stop->stopped() != stop_cause::none) co_return unexpected(left());
  std::optional<scripted_exchange> next;
  scripted_transport::handler make;
  {
    const std::lock_guard lock(stage->mutex);
    if (stage->closed) co_return unexpected(left());
    if (!stage->script.empty()) {
      next = std::move(stage->script.front());
      stage->script.pop_front();
    } else {
      make = stage->make;
    }
  }
  if (!next) {
    next = make ? make(what) : scripted_exchange::failure(errc::connect_failed, "the script holds no further exchange");
  }
  std::shared_ptr<script_player> player;
  {
    player = std::make_shared<script_player>(stage, *std::move(next));
    const std::lock_guard lock(stage->mutex);
    ++stage->open;
    stage->requests.push_back(std::move(what));
    stage->players.push_back(player);
  }
  if (stop) stop->attach(player);
  auto brought = co_await script_player::next(*player);
  if (brought.failure) co_return unexpected(*std::move(brought.failure));
  co_return std::make_unique<scripted_response>(std::move(player));
}

}  // namespace

scripted_exchange scripted_exchange::with_step(step_kind what, std::string bytes, error why) && {
  steps_.push_back({what, std::move(bytes), std::move(why)});
  return std::move(*this);
}

scripted_exchange scripted_exchange::failure(errc code, std::string message) {
  scripted_exchange made;
  made.steps_.clear();
  return std::move(made).with_failure(code, std::move(message));
}

scripted_exchange scripted_exchange::silent() {
  scripted_exchange made;
  made.steps_.clear();
  return std::move(made).with_silence();
}

scripted_exchange scripted_exchange::with_header(std::string name, std::string value) && {
  headers_.emplace_back(std::move(name), std::move(value));
  return std::move(*this);
}

scripted_exchange scripted_exchange::with_pause_before_head() && {
  steps_.insert(steps_.begin(), {step_kind::pause, {}, {}});
  return std::move(*this);
}

scripted_exchange scripted_exchange::with_chunk(std::string bytes) && {
  if (bytes.empty()) return std::move(*this);
  return std::move(*this).with_step(step_kind::chunk, std::move(bytes));
}

scripted_exchange scripted_exchange::with_pause() && { return std::move(*this).with_step(step_kind::pause); }

scripted_exchange scripted_exchange::with_failure(errc code, std::string message) && {
  return std::move(*this).with_step(step_kind::failure, {}, scripted_error(code, std::move(message)));
}

scripted_exchange scripted_exchange::with_silence() && { return std::move(*this).with_step(step_kind::silence); }

scripted_transport::scripted_transport() : stage_(std::make_shared<script_stage>()) {}

scripted_transport::~scripted_transport() {
  // Outside the lock: dropping the last owner of a player takes it.
  std::vector<std::shared_ptr<script_player>> alive;
  const std::lock_guard lock(stage_->mutex);
  stage_->closed = true;
  for (const auto& each : stage_->players) {
    if (auto player = each.lock()) {
      player->wake();
      alive.push_back(std::move(player));
    }
  }
}

void scripted_transport::add(scripted_exchange next) {
  const std::lock_guard lock(stage_->mutex);
  stage_->script.push_back(std::move(next));
}

void scripted_transport::on_request(handler make) {
  const std::lock_guard lock(stage_->mutex);
  stage_->make.swap(make);
}

asio::awaitable<outcome> scripted_transport::send(http::request what) { return perform(stage_, std::move(what)); }

void scripted_transport::release(std::size_t number) {
  std::shared_ptr<script_player> player;
  const std::lock_guard lock(stage_->mutex);
  if (number < stage_->players.size()) player = stage_->players[number].lock();
  if (player) player->allow_one();
}

void scripted_transport::release_all() {
  std::vector<std::shared_ptr<script_player>> alive;
  const std::lock_guard lock(stage_->mutex);
  stage_->released_for_good = true;
  for (const auto& each : stage_->players) {
    if (auto player = each.lock()) {
      player->wake();
      alive.push_back(std::move(player));
    }
  }
}

std::vector<http::request> scripted_transport::requests() const {
  const std::lock_guard lock(stage_->mutex);
  return stage_->requests;
}

std::size_t scripted_transport::open() const {
  const std::lock_guard lock(stage_->mutex);
  return stage_->open;
}

std::size_t scripted_transport::cancelled() const {
  const std::lock_guard lock(stage_->mutex);
  return stage_->cancelled;
}

std::size_t scripted_transport::finished() const {
  const std::lock_guard lock(stage_->mutex);
  return stage_->finished;
}

std::size_t scripted_transport::unused() const {
  const std::lock_guard lock(stage_->mutex);
  return stage_->script.size();
}

}  // namespace sluice::testing
