/// \file
/// `caller`: one call to the model, with the attempts that it takes. The same in every arm.
#pragma once

#include "tally.hpp"

#include <sluice/core/expected.hpp>
#include <sluice/core/time.hpp>
#include <sluice/llm/client.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/sim/random.hpp>

#include <asio/awaitable.hpp>

#include <array>
#include <cstdint>
#include <utility>

namespace contention {

/// A reply, and when its first token came: `never` when it was not streamed.
class answer {
 public:
  explicit answer(sluice::llm::reply got, sluice::instant first = sluice::never)
      : reply(std::move(got)), first_token(first) {}

  sluice::llm::reply reply;
  sluice::instant first_token;
};

/// Whether the answer is to come as it is produced.
enum class delivery {
  /// In one piece.
  whole,
  /// As a stream.
  streamed,
};

/// Thread safety: for one thread. Lifetime: what it is made of must outlive it, and it must outlive its calls.
class caller {
 public:
  using result = sluice::expected<answer, sluice::llm::failure>;

  /// `limit` may be null: then the client's own gate is all that there is.
  caller(sluice::llm::client& client, sluice::bulkhead* limit, std::uint64_t seed)
      : client_(client), limit_(limit), dice_(seed) {}

  /// Asks until there is an answer, an error that another attempt cannot mend, or the deadline; at most four times.
  /// Between attempts it waits as long as the provider asks, and nothing is held meanwhile. Every failed attempt goes
  /// into `notes`.
  [[nodiscard]] asio::awaitable<result> ask(sluice::llm::request what, sluice::llm::call_options how, delivery as,
                                            tally& notes);

  /// How many calls wait for the plain limit now.
  [[nodiscard]] std::int64_t waiting(sluice::workload which) const { return waiting_.at(which.index()); }
  [[nodiscard]] sluice::bulkhead& gate() const { return client_.gate(); }
  [[nodiscard]] sluice::llm::client& client() const { return client_; }

 private:
  [[nodiscard]] asio::awaitable<result> attempt(sluice::llm::request what, sluice::llm::call_options how, delivery as);
  [[nodiscard]] asio::awaitable<result> stream(sluice::llm::request what, sluice::llm::call_options how);
  [[nodiscard]] sluice::duration pause(const sluice::llm::failure& why, int attempts);

  sluice::llm::client& client_;
  sluice::bulkhead* limit_;
  sluice::sim::random dice_;
  std::array<std::int64_t, 2> waiting_{};
};

}  // namespace contention
