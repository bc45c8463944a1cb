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
#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace sluice::detail {

/// What the gate sees of an operation. The members belong to the gate, under its mutex, until it calls `act`.
class waiter {
 public:
  enum class phase : std::uint8_t { waiting, granted, rejected };
  enum class action : std::uint8_t {
    /// Invoke the handler here: this thread runs its executor.
    invoke,
    /// Invoke the handler through its own executor.
    dispatch,
    /// Destroy the handler without invoking it: its context is going away.
    drop,
    /// Ask for the memory that the handler will need: it is invoked soon.
    approach,
  };
  using actor = void (*)(waiter&, action);

  /// `abroad`: the context of the handler's executor, null when that is the gate's own; then `near` is some address in
  /// the memory of whoever waits, if one is known.
  waiter(gate& where, actor how, asio::execution_context* abroad, const void* near) noexcept
      : abroad_(abroad != nullptr), gate_(&where), actor_(how) {
    if (abroad_) {
      context_ = abroad;
    } else {
      near_ = near;
    }
  }
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Ends the operation, unless it is `approach`; the waiter is gone afterwards.
  void act(action how) { actor_(*this, how); }

  /// Asks for the memory of the waiter itself.
  void prefetch() const noexcept { prefetch(this, 2); }

  [[nodiscard]] gate& where() const noexcept { return *gate_; }
  /// The context of the handler's executor; null when that is the gate's own executor.
  [[nodiscard]] asio::execution_context* context() const noexcept { return abroad_ ? context_ : nullptr; }

  /// Says that it was turned away, at most once.
  void refuse(rejection why) noexcept {
    ::new (static_cast<void*>(&refused_)) rejection(std::move(why));
    state_ = phase::rejected;
  }
  void grant(core::request_id as) noexcept {
    id = as;
    state_ = phase::granted;
  }
  [[nodiscard]] phase state() const noexcept { return state_; }

  waiter* next = nullptr;
  core::request_id id{};

 protected:
  ~waiter() {
    if (state_ == phase::rejected) refused_.~rejection();
  }
  /// Precondition: it was turned away. Once.
  [[nodiscard]] rejection take_refusal() noexcept { return std::move(refused_); }

  /// Nothing is read: an address that means nothing does no harm.
  static void prefetch(const void* start, std::size_t lines) noexcept {
    for (std::size_t line = 0; line < lines; ++line)
      __builtin_prefetch(static_cast<const std::byte*>(start) + line * 64);
  }
  /// Precondition: the handler's executor is the gate's own.
  [[nodiscard]] const void* near() const noexcept { return near_; }

 private:
  // Not an optional: it would need a word more, and `state_` says whether it is there.
  union {
    rejection refused_;
  };
  phase state_ = phase::waiting;
  bool abroad_;
  gate* gate_;
  actor actor_;
  union {
    asio::execution_context* context_;
    const void* near_;
  };
};

template <typename Executor>
[[nodiscard]] asio::execution_context* context_of(const Executor& executor) {
  if constexpr (asio::can_query_v<const Executor&, asio::execution::context_t>) {
    return &asio::query(executor, asio::execution::context);
  } else {
    return &executor.context();
  }
}

/// A waiter with its handler. `Home`: the handler's executor is the gate's own, which then keeps one work guard for
/// all.
template <typename Handler, bool Home>
class admit_operation final : public waiter {
  using executor_type = asio::associated_executor_t<Handler, asio::any_io_executor>;
  struct nothing {
    explicit nothing(const executor_type&) noexcept {}
  };
  using work_guard = std::conditional_t<Home, nothing, asio::executor_work_guard<executor_type>>;

 public:
  /// Makes an operation with the handler's allocator and hands it to the gate.
  static void start(gate& where, Handler&& handler, const executor_type& executor, const core::request& what,
                    const void* near) {
    allocator memory(asio::get_associated_allocator(handler));
    auto* place = std::allocator_traits<allocator>::allocate(memory, 1);
    auto* operation = ::new (static_cast<void*>(place)) admit_operation(where, std::move(handler), executor, near);
    if (auto slot = asio::get_associated_cancellation_slot(operation->handler_); slot.is_connected()) {
      slot.assign([operation](asio::cancellation_type) { cancel(operation->where(), *operation); });
    }
    enqueue(where, *operation, what);
  }

