/// \file
/// `answer_decoder`: one answer under way, whatever the dialect. Pure: no I/O.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/sse_parser.hpp>
#include <sluice/llm/stream_event.hpp>

#include "llm/dialects/usage_report.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::llm {

/// Whether there is anything of an answer to be kept when it fails.
[[nodiscard]] inline bool says_anything(const reply& answer) noexcept {
  return !answer.text.empty() || !answer.reasoning.empty() || !answer.refusal.empty();
}

/// Text that is decoded must have `sse_parser::padding` readable bytes after it.
class answer_decoder {
 public:
  answer_decoder() = default;
  answer_decoder(const answer_decoder&) = delete;
  answer_decoder& operator=(const answer_decoder&) = delete;
  virtual ~answer_decoder() = default;

  /// One event of a stream. What it brings is added to `answer`; texts are appended to `out` as events. Events that
  /// hold nothing for us bring nothing. Gives true when the dialect says that the stream is over. Errors:
  /// `errc::protocol_error` for what is not the dialect's JSON, and whatever an error in it says.
  [[nodiscard]] virtual expected<bool, failure> event(const sse_event& from, std::vector<stream_event>& out) = 0;

  /// A whole plain answer; else as `event`. An object that holds no answer is a `protocol_error`; so is one that does
  /// not say why the model stopped, since nothing else tells that the answer is whole: what came of it is in `answer`.
  [[nodiscard]] virtual expected<void, failure> document(std::string_view json, std::vector<stream_event>& out) = 0;

  /// The answer is all there: completes tool calls, and the flags. Call it once.
  virtual void complete() = 0;

  /// Bytes of text, thoughts and tool calls so far.
  [[nodiscard]] std::int64_t produced_bytes() const noexcept { return produced_bytes_; }
  /// What the provider last said of its usage, if it did.
  [[nodiscard]] const std::optional<usage_report>& reported() const noexcept { return reported_; }
  /// Whether the answer has its end: a finish reason has come.
  [[nodiscard]] bool finished() const noexcept { return answer.finish != finish_reason::none; }

  /// The answer so far. Its usage is the caller's.
  reply answer;

 protected:
  std::optional<usage_report> reported_;
  std::int64_t produced_bytes_ = 0;
};

}  // namespace sluice::llm
