/// \file
/// `curl_engine`: libcurl's multi interface on an Asio executor. One lock guards libcurl and all exchanges; no user's
/// code runs under it. libcurl owns every descriptor; the loop waits for one only, that of the `descriptor_set`.
#pragma once

#include "http/descriptor_set.hpp"
#include "http/text_list.hpp"
#include "runtime/context_hook.hpp"

#include <sluice/http/curl_options.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <curl/curl.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace sluice::http {

class easy_handle;
class exchange;

class curl_engine final : public context_hook, public std::enable_shared_from_this<curl_engine> {
 public:
  /// Throws `error_exception` when an option does not hold, or libcurl cannot be set up.
  [[nodiscard]] static std::shared_ptr<curl_engine> make(const asio::any_io_executor& executor, time_source& time,
                                                         curl_options options);
  ~curl_engine();

  /// Cancels what is running and lets go of libcurl. Idempotent.
  void close() noexcept;

  // For exchanges. Each takes the lock, or is handed it.

  using guard = std::unique_lock<std::mutex>;
  [[nodiscard]] guard lock() {
    guard held(mutex_);
    now_ = never;
    return held;
  }
  /// The present, read once while the lock is held.
  [[nodiscard]] instant now() noexcept {
    if (now_ == never) now_ = time_.now();
    return now_;
  }
  [[nodiscard]] bool is_open(const guard&) const noexcept { return multi_ != nullptr; }
  /// Takes a handle for `what` and queues its start.
  void start(const guard&, exchange& what);
  /// Takes `what` out of libcurl at once, and ends it with `failure`.
  void stop(const guard&, exchange& what, std::optional<error> failure) noexcept;
  /// Lets libcurl deliver again what it held back.
  void resume_reading(const guard&, exchange& what);
  /// Puts `what` into the line of those whose waiter is to be resumed.
  void mark_ready(exchange& what) noexcept;
  void unmark_ready(exchange& what) noexcept;
  /// `what` has had bytes over a connection that may be HTTP/2; for libcurl's callbacks.
  void mark_touched(exchange& what);
  /// What has to happen after libcurl was called. Resumes the ready ones: from here when `in_place`, which only a
  /// handler of the engine's own may ask for, else by posting.
  void settle(guard held, bool in_place);

  [[nodiscard]] time_source& time() const noexcept { return time_; }
  [[nodiscard]] const curl_options& options() const noexcept { return options_; }
  /// The list of `curl_options::resolve`, or null.
  [[nodiscard]] curl_slist* known_addresses() noexcept { return known_address_list_; }
  /// What is between us and all hosts, to be said after a host's name, or empty.
  [[nodiscard]] const std::string& route() const noexcept { return route_; }
  [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
  [[nodiscard]] bool lives_in_context_of(const asio::any_io_executor& other) const noexcept;

  /// libcurl has opened `socket`.
  void socket_opened(curl_socket_t socket) noexcept { sockets_.renew(socket); }
  static int on_close_socket(void* engine, curl_socket_t socket) noexcept;

 private:
  enum class farewell {
    /// Their coroutines learn that they were cancelled.
    resume_all,
    /// The engine's context is dying, and nothing can run there any more.
    drop_own,
  };

  curl_engine(const asio::any_io_executor& executor, time_source& time, curl_options options);
  void open();
  void context_gone() noexcept override;
  void shut(farewell how) noexcept;

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* engine, void* unused) noexcept;
  static int on_timer(CURLM* multi, long milliseconds, void* engine) noexcept;

  void on_ready();
  void on_kick();
  void on_timer_due(std::uint64_t generation);
  void act(curl_socket_t socket, int directions);
  void run_due();
  void run_bursting();
  static void touch(exchange& what) noexcept;
  void collect();
  void release_handle(exchange& what, bool clean) noexcept;
  void flush_connection_of(const exchange& what) noexcept;
  void wait_for_sockets();
  void arm_timer();
  void stop_timer() noexcept;
  void post_kick();
  void resume_ready(guard& held, bool in_place);

  const asio::any_io_executor executor_;
  time_source& time_;
  const curl_options options_;
  const std::string route_;
  text_list known_addresses_;
  curl_slist* const known_address_list_;

  std::mutex mutex_;
  instant now_ = never;
  CURLM* multi_ = nullptr;
  std::vector<exchange*> running_;
  std::vector<std::unique_ptr<easy_handle>> handles_;
  std::vector<easy_handle*> idle_handles_;

  descriptor_set sockets_;
  std::optional<asio::posix::stream_descriptor> sockets_ready_;
  bool waiting_for_sockets_ = false;

  std::optional<asio::steady_timer> timer_;
  std::chrono::steady_clock::time_point curl_due_ = std::chrono::steady_clock::time_point::max();
  std::chrono::steady_clock::time_point timer_due_ = std::chrono::steady_clock::time_point::max();
  std::uint64_t timer_generation_ = 0;
  bool kick_ = false;
  bool kick_posted_ = false;

  std::vector<exchange*> touched_;
  std::vector<exchange*> bursting_;

  exchange* first_ready_ = nullptr;
  exchange* last_ready_ = nullptr;
};

}  // namespace sluice::http
