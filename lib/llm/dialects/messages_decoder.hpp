/// \file
/// `messages_decoder`: answers of Anthropic's Messages, plain and streamed. Pure: no I/O.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/stream_event.hpp>

#include "llm/dialects/json_decoder.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::llm {

/// One answer under way. Blocks of types that are not known here are kept as opaque ones, for the provider wants them
/// back; events and deltas that are not known are skipped.
class messages_decoder final : public json_decoder {
 public:
  /// `hidden` is kept out of what failures quote.
  explicit messages_decoder(secrets hidden) : json_decoder(std::move(hidden)) {}

  [[nodiscard]] expected<bool, failure> event(const sse_event& from, std::vector<stream_event>& out) override;
  /// An object without content is a `protocol_error`.
  [[nodiscard]] expected<void, failure> document(std::string_view json, std::vector<stream_event>& out) override;
  void complete() override;

 private:
  enum class block_kind : std::uint8_t { text, tool_use, thinking, other };

  /// What the start of a block, or one of its deltas, says. Views hold for one event.
  class words {
   public:
    std::optional<std::int64_t> index;
    std::string_view type;
    /// Of text and of thoughts.
    std::string_view text;
    std::string_view signature;
    std::string_view id;
    std::string_view name;
    /// The whole of it, or a piece.
    std::string_view input;
    /// The block as it came.
    std::string_view raw;
  };

  /// A block that has not ended.
  class open_block {
   public:
    block_kind kind = block_kind::other;
    /// Of thoughts: what was thought, and the signature. Of others: how it began.
    std::string said;
    surrogate_seam seam;
    std::string signature;
    /// Of a tool's use: what came with its start, which holds when no pieces come. Of others: the pieces.
    std::string input;
    bool in_pieces = false;
  };

  simdjson::error_code read_event(object from, std::string_view json, std::string_view named);
  simdjson::error_code read_message(object from, bool whole);
  simdjson::error_code read_blocks(value from);
  simdjson::error_code read_words(object from, words& into);
  simdjson::error_code read_indexed(object from, words& into);
  simdjson::error_code read_end(object from);
  simdjson::error_code read_usage(value from, bool final);

  void begin(const words& said);
  void add(const words& said);
  simdjson::error_code end(const words& said);
  simdjson::error_code close(std::int64_t index, open_block& ended);

  std::map<std::int64_t, open_block> open_;
  std::int64_t last_ = 0;
  std::optional<std::int64_t> fresh_input_;
  std::optional<std::int64_t> cache_written_;
  std::optional<std::int64_t> cache_read_;
  bool content_seen_ = false;
  bool over_ = false;
};

}  // namespace sluice::llm
