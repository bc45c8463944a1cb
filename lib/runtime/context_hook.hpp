/// \file
/// `context_hook`: being told that an Asio execution context goes away, while its services are still there.
#pragma once

// Before Asio: without a header of the standard library it chooses another way to allocate than the rest of the
// program.
#include <version>

#include <asio/any_io_executor.hpp>
#include <asio/detail/strand_executor_service.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sluice {

class context_hook_service;

/// Derive from it to let go of what lives in a context (timers, descriptors, parked handlers) before the context
/// destroys its services. Attaching and detaching are O(1), allocate nothing and may happen on any thread, also while
/// the context is being destroyed on another; no thread may be inside the context's `run` then, as Asio demands anyway.
class context_hook {
 public:
  context_hook() = default;
  context_hook(const context_hook&) = delete;
  context_hook& operator=(const context_hook&) = delete;

  /// The context is being destroyed. Called once at most, on the destroying thread, with no lock held and the hook
  /// already detached.
  virtual void context_gone() noexcept = 0;

  /// Starts listening to the context of `executor`.
  inline void attach(const asio::any_io_executor& executor);
  /// The same for the context itself.
  inline void attach(asio::execution_context& context);

  /// Stops listening. Harmless when not attached, or when the context is gone. When this returns, `context_gone` is not
  /// running on another thread: do not call it while holding a lock that `context_gone` takes there.
  inline void detach() noexcept;

 protected:
  virtual ~context_hook() = default;

 private:
  friend class context_hook_service;
  context_hook_service* service_ = nullptr;
  context_hook* next_ = nullptr;
  context_hook* previous_ = nullptr;
};

/// The list of a context's hooks. One mutex for all contexts: it is taken rarely, and a hook may be detached while the
/// service that calls it is being destroyed.
class context_hook_service final : public asio::execution_context::service {
 public:
  static inline asio::execution_context::id id;
  using key_type = context_hook_service;

  explicit context_hook_service(asio::execution_context& owner) : service(owner) {
    // Services are shut down in the reverse order: strands still have to take what hooks do when they are called.
    asio::use_service<asio::detail::strand_executor_service>(owner);
  }

  void add(context_hook& hook) noexcept {
    const std::lock_guard lock(mutex_);
    hook.service_ = this;
    hook.previous_ = nullptr;
    hook.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &hook;
    first_ = &hook;
  }

  static void remove(context_hook& hook) noexcept {
    std::unique_lock lock(mutex_);
    if (hook.service_ != nullptr) return hook.service_->unlink(hook);
    ended_.wait(lock, [&] { return !called_elsewhere(hook); });
  }

 private:
  /// A call of `context_gone`, on the stack of its thread.
  struct call {
    const context_hook* who;
    std::thread::id thread;
    call* next;
  };

  void unlink(context_hook& hook) noexcept {
    (hook.previous_ != nullptr ? hook.previous_->next_ : first_) = hook.next_;
    if (hook.next_ != nullptr) hook.next_->previous_ = hook.previous_;
    hook.service_ = nullptr;
  }

  [[nodiscard]] static bool called_elsewhere(const context_hook& hook) noexcept {
    for (const call* each = calls_; each != nullptr; each = each->next) {
      if (each->who == &hook && each->thread != std::this_thread::get_id()) return true;
    }
    return false;
  }

  void shutdown() override {
    std::unique_lock lock(mutex_);
    while (first_ != nullptr) {
      context_hook& hook = *first_;
      unlink(hook);
      call now{&hook, std::this_thread::get_id(), calls_};
      calls_ = &now;
      lock.unlock();
      hook.context_gone();
      lock.lock();
      call** place = &calls_;
      while (*place != &now) place = &(*place)->next;
      *place = now.next;
      ended_.notify_all();
    }
  }

  static inline std::mutex mutex_;
  static inline std::condition_variable ended_;
  static inline call* calls_ = nullptr;
  context_hook* first_ = nullptr;
};

void context_hook::attach(asio::execution_context& context) {
  asio::use_service<context_hook_service>(context).add(*this);
}

void context_hook::attach(const asio::any_io_executor& executor) {
  attach(asio::query(executor, asio::execution::context));
}

void context_hook::detach() noexcept { context_hook_service::remove(*this); }

}  // namespace sluice
