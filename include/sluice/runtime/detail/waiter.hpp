/// \file
/// The operation that waits for admission: node, handler and result in one piece of memory. Not for users.
#pragma once

#include <sluice/core/decision.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/request.hpp>
#include <sluice/runtime/detail/gate_access.hpp>
#include <sluice/runtime/permit.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace sluice::detail {

/// What the gate sees of an operation. All members but the functions are the gate's, under its mutex, until it hands the
/// waiter over through `call_`.
class waiter {
 public:
  enum class phase : std::uint8_t { waiting, granted, rejected };
  enum class action : std::uint8_t {
    /// Invoke the handler here: this thread runs its executor.
    invoke,
    /// Invoke the handler through its own executor.
    dispatch,
    /// The context is going away: destroy the handler without invoking it.
    drop,
  };
  using call = void (*)(waiter&, action);
  using find_context = asio::execution_context* (*)(const waiter&);

  waiter(call how, find_context context, gate& where, bool home) noexcept
      : call_(how), context_(context), gate_(&where), home_(home) {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Ends the operation; the waiter is gone afterwards.
  void finish(action how) { call_(*this, how); }
  [[nodiscard]] asio::execution_context* context() const { return context_(*this); }

  waiter* next = nullptr;
  core::request_id id{};
  std::unique_ptr<rejection> refused;
  phase state = phase::waiting;

  [[nodiscard]] bool home() const noexcept { return home_; }
  [[nodiscard]] gate& where() const noexcept { return *gate_; }

 protected:
  ~waiter() = default;

  /// The outcome, taken out of the node.
  [[nodiscard]] expected<permit, rejection> take_result() {
    if (state == phase::granted) return permit_access::make(*gate_, id);
    return unexpected<rejection>(std::move(*refused));
  }

 private:
  call call_;
  find_context context_;
  gate* gate_;
  bool home_;
};

/// A waiter with its handler. Completions at home need no work guard of their own: the gate keeps one for all.
template <typename Handler>
class admit_operation final : public waiter {
  using executor_type = asio::associated_executor_t<Handler, asio::any_io_executor>;
  using work_guard = asio::executor_work_guard<executor_type>;

 public:
  /// Makes an operation with the handler's allocator and hands it to the gate.
  static void start(gate& where, const asio::any_io_executor& fallback, Handler handler, const core::request& what) {
    const executor_type executor = asio::get_associated_executor(handler, fallback);
    const bool home = is_home(where, executor);
    auto* operation = make(where, home, std::move(handler));
    if (!home) operation->guard_.emplace(executor);
    attach(where, asio::query(executor, asio::execution::context));
    if (auto slot = asio::get_associated_cancellation_slot(operation->handler_); slot.is_connected()) {
      slot.assign([operation](asio::cancellation_type) { cancel(operation->where(), *operation); });
    }
    enqueue(where, *operation, what);
  }

 private:
  using base_allocator = asio::associated_allocator_t<Handler>;
  using allocator = typename std::allocator_traits<base_allocator>::template rebind_alloc<admit_operation>;

  static admit_operation* make(gate& where, bool home, Handler&& handler) {
    allocator memory(asio::get_associated_allocator(handler));
    auto* place = std::allocator_traits<allocator>::allocate(memory, 1);
    return ::new (static_cast<void*>(place)) admit_operation(where, home, std::move(handler));
  }

  admit_operation(gate& where, bool home, Handler&& handler)
      : waiter(&admit_operation::act, &admit_operation::find, where, home), handler_(std::move(handler)) {}

  static void act(waiter& base, action how) {
    auto& self = static_cast<admit_operation&>(base);
    if (how == action::dispatch) {
      // Hoisted: the order in which arguments are evaluated is not defined.
      const executor_type executor = self.guard_->get_executor();
      asio::post(executor, posted(&self));
      return;
    }
    if (auto slot = asio::get_associated_cancellation_slot(self.handler_); slot.is_connected()) slot.clear();
    allocator memory(asio::get_associated_allocator(self.handler_));
    Handler handler(std::move(self.handler_));
    expected<permit, rejection> result = self.take_result();
    std::optional<work_guard> guard = std::move(self.guard_);
    self.~admit_operation();
    std::allocator_traits<allocator>::deallocate(memory, &self, 1);
    if (how == action::invoke) std::move(handler)(std::move(result));
  }

  static asio::execution_context* find(const waiter& base) {
    const auto& self = static_cast<const admit_operation&>(base);
    if (!self.guard_) return nullptr;
    return &asio::query(self.guard_->get_executor(), asio::execution::context);
  }

  /// Owns the operation on its way through the handler's executor, so that a context that is destroyed drops it.
  class posted {
   public:
    explicit posted(admit_operation* operation) noexcept : operation_(operation) {}
    posted(posted&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
    posted& operator=(posted&&) = delete;
    ~posted() {
      if (operation_ != nullptr) act(*operation_, action::drop);
    }
    void operator()() { act(*std::exchange(operation_, nullptr), action::invoke); }

   private:
    admit_operation* operation_;
  };

  Handler handler_;
  std::optional<work_guard> guard_;
};

/// The executor a handler without one of its own runs on.
[[nodiscard]] const asio::any_io_executor& home_executor(const gate& where) noexcept;

struct initiate_admit {
  gate* where;

  template <typename Handler>
  void operator()(Handler&& handler, const core::request& what) const {
    admit_operation<std::decay_t<Handler>>::start(*where, home_executor(*where), std::forward<Handler>(handler), what);
  }
};

}  // namespace sluice::detail
