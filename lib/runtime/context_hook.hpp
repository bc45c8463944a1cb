/// \file
/// `context_hook`: being told that an Asio execution context goes away, while its services are still there.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>

#include <mutex>

namespace sluice {

class context_hook_service;

/// Derive from it to let go of what lives in a context (timers, descriptors, parked handlers) before the context
/// destroys its services. Attaching and detaching are O(1), allocate nothing and may happen on any thread; no thread
/// may be inside the context's `run` when it is destroyed, as Asio demands anyway.
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

  /// Stops listening. Harmless when not attached, or when the context is gone.
  inline void detach() noexcept;

 protected:
  virtual ~context_hook() = default;

 private:
  friend class context_hook_service;
  context_hook_service* service_ = nullptr;
  context_hook* next_ = nullptr;
  context_hook* previous_ = nullptr;
};

/// The list of a context's hooks.
class context_hook_service final : public asio::execution_context::service {
 public:
  static inline asio::execution_context::id id;
  using key_type = context_hook_service;

  explicit context_hook_service(asio::execution_context& owner) : service(owner) {}

  void add(context_hook& hook) noexcept {
    const std::lock_guard lock(mutex_);
    hook.service_ = this;
    hook.previous_ = nullptr;
    hook.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &hook;
    first_ = &hook;
  }

  void remove(context_hook& hook) noexcept {
    const std::lock_guard lock(mutex_);
    unlink(hook);
  }

 private:
  void unlink(context_hook& hook) noexcept {
    if (hook.service_ == nullptr) return;
    (hook.previous_ != nullptr ? hook.previous_->next_ : first_) = hook.next_;
    if (hook.next_ != nullptr) hook.next_->previous_ = hook.previous_;
    hook.service_ = nullptr;
  }

  void shutdown() override {
    for (;;) {
      context_hook* hook = nullptr;
      {
        const std::lock_guard lock(mutex_);
        hook = first_;
        if (hook == nullptr) return;
        unlink(*hook);
      }
      hook->context_gone();
    }
  }

  std::mutex mutex_;
  context_hook* first_ = nullptr;
};

void context_hook::attach(asio::execution_context& context) {
  asio::use_service<context_hook_service>(context).add(*this);
}

void context_hook::attach(const asio::any_io_executor& executor) {
  attach(asio::query(executor, asio::execution::context));
}

void context_hook::detach() noexcept {
  if (service_ != nullptr) service_->remove(*this);
}

}  // namespace sluice
