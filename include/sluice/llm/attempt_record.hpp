/// \file
/// `attempt_record`: what happened in one attempt of one call, for observers.
#pragma once

#include <sluice/core/attempt.hpp>
#include <sluice/core/run.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>
#include <sluice/llm/dialect.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sluice::llm {

/// One attempt, when it is over. Instants that were not reached are `never`. A plain value; it holds neither the key
/// nor what was said, unless `client_options::record_bodies` asks for the latter.
class attempt_record {
 public:
  attempt_record() = default;

  /// The same for all attempts of one call; from 1, counted by the client.
  std::uint64_t call = 0;
  /// From 1.
  int number = 1;
  attempt kind = attempt::first;
  bool streamed = false;
  dialect spoken = dialect::openai_chat;
  std::string model;
  sluice::workload workload{};
  sluice::tenant tenant{};
  sluice::run_id run{};

  /// Asked for admission; admitted; connected (at once on a kept connection); first byte of the answer; its first token
  /// (in a plain answer, its first byte of the body); its end, or its failure.
  instant queued = never;
  instant admitted = never;
  instant connected = never;
  instant first_byte = never;
  instant first_token = never;
  instant ended = never;

  /// What was reserved: input and output, by estimate; and what was taken.
  std::int64_t reserved_input = 0;
  std::int64_t reserved_output = 0;
  token_usage usage;

  /// What went wrong, in one line and as a code; nothing when nothing did.
  std::error_code code;
  std::string error;
  call_phase phase = call_phase::answering;
  /// The answer's HTTP status; zero when there was none.
  int status = 0;
  /// The provider's name for the exchange.
  std::string request_id;
  /// The wait before the next attempt; nothing when there is none.
  std::optional<duration> again_in;
  /// Both bodies, with the key blotted out, when they were asked for; the answer's first `most_recorded` bytes.
  std::string request_body;
  std::string answer_body;
  static constexpr std::size_t most_recorded = std::size_t{64} << 10;
};

/// Told of each attempt when it is over, on the thread that ended it, with no lock held; called from several at once
/// when calls are made from several. It must not throw, and should be quick: the call waits for it.
using observer = std::function<void(const attempt_record&)>;

/// One line for a log: `call 7 attempt 2 (retry) m interactive: rate_limited 429 after 0.31 s (queued 0.10 s), again
/// in 1.20 s, request-id r1`.
[[nodiscard]] std::string to_line(const attempt_record& what);

}  // namespace sluice::llm
