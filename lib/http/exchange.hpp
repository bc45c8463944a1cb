/// \file
/// `exchange`: one request on its way and its answer coming back, between the coroutine that owns it and the engine
/// that drives it. All members are guarded by the engine's lock unless said otherwise.
#pragma once

#include "http/answer.hpp"
#include "http/curl_engine.hpp"
#include "http/limit_clock.hpp"
#include "runtime/context_hook.hpp"

#include <sluice/core/error.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/runtime/stop_signal.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/use_awaitable.hpp>

#include <curl/curl.h>

#include <memory>
#include <optional>

namespace sluice::http {

class easy_handle;

/// The suspended coroutine.
using resumption = asio::async_result<asio::use_awaitable_t<>, void()>::handler_type;

class exchange final : public time_source::entry,
                       public context_hook,
                       public stop_signal::listener,
                       public std::enable_shared_from_this<exchange> {
 public:
  /// What a coroutine can wait for. The end of the exchange satisfies each.
  enum class stage {
    /// The answer's head.
    head,
    /// Bytes of its body.
    body,
  };

  exchange(std::shared_ptr<curl_engine> engine, request what);
  ~exchange();

  // For the owning coroutine, without the engine's lock.

  /// Hands the request to the engine; the error when it cannot even begin.
  [[nodiscard]] std::optional<error> begin();
  /// Completes when `what` is there. Cancellation of any type ends the exchange.
  [[nodiscard]] asio::awaitable<void> wait(stage what);
  /// After waiting for the head: why there is none.
  [[nodiscard]] std::optional<error> head_failure();
  /// What there is of the body; nothing when it has to be waited for.
  [[nodiscard]] std::optional<expected<std::string, error>> take_body();
  /// Whether waiting would end at once.
  [[nodiscard]] bool has(stage what);
  /// The head does not change once it is there, nor do its times.
  [[nodiscard]] const answer& received() const noexcept { return answer_; }
  [[nodiscard]] const exchange_times& times() const noexcept { return times_; }

  // For the engine, under its lock.

  [[nodiscard]] bool is_running() const noexcept { return easy_ != nullptr; }
  /// The error for libcurl's `result`.
  [[nodiscard]] error explain(CURLcode result) const;
  /// It is over, well or with `failure`.
  void end(std::optional<error> failure) noexcept;
  [[nodiscard]] bool is_waiting() const noexcept { return waiter_.has_value(); }
  [[nodiscard]] resumption take_waiter() noexcept;

  // libcurl's callbacks: they note facts and never run anybody's code.

  static std::size_t on_body(char* bytes, std::size_t one, std::size_t count, void* handle) noexcept;
  static std::size_t on_head_line(char* bytes, std::size_t one, std::size_t count, void* handle) noexcept;
  static int on_connected(void* handle, char* peer_address, char* address, int peer_port, int port) noexcept;
  static curl_socket_t on_open_socket(void* handle, curlsocktype purpose, curl_sockaddr* address) noexcept;

 private:
  friend class curl_engine;

  void due(instant now) noexcept override;
  void context_gone() noexcept override;
  void on_stop() noexcept override;

  void suspend(stage what, resumption self);
  void check_limits();
  [[nodiscard]] bool has_now(stage what) const noexcept;
  [[nodiscard]] bool is_stopped() const noexcept;
  [[nodiscard]] error limit_error(errc which) const;
  [[nodiscard]] error stop_error() const;
  [[nodiscard]] std::string peer() const;
  void refuse() noexcept;
  [[nodiscard]] bool maybe_http2() const noexcept;
  [[nodiscard]] bool is_connected() const noexcept { return times_.connected != never; }
  void wake_if_satisfied() noexcept;
  void watch_limits();

  const std::shared_ptr<curl_engine> engine_;
  const request request_;
  answer answer_;
  limit_clock limits_;
  exchange_times times_;
  instant armed_for_ = never;
  easy_handle* easy_ = nullptr;
  std::optional<error> failure_;
  bool refused_ = false;
  bool paused_ = false;
  bool ended_ = false;
  bool end_was_read_ = false;
  // What still comes is thrown away.
  bool is_given_up_ = false;

  std::optional<resumption> waiter_;
  asio::any_io_executor waiter_work_;
  stage wanted_ = stage::head;

  // The same for all that share a connection; zero when it is not known, or cannot be shared.
  std::size_t connection_ = 0;

  // The engine's lists.
  exchange* next_ready_ = nullptr;
  bool is_ready_ = false;
  std::size_t place_ = 0;
  bool is_touched_ = false;
  // Bytes of the body in one step, and whether there once were many.
  std::size_t burst_ = 0;
  bool had_burst_ = false;
};

}  // namespace sluice::http
