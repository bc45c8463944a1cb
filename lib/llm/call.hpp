/// \file
/// `call`: one call, from its request to an exchange that is answering under its permit. What plain and streamed calls
/// have in common.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/request.hpp>

#include "llm/endpoint.hpp"
#include "llm/meter.hpp"

#include <asio/awaitable.hpp>

#include <memory>
#include <string>

namespace sluice::llm::detail {

/// An exchange whose head has arrived, and its permit. Whichever way it ends, the exchange is closed before its permit is.
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
      : endpoint_(std::move(where)), request_(std::move(what)), options_(how), streamed_(streamed) {}

  /// Encodes and estimates: all that can fail before anything is asked for.
  expected<void, failure> prepare();

  /// Waits for admission and sends; gives an exchange that answers with success. Failures have ended their permit.
  asio::awaitable<expected<exchange, failure>> begin();

  /// The next bytes of the body; empty at its end.
  asio::awaitable<expected<std::string, failure>> read(exchange& from) { return read(*from.answer, from.account); }

  /// Whether to begin again, after a failure that came before anything was handed out. Then it keeps its age.
  [[nodiscard]] bool comes_again(const failure& why) const {
    return why.is(errc::preempted) && options_.requeue_when_preempted;
  }

  [[nodiscard]] const endpoint& where() const noexcept { return *endpoint_; }

 private:
  expected<void, failure> encode(bool ask_usage);
  asio::awaitable<expected<std::unique_ptr<http::response>, failure>> send(meter& account);
  asio::awaitable<expected<std::string, failure>> read(http::response& from, meter& account);
  asio::awaitable<expected<failure, failure>> read_refusal(http::response& from, meter& account);
  [[nodiscard]] failure interrupted(error why, permit& held, call_phase when);

  std::shared_ptr<endpoint> endpoint_;
  request request_;
  call_options options_;
  bool streamed_;
  reservation reserved_{};
  std::string body_;
  bool asks_usage_ = false;
  bool usage_refused_ = false;
};

}  // namespace sluice::llm::detail
