/// \file
/// `mock_provider`: a model provider for tests: a real HTTP server on loopback, in process, with a model of its speed,
/// scripted answers, faults on demand, and counters to take the truth from.
#pragma once

#include <sluice/testing/mock_fault.hpp>
#include <sluice/testing/mock_reply.hpp>
#include <sluice/testing/mock_request.hpp>
#include <sluice/testing/mock_stats.hpp>
#include <sluice/testing/provider_model.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::testing {

/// How to set up a mock provider. A plain value.
class mock_provider_options {
 public:
  mock_provider_options() = default;
  explicit mock_provider_options(provider_model speed) : model(speed) {}

  /// Its speed. Without delays unless said otherwise.
  provider_model model = provider_model::instant();
  /// When not empty: requests must carry it as `authorization: Bearer KEY`, `api-key: KEY` or `x-api-key: KEY`, else
  /// they get 401.
  std::string api_key;
  /// Larger request bodies are answered with 413.
  std::size_t max_body = std::size_t{16} << 20;
  /// How many of the latest requests for an answer are kept for `requests()`.
  std::size_t keep_requests = 64;
  /// The names that `GET /v1/models` lists. A request may name any model.
  std::vector<std::string> models{"mock-model"};
  /// Zero: any free one.
  std::uint16_t port = 0;
  /// When not empty: the path of a Unix socket, on which it listens as well.
  std::string unix_socket;
};

/// Speaks OpenAI's `POST /v1/chat/completions` and `POST /v1/responses` and Anthropic's `POST /v1/messages`, each plain
/// and streamed (chunked SSE), and `GET /v1/models`, over HTTP/1.1 with keep-alive, on 127.0.0.1. One script serves
/// them all. Requests that the real ones would refuse are refused, in the form that theirs have: 400, 401, 404, 405,
/// 413. Every answer carries `x-request-id` and the `x-ratelimit-*` headers, or Anthropic's. What it answers is, in
/// this order: a fault (`fail_*`), 429 when slots and queue are full, the handler's reply, the first matching
/// `reply_when`, the next `reply_with`, else words.
///
/// A client that goes away is noticed at once, in whatever state its request is; its slot is free then.
///
/// Thread safety: all members may be called from any thread, except that `stop` and the destructor must not be called
/// from a callback. The server has one thread of its own, and calls callbacks on it, without any lock held.
class mock_provider {
 public:
  using predicate = std::function<bool(const mock_request&)>;
  using handler = std::function<mock_reply(const mock_request&)>;

  /// Listens when it returns. Throws `error_exception` when it cannot.
  explicit mock_provider(mock_provider_options options = {});
  explicit mock_provider(provider_model speed) : mock_provider(mock_provider_options(speed)) {}
  mock_provider(const mock_provider&) = delete;
  mock_provider& operator=(const mock_provider&) = delete;
  /// Stops it.
  ~mock_provider();

  /// `http://127.0.0.1:PORT/v1`; stays the same after `stop`.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Answers the next request that nothing else claims, once. Replies wait in order.
  void reply_with(mock_reply reply);
  /// Answers every request that `matches`, until `clear_replies`.
  void reply_when(predicate matches, mock_reply reply);
  /// Asks `make` for every reply; an empty one takes it away.
  void on_request(handler make);
  /// Forgets replies, predicates and the handler.
  void clear_replies();

  /// Puts `fault` on the next `count` requests for an answer. Several calls queue up.
  void fail_next(mock_fault fault, std::size_t count = 1);
  /// Puts `fault` on every request for an answer that `matches`.
  void fail_when(predicate matches, mock_fault fault);
  /// Puts `fault` on a share of the requests for an answer, 0 to 1; which ones depends on `seed` and their number
  /// alone.
  void fail_rate(double share, mock_fault fault, std::uint64_t seed = 1);
  /// Takes all faults away.
  void clear_faults();

  /// Another speed from now on. What runs goes on at the new one; what it has produced stays.
  void set_model(provider_model model);
  /// The model's time stands still: requests are taken on, but nothing moves until `thaw`.
  void freeze();
  void thaw();

  /// What happened so far. It reflects everything whose outcome a client has received.
  [[nodiscard]] mock_stats stats() const;
  /// Blocks until `reached(stats)`, at most for `limit`; false when the limit passed. `reached` is called with every
  /// change, and must not call the provider. Unlike `stats`, it does not wait for the server's thread first.
  [[nodiscard]] bool wait_until(const std::function<bool(const mock_stats&)>& reached,
                                duration limit = std::chrono::seconds(20)) const;
  /// The latest requests for an answer, oldest first.
  [[nodiscard]] std::vector<mock_request> requests() const;

  /// Kills it: closes the listener and every connection, in whatever state they are. Callable again.
  void stop();

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace sluice::testing