 private:
  using base_allocator = asio::associated_allocator_t<Handler>;
  using allocator = typename std::allocator_traits<base_allocator>::template rebind_alloc<admit_operation>;

  admit_operation(gate& where, Handler&& handler, const executor_type& executor, const void* near)
      : waiter(where, &admit_operation::perform, Home ? nullptr : context_of(executor), near),
        handler_(std::move(handler)),
        guard_(executor) {}

  static void perform(waiter& base, action how) {
    auto& self = static_cast<admit_operation&>(base);
    if (how == action::approach) return self.approach();
    if constexpr (!Home) {
      if (how == action::dispatch) {
        // Hoisted: the order in which arguments are evaluated is not defined.
        const executor_type executor = self.guard_.get_executor();
        asio::post(executor, in_transit(self));
        return;
      }
    }
    if (auto slot = asio::get_associated_cancellation_slot(self.handler_); slot.is_connected()) slot.clear();
    const phase state = self.state();
    permit held = state == phase::granted ? permit_access::make(self.where(), self.id) : permit();
    std::optional<rejection> refused;
    if (state == phase::rejected) refused.emplace(self.take_refusal());
    allocator memory(asio::get_associated_allocator(self.handler_));
    Handler handler(std::move(self.handler_));
    [[maybe_unused]] const work_guard guard(std::move(self.guard_));
    self.~admit_operation();
    std::allocator_traits<allocator>::deallocate(memory, &self, 1);
    if (how != action::invoke) return;
    if (state == phase::granted) {
      std::move(handler)(expected<permit, rejection>(std::move(held)));
    } else {
      std::move(handler)(expected<permit, rejection>(unexpected<rejection>(std::move(*refused))));
    }
  }

  // The pieces of a coroutine lie apart, each pointing at the next; one by one they would be waited for. A handler's
  // first word is most often the address of what it will use first. What was asked for lies in the frame that waits.
  void approach() const noexcept {
    if constexpr (Home && sizeof(Handler) >= sizeof(void*)) {
      const void* first = nullptr;
      std::memcpy(&first, static_cast<const void*>(&handler_), sizeof first);
      prefetch(first, 3);
      prefetch(static_cast<const std::byte*>(near()) - 128, 3);
    }
  }

  /// Owns the operation on its way through the handler's executor, so that a context that is destroyed drops it.
  class in_transit {
   public:
    explicit in_transit(admit_operation& operation) noexcept : operation_(&operation) {}
    in_transit(in_transit&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
    in_transit(const in_transit&) = delete;
    in_transit& operator=(const in_transit&) = delete;
    in_transit& operator=(in_transit&&) = delete;
    ~in_transit() {
      if (operation_ != nullptr) deliver(action::drop);
    }
    void operator()() { deliver(action::invoke); }

   private:
    void deliver(action how) {
      admit_operation& operation = *std::exchange(operation_, nullptr);
      const delivery ends(operation.where());
      operation.act(how);
    }
    admit_operation* operation_;
  };

  Handler handler_;
  [[no_unique_address]] work_guard guard_;
};

struct initiate_admit {
  gate* where;

  template <typename Handler>
  void operator()(Handler&& handler, const core::request& what) const {
    (*this)(std::forward<Handler>(handler), what, &what);
  }

  /// `near`: as for `waiter`.
  template <typename Handler>
  void operator()(Handler&& handler, const core::request& what, const void* near) const {
    using handler_type = std::decay_t<Handler>;
    struct none {};
    if constexpr (std::is_same_v<asio::associated_executor_t<handler_type, none>, none>) {
      const auto executor = home_executor(*where);
      admit_operation<handler_type, true>::start(*where, handler_type(std::forward<Handler>(handler)), executor, what,
                                                 near);
    } else {
      const auto executor = asio::get_associated_executor(handler);
      handler_type own(std::forward<Handler>(handler));
      if constexpr (std::is_convertible_v<decltype(executor), asio::any_io_executor>) {
        if (is_home(*where, executor)) {
          admit_operation<handler_type, true>::start(*where, std::move(own), executor, what, near);
          return;
        }
      }
      admit_operation<handler_type, false>::start(*where, std::move(own), executor, what, near);
    }
  }
};

}  // namespace sluice::detail
