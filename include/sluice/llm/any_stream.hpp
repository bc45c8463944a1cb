/// \file
/// `any_stream`: a streamed answer, whoever gives it: a client, a router, one that is shared or raced.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/stream.hpp>
#include <sluice/llm/stream_event.hpp>

#include <asio/awaitable.hpp>

#include <memory>
#include <optional>

namespace sluice::llm {

/// A streamed answer under way; read as a `stream`. Move-only. What it holds is let go when the answer has ended or
/// failed, or this is destroyed.
///
/// Thread safety: distinct ones only; `next` from one coroutine at a time.
/// Lifetime: what it came from must live while `next` runs; it may be destroyed after that.
class [[nodiscard]] any_stream {
 public:
  /// What is behind it. Derive from it to give streams of one's own.
  class source {
   public:
    virtual ~source() = default;
    /// As `any_stream::next`.
    [[nodiscard]] virtual asio::awaitable<expected<std::optional<stream_event>, failure>> next() = 0;
    /// As `any_stream::result`.
    [[nodiscard]] virtual const reply& result() const noexcept = 0;
  };

  any_stream() noexcept;
  /// Implicit: a stream of a client is one of any.
  any_stream(llm::stream from);
  explicit any_stream(std::unique_ptr<source> from) noexcept;
  any_stream(any_stream&&) noexcept;
  any_stream& operator=(any_stream&&) noexcept;
  ~any_stream();

  /// The next event; nothing when the answer is whole and all of it has been handed out.
  /// Cancellation: terminal; it then holds nothing any more, and `errc::cancelled` comes back.
  /// Errors: as `stream::next`; from then on the same one always. On an empty one: `errc::invalid_argument`.
  [[nodiscard]] asio::awaitable<expected<std::optional<stream_event>, failure>> next();

  /// The answer so far, as `stream::result`. On an empty one: an empty reply.
  [[nodiscard]] const reply& result() const noexcept;

 private:
  std::unique_ptr<source> source_;
};

}  // namespace sluice::llm
