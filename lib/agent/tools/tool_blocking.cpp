#include "agent/tools/tool_blocking.hpp"

#include "agent/tools/tool_words.hpp"
#include "runtime/waiting_call.hpp"

#include <asio/post.hpp>
#include <asio/this_coro.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace sluice::agent::detail {

namespace {

using answer = expected<std::string, error>;

/// One call on its way to the pool and back. Both sides hold it: either may be gone first.
class blocking_call final : public sluice::detail::waiting_call {
 public:
  blocking_call(time_source& time, std::shared_ptr<const blocking_handler> work, const llm::tool_call& call)
      : waiting_call(time), work_(std::move(work)), call_(call) {}

  /// On the pool.
  void work() noexcept {
    std::optional<answer> given;
    std::exception_ptr thrown;
    try {
      const llm::tool_arguments arguments(given_arguments(call_));
      given.emplace((*work_)(arguments));
    } catch (...) {
      thrown = std::current_exception();
    }
    give(std::move(given), thrown);
  }
  void drop() { give(answer(unexpected<error>(error(errc::cancelled, "the pool of the tool was stopped"))), nullptr); }

  asio::awaitable<answer> result() {
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    for (prepare(); !has_ended(); prepare()) static_cast<void>(co_await wait(never));
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (thrown_) std::rethrow_exception(thrown_);
    co_return *std::move(given_);
  }

 private:
  void give(std::optional<answer> given, std::exception_ptr thrown) noexcept {
    {
      const std::lock_guard lock(mutex_);
      given_ = std::move(given);
      thrown_ = std::move(thrown);
      ended_ = true;
    }
    wake();
  }
  [[nodiscard]] bool has_ended() noexcept {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  bool leave(ending) noexcept override { return false; }

  std::shared_ptr<const blocking_handler> work_;
  llm::tool_call call_;
  std::mutex mutex_;
  std::optional<answer> given_;
  std::exception_ptr thrown_;
  bool ended_ = false;
};

/// What is posted: a pool that stops without running it must not leave the call waiting.
class posted_call {
 public:
  explicit posted_call(std::shared_ptr<blocking_call> which) noexcept : which_(std::move(which)) {}
  posted_call(posted_call&&) noexcept = default;
  posted_call& operator=(posted_call&&) = delete;
  ~posted_call() {
    if (which_) which_->drop();
  }
  void operator()() { std::exchange(which_, nullptr)->work(); }

 private:
  std::shared_ptr<blocking_call> which_;
};

asio::awaitable<answer> run_blocking(asio::any_io_executor pool, std::shared_ptr<blocking_call> call) {
  asio::post(pool, posted_call(call));
  co_return co_await call->result();
}

}  // namespace

tool_handler on_pool(asio::any_io_executor pool, blocking_handler work) {
  return [pool = std::move(pool), work = std::make_shared<const blocking_handler>(std::move(work))](
             tool_context& context, const llm::tool_arguments&) {
    return run_blocking(pool, std::make_shared<blocking_call>(context.run.gate().time(), work, context.call));
  };
}

}  // namespace sluice::agent::detail
