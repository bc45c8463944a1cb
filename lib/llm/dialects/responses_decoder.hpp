/// \file
/// `responses_decoder`: answers of OpenAI's Responses, plain and streamed. Pure: no I/O.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/stream_event.hpp>

#include "llm/dialects/json_decoder.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sluice::llm {

/// One answer under way. Items of types that are not known here are kept as opaque ones, reasoning among them; events
/// that are not known are skipped. What a server sends in its last event alone is taken from there.
class responses_decoder final : public json_decoder {
 public:
  /// `hidden` is kept out of what failures quote.
  explicit responses_decoder(secrets hidden) : json_decoder(std::move(hidden)) {}

  [[nodiscard]] expected<bool, failure> event(const sse_event& from, std::vector<stream_event>& out) override;
  /// An object without output is a `protocol_error`, as is a response that is not done. One that was cancelled, by
  /// somebody else than the caller, is `provider_failed`, with `cancelled` as the provider's code; in a stream, too.
  [[nodiscard]] expected<void, failure> document(std::string_view json, std::vector<stream_event>& out) override;

 private:
  /// What an event says, beside items and responses. Views hold for one event.
  class words {
   public:
    std::optional<std::int64_t> output_index;
    std::string_view item_id;
    /// A piece, or the whole at its end.
    std::string_view text;
  };

  simdjson::error_code read_event(object from, std::string_view json, std::string_view named);
  simdjson::error_code read_words(object from, words& into);
  simdjson::error_code read_item_event(object from, bool ended);
  simdjson::error_code read_ending(object from, std::string_view json, std::string_view status, bool last);
  simdjson::error_code read_response(object from, std::string_view status, bool last);
  simdjson::error_code read_output(value from);
  simdjson::error_code read_item(object from, std::optional<std::int64_t> place, bool ended);
  simdjson::error_code read_call(object from, std::int64_t place, bool ended);
  simdjson::error_code read_texts(object from, stream_event::kind which);
  simdjson::error_code read_parts(value from, stream_event::kind which);
  simdjson::error_code read_error(value from, std::string_view whole);
  simdjson::error_code read_usage(value from);

  void add_words(const words& said, std::string_view type);
  void add_arguments(std::int64_t place, std::string_view text, bool whole);
  void begin_thought();
  [[nodiscard]] static failure cancelled();
  void finish_with(std::string_view status, std::string_view reason, std::string_view json);
  /// The place in the output, which is its item's.
  std::int64_t place_of(std::optional<std::int64_t> index, std::string_view item_id);

  std::unordered_map<std::string, std::int64_t> places_;
  std::int64_t next_place_ = 0;
  /// The places of which something has been handed out.
  std::unordered_set<std::int64_t> spoken_;
  bool output_seen_ = false;
  bool over_ = false;
  bool unfinished_ = false;
  bool cancelled_ = false;
};

}  // namespace sluice::llm
