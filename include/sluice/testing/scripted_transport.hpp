/// \file
/// `scripted_transport`: an `http::transport` without a network, for tests of what stands on it: it answers by a
/// script, and tells what was asked and what became of each exchange.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/http/transport.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::testing {

class script_player;
class script_stage;

/// What one exchange does, step by step. A plain value; the functions chain:
/// `scripted_exchange(200).with_chunk("data: 1\n\n").with_pause().with_chunk("data: [DONE]\n\n")`.
class scripted_exchange {
 public:
  /// Answers with that status; an empty body unless there are chunks.
  explicit scripted_exchange(int status = 200) : status_(status) {}
  /// Fails instead of an answer.
  [[nodiscard]] static scripted_exchange failure(errc code, std::string message = {});
  /// Takes the request and never answers.
  [[nodiscard]] static scripted_exchange silent();

  [[nodiscard]] scripted_exchange with_header(std::string name, std::string value) &&;
  /// Holds the head back until it is released.
  [[nodiscard]] scripted_exchange with_pause_before_head() &&;
  /// One `read` gives exactly these bytes. Empty ones are left out.
  [[nodiscard]] scripted_exchange with_chunk(std::string bytes) &&;
  /// Holds everything that follows back until it is released.
  [[nodiscard]] scripted_exchange with_pause() &&;
  /// The body breaks off with this error.
  [[nodiscard]] scripted_exchange with_failure(errc code, std::string message = {}) &&;
  /// The body goes on, but nothing ever comes.
  [[nodiscard]] scripted_exchange with_silence() &&;

 private:
  friend class script_player;

  // What a step does.
  enum class step_kind {
    // Waits for a release.
    pause,
    // The head arrives.
    head,
    // Bytes of the body.
    chunk,
    // The exchange fails.
    failure,
    // Waits for ever.
    silence,
  };
  struct step {
    step_kind what;
    std::string bytes;
    error why;
  };

  scripted_exchange with_step(step_kind what, std::string bytes = {}, error why = {}) &&;

  int status_;
  std::vector<http::header> headers_;
  std::vector<step> steps_{{step_kind::head, {}, {}}};
};

/// Answers requests in order of the script. Without an exchange left in it, and without a handler, a request fails with
/// `errc::connect_failed`. Requests are neither checked nor limited: `limits` and `max_body` are recorded, not applied.
///
/// An exchange is open from the call of `send` until its end was read (the empty string), it failed, or its caller
/// left: by cancellation, by dropping the response before its end, or by dropping the coroutine; or until it was
/// stopped (`http::request::stop`), which counts as cancelled. One that was stopped before is not sent, and leaves the
/// script alone.
///
/// Thread safety: all members may be called from any thread.
/// Lifetime: as `http::transport`; it may be destroyed before or after the executors that its users run on.
class scripted_transport final : public http::transport {
 public:
  using handler = std::function<scripted_exchange(const http::request&)>;

  scripted_transport();
  ~scripted_transport() override;

  /// Adds an exchange to the script.
  void add(scripted_exchange next);
  /// Asks `make` when the script is used up. Called on the caller's thread, without any lock held.
  void on_request(handler make);

  [[nodiscard]] asio::awaitable<expected<std::unique_ptr<http::response>, error>> send(http::request what) override;

  /// Lets exchange `number` (from 0, in order of `send`) pass one pause: the one it is in, or the next it comes to.
  void release(std::size_t number);
  /// Lets every exchange that is in a pause, or will come to one, pass all of them.
  void release_all();

  /// What was asked, in order.
  [[nodiscard]] std::vector<http::request> requests() const;
  /// Exchanges that are open now.
  [[nodiscard]] std::size_t open() const;
  /// Exchanges whose caller left before their end.
  [[nodiscard]] std::size_t cancelled() const;
  /// Exchanges whose body was read to its end.
  [[nodiscard]] std::size_t finished() const;
  /// Exchanges that the script still holds.
  [[nodiscard]] std::size_t unused() const;

 private:
  std::shared_ptr<script_stage> stage_;
};

}  // namespace sluice::testing
