/// \file
/// `shared_exchange`: one exchange that several callers wait for; `exchange_book`: those that may be joined.
#pragma once

#include "runtime/waiting_call.hpp"

#include <sluice/llm/any_client.hpp>
#include <sluice/llm/single_flight.hpp>

#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/strand.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::llm::detail {

class shared_exchange;

/// One caller of a shared exchange. Its members are guarded by the book's mutex.
class seat final : public sluice::detail::waiting_call {
 public:
  seat(time_source& time, std::shared_ptr<shared_exchange> of) noexcept
      : sluice::detail::waiting_call(time), of_(std::move(of)) {}

 private:
  friend class shared_exchange;
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  bool leave(ending why) noexcept override;

  const std::shared_ptr<shared_exchange> of_;
  bool aboard_ = true;
  /// In the exchange's list of those that wait.
  std::size_t place_ = nowhere;
};

/// How an exchange has ended; it does not change after that.
struct landing {
  std::optional<reply> answer;
  std::optional<failure> failed;
  std::exception_ptr thrown;
};

class shared_exchange : public std::enable_shared_from_this<shared_exchange> {
 public:
  shared_exchange(std::shared_ptr<exchange_book> book, std::string key, const any_client& over,
                  const call_options& leaders);

  /// What a caller finds.
  struct sight {
    bool opened = false;
    std::shared_ptr<const stream_event> event;
    /// Not null when it has ended and there is no event left to see.
    std::shared_ptr<const landing> ended;
  };

  /// Begins; once.
  void start(request what, bool streamed);
  /// What there is for one who has seen `given` events. When there is nothing, `who` is woken by the next thing that
  /// happens; one who waits for its head sees events only after that.
  [[nodiscard]] sight look(seat& who, std::size_t given, bool for_head);
  /// `who` goes, for whatever reason. True when it need not wait for the exchange to stop.
  bool leave(seat& who) noexcept;

  const call_options how;

 private:
  friend class exchange_book;
  class ending_guard;

  static asio::awaitable<void> run_chat(ending_guard guard, request what);
  static asio::awaitable<void> run_stream(ending_guard guard, request what);
  void opened() noexcept;
  void add(stream_event event);
  void end(landing how_it_ended) noexcept;
  [[nodiscard]] std::vector<std::shared_ptr<seat>> take_waiting() noexcept;

  const std::shared_ptr<exchange_book> book_;
  const std::string key_;
  const any_client over_;
  asio::cancellation_signal signal_;

  // Guarded by the book's mutex.
  /// Until it has ended: a strand must not outlive its context, as callers may.
  std::optional<asio::strand<asio::any_io_executor>> strand_;
  std::size_t aboard_ = 0;
  bool open_ = false;
  std::vector<std::shared_ptr<seat>> waiting_;
  std::vector<std::shared_ptr<const stream_event>> events_;
  std::shared_ptr<const landing> ended_;
};

/// A caller's hold on its exchange, which it leaves at the latest here.
class boarding {
 public:
  boarding(std::shared_ptr<shared_exchange> which, std::shared_ptr<seat> where, bool first) noexcept
      : exchange(std::move(which)), place(std::move(where)), leads(first) {}
  boarding(boarding&&) noexcept = default;
  boarding& operator=(boarding&&) = delete;
  ~boarding() { leave(); }

  void leave() noexcept {
    if (exchange) exchange->leave(*place);
  }
  /// Until when to wait: the exchange ends by its own deadline, and says more about it.
  [[nodiscard]] instant patience(instant deadline) const noexcept {
    return deadline == exchange->how.deadline ? never : deadline;
  }

  std::shared_ptr<shared_exchange> exchange;
  std::shared_ptr<seat> place;
  bool leads;
};

class exchange_book : public std::enable_shared_from_this<exchange_book> {
 public:
  explicit exchange_book(const any_client& over) noexcept : over_(over) {}

  /// A place in an exchange under `key` that serves such a call; a new one, not yet started, when there is none.
  [[nodiscard]] boarding board(const std::string& key, const call_options& how);

  void went_alone();
  void saved(const token_usage& taken);
  [[nodiscard]] single_flight_statistics statistics() const;

 private:
  friend class shared_exchange;

  [[nodiscard]] bool serves(const call_options& leaders, const call_options& callers) const;
  void forget(const shared_exchange& which) noexcept;

  const any_client over_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::vector<shared_exchange*>> open_;
  single_flight_statistics counts_;
};

}  // namespace sluice::llm::detail
