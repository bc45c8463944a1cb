/// \file
/// `any_client`: whoever answers requests: a client, or what stands before clients (`router`, `hedge`,
/// `single_flight`).
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/any_stream.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/awaitable.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace sluice::llm {

/// Refers to something with the `chat`, `stream`, `estimate` and `gate` of a `client`; it owns nothing, and what it
/// refers to must outlive it. Cheap to copy. So that what stands before clients can stand before each other: a
/// `single_flight` over a `hedge` over a `router`.
///
/// Thread safety: that of what it refers to.
class any_client {
 public:
  /// Implicit, from a client or anything that is like one.
  template <typename Client>
  requires(!std::is_same_v<std::remove_cv_t<Client>, any_client> && requires(Client & who) { who.gate(); })
      any_client(Client& who)
  noexcept : who_(std::addressof(who)), how_(&operations_of<Client>) {}

  [[nodiscard]] asio::awaitable<expected<reply, failure>> chat(request what, call_options options = {}) const {
    return how_->chat(who_, std::move(what), options);
  }
  [[nodiscard]] asio::awaitable<expected<any_stream, failure>> stream(request what, call_options options = {}) const {
    return how_->stream(who_, std::move(what), options);
  }
  [[nodiscard]] expected<cost, failure> estimate(const request& what, const call_options& options = {}) const {
    return how_->estimate(who_, what, options);
  }
  [[nodiscard]] bulkhead& gate() const noexcept { return how_->gate(who_); }

 private:
  struct operations {
    asio::awaitable<expected<reply, failure>> (*chat)(void*, request, call_options);
    asio::awaitable<expected<any_stream, failure>> (*stream)(void*, request, call_options);
    expected<cost, failure> (*estimate)(const void*, const request&, const call_options&);
    bulkhead& (*gate)(void*) noexcept;
  };

  template <typename Client>
  static asio::awaitable<expected<any_stream, failure>> open(Client& who, request what, call_options options) {
    auto opened = co_await who.stream(std::move(what), options);
    if (!opened) co_return unexpected<failure>(std::move(opened).error());
    co_return any_stream(*std::move(opened));
  }

  template <typename Client>
  static constexpr operations operations_of{
      [](void* who, request what, call_options options) {
        return static_cast<Client*>(who)->chat(std::move(what), options);
      },
      [](void* who, request what, call_options options) {
        return open(*static_cast<Client*>(who), std::move(what), options);
      },
      [](const void* who, const request& what, const call_options& options) {
        return static_cast<const Client*>(who)->estimate(what, options);
      },
      [](void* who) noexcept -> bulkhead& { return static_cast<Client*>(who)->gate(); }};

  void* who_;
  const operations* how_;
};

}  // namespace sluice::llm
