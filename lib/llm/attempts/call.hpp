/// \file
/// `call`: one call, from its request to an exchange that is answering under its permit, and to another one when that
/// fails. What plain and streamed calls have in common.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/runtime/stop_signal.hpp>

#include "llm/attempts/attempt_log.hpp"
#include "llm/attempts/attempts.hpp"
#include "llm/attempts/endpoint.hpp"
#include "llm/estimates/meter.hpp"

#include <asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::llm::detail {

/// An exchange whose head has arrived, and its permit. Whichever way it ends, the exchange is closed before its permit
/// is.
class exchange {
 public:
  exchange(meter held, std::unique_ptr<http::response> head) noexcept
      : account(std::move(held)), answer(std::move(head)) {}
  exchange(exchange&&) noexcept = default;
  exchange& operator=(exchange&&) = delete;
  ~exchange() = default;

  meter account;
  std::unique_ptr<http::response> answer;
};

class call {
 public:
  call(std::shared_ptr<endpoint> where, request what, const call_options& how, bool streamed)
      : endpoint_(std::move(where)),
        request_(std::move(what)),
        options_(how),
        streamed_(streamed),
        tries_(*endpoint_, options_),
        log_(endpoint_) {}

  /// Encodes and estimates: all that can fail before anything is asked for.
  expected<void, failure> prepare();
  /// The same for what is left of an answer of which this has come.
  expected<void, failure> go_on_from(const reply& so_far);

  /// Waits for admission and sends; gives an exchange that answers with success. Failures have ended their permit.
  asio::awaitable<expected<exchange, failure>> begin();

  /// The next bytes of the body; empty at its end.
  asio::awaitable<expected<std::string, failure>> read(exchange& from);

  /// The first of the answer has come.
  void answered() { log_.first_token(); }
  /// The answer is whole: ends the permit.
  void succeeded(exchange& from);
  /// The exchange has failed. What it leaves behind for the next attempt is taken from it; the permit is still to be
  /// ended.
  void failed(exchange& from, failure& why) { note(why, from.account); }
  /// Nobody wants the answer any more. The gate may be gone.
  void abandoned(exchange& from) noexcept { log_.abandon(from.account.taken()); }
  /// The same, with a reason and the time.
  void left(exchange& from, const failure& why, instant now) { log_.end(from.account.taken(), &why, now); }
  /// It was stopped, and nobody waited for it: as `failed`, but the gate may be gone.
  void stopped(exchange& from, instant now);

  /// What stops the exchange under way; null when nothing can.
  [[nodiscard]] const std::shared_ptr<stop_signal>& stop() const noexcept { return stop_; }
  /// Why it was stopped. Precondition: it was.
  [[nodiscard]] failure stopped_failure(call_phase when) const;

  /// Whether there is to be another attempt after `wait`; then this keeps its age. If not, `why` is made into the
  /// call's failure.
  [[nodiscard]] bool again(failure& why, bool possible = true);
  /// False when it was cancelled, which is `cancelled` then.
  [[nodiscard]] asio::awaitable<bool> wait() { return tries_.wait(); }
  [[nodiscard]] failure cancelled() const { return tries_.cancelled(); }

  [[nodiscard]] endpoint& where() const noexcept { return *endpoint_; }
  [[nodiscard]] instant deadline() const noexcept { return options_.deadline; }

 private:
  expected<void, failure> encode(bool ask_usage);
  asio::awaitable<expected<std::unique_ptr<http::response>, failure>> ask();
  asio::awaitable<expected<std::unique_ptr<http::response>, failure>> send();
  asio::awaitable<expected<std::string, failure>> read(http::response& from);
  asio::awaitable<expected<void, failure>> read_refusal(http::response& from, std::string& body);
  [[nodiscard]] asio::awaitable<expected<failure, failure>> refusal_of(http::response& from);
  [[nodiscard]] bool is_stopped() const noexcept { return stop_ && stop_->stopped() != stop_cause::none; }
  [[nodiscard]] failure interrupted(error why, call_phase when) const;
  void note(failure& why, meter& account);

  std::shared_ptr<endpoint> endpoint_;
  request request_;
  call_options options_;
  bool streamed_;
  reservation reserved_{};
  std::string body_;
  bool asks_usage_ = false;
  bool usage_refused_ = false;
  /// Of an answer that is continued: how it began, and the limit on all of it.
  bool continued_ = false;
  std::string begun_by_caller_;
  std::optional<std::int64_t> output_limit_;
  std::shared_ptr<stop_signal> stop_;
  attempts tries_;
  attempt_log log_;
};

}  // namespace sluice::llm::detail
