/// \file
/// What sluice's gate is measured against: the semaphore that a good engineer writes by hand on Asio.
#pragma once

#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/error.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <type_traits>
#include <utility>

namespace reference {

/// A weighted semaphore, first come first served: a mutex, an intrusive list, one post a completion. It knows neither
/// classes nor floors, neither deadlines nor a second dimension. Thread-safe; must outlive its waiters.
class semaphore {
 public:
  explicit semaphore(std::int64_t units) : free_(units) {}
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;

  [[nodiscard]] bool try_acquire(std::int64_t units) {
    const std::lock_guard lock(mutex_);
    if (first_ != nullptr || free_ < units) return false;
    free_ -= units;
    return true;
  }

  /// Completes with `void(std::error_code)`; cancellation unlinks in O(1).
  template <typename CompletionToken>
  auto async_acquire(std::int64_t units, CompletionToken&& token) {
    return asio::async_initiate<CompletionToken, void(std::error_code)>(initiation{this}, token, units);
  }

  void release(std::int64_t units) {
    waiter* served = nullptr;
    waiter** end = &served;
    {
      const std::lock_guard lock(mutex_);
      free_ += units;
      while (first_ != nullptr && first_->units <= free_) {
        waiter* who = first_;
        free_ -= who->units;
        unlink(*who);
        *end = who;
        end = &who->next;
      }
      *end = nullptr;
    }
    while (served != nullptr) {
      waiter* who = std::exchange(served, served->next);
      who->complete(*who, std::error_code());
    }
  }

 private:
  struct waiter {
    using completion = void (*)(waiter&, std::error_code);
    completion complete;
    std::int64_t units;
    waiter* next = nullptr;
    waiter* previous = nullptr;
    bool linked = false;
  };

  template <typename Handler>
  struct operation final : waiter {
    using executor_type = asio::associated_executor_t<Handler>;
    using allocator =
        typename std::allocator_traits<asio::associated_allocator_t<Handler>>::template rebind_alloc<operation>;

    operation(Handler&& own, std::int64_t wanted)
        : waiter{&operation::finish, wanted}, handler(std::move(own)), work(asio::get_associated_executor(handler)) {}

    static void finish(waiter& base, std::error_code result) {
      auto& self = static_cast<operation&>(base);
      const executor_type executor = self.work.get_executor();
      asio::post(executor, [own = std::unique_ptr<operation, deleter>(&self), result]() mutable {
        if (auto slot = asio::get_associated_cancellation_slot(own->handler); slot.is_connected()) slot.clear();
        Handler handler(std::move(own->handler));
        own.reset();
        std::move(handler)(result);
      });
    }

    struct deleter {
      void operator()(operation* gone) const {
        allocator memory(asio::get_associated_allocator(gone->handler));
        std::allocator_traits<allocator>::destroy(memory, gone);
        std::allocator_traits<allocator>::deallocate(memory, gone, 1);
      }
    };

    Handler handler;
    asio::executor_work_guard<executor_type> work;
  };

  struct initiation {
    semaphore* self;
    template <typename Handler>
    void operator()(Handler&& handler, std::int64_t units) const {
      self->start(std::forward<Handler>(handler), units);
    }
  };

  template <typename Handler>
  void start(Handler&& passed, std::int64_t units) {
    using handler_type = std::decay_t<Handler>;
    using made = operation<handler_type>;
    handler_type handler(std::forward<Handler>(passed));
    std::unique_lock lock(mutex_);
    if (first_ == nullptr && free_ >= units) {
      free_ -= units;
      lock.unlock();
      const auto executor = asio::get_associated_executor(handler);
      asio::post(executor, [own = std::move(handler)]() mutable { std::move(own)(std::error_code()); });
      return;
    }
    typename made::allocator memory(asio::get_associated_allocator(handler));
    made* who = std::allocator_traits<typename made::allocator>::allocate(memory, 1);
    ::new (static_cast<void*>(who)) made(std::move(handler), units);
    if (auto slot = asio::get_associated_cancellation_slot(who->handler); slot.is_connected()) {
      slot.assign([this, who](asio::cancellation_type) { cancel(*who); });
    }
    link(*who);
  }

  void cancel(waiter& who) {
    {
      const std::lock_guard lock(mutex_);
      if (!who.linked) return;
      unlink(who);
    }
    who.complete(who, asio::error::operation_aborted);
  }

  void link(waiter& who) {
    who.linked = true;
    who.previous = last_;
    (last_ == nullptr ? first_ : last_->next) = &who;
    last_ = &who;
  }

  void unlink(waiter& who) {
    who.linked = false;
    (who.previous == nullptr ? first_ : who.previous->next) = who.next;
    (who.next == nullptr ? last_ : who.next->previous) = who.previous;
  }

  std::mutex mutex_;
  std::int64_t free_;
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

}  // namespace reference
