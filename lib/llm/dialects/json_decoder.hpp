/// \file
/// `json_decoder`: what the decoders of all dialects have in common. Pure: no I/O.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/sse_parser.hpp>
#include <sluice/llm/stream_event.hpp>

#include "llm/dialects/answer_decoder.hpp"
#include "llm/dialects/json_reading.hpp"
#include "llm/dialects/surrogate_seam.hpp"
#include "llm/dialects/tool_call_assembler.hpp"
#include "llm/errors/secrets.hpp"

#include <simdjson.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::llm {

static_assert(sse_parser::padding >= simdjson::SIMDJSON_PADDING);

class json_decoder : public answer_decoder {
 public:
  void complete() override;

 protected:
  using value = simdjson::ondemand::value;
  using object = simdjson::ondemand::object;
  using array = simdjson::ondemand::array;

  explicit json_decoder(secrets hidden) : hidden_(std::move(hidden)) {}

  /// Reads one JSON object, in which bytes that are no UTF-8 are U+FFFD: `visit(object)` gives an error code. Anything
  /// else, or anything behind it, is a protocol error; what `visit` has put into `told_error_` is read as the
  /// provider's.
  template <typename Visit>
  expected<void, failure> read(std::string_view json, std::vector<stream_event>& out, Visit visit) {
    out_ = &out;
    told_error_ = {};
    simdjson::ondemand::document document;
    object top;
    if (const auto error = open(json, document)) return unexpected<failure>(broken(json, error));
    if (const auto error = document.get_object().get(top)) return unexpected<failure>(broken(json, error));
    if (const auto error = visit(top)) return unexpected<failure>(broken(json, error));
    if (const char* rest = nullptr; document.current_location().get(rest) == simdjson::SUCCESS) {
      return unexpected<failure>(broken(json, simdjson::TRAILING_CONTENT));
    }
    if (!told_error_.empty()) return unexpected<failure>(told());
    if (finished()) end_texts();
    return {};
  }

  [[nodiscard]] failure broken(std::string_view json, simdjson::error_code why) const;
  /// A whole answer that holds none of `wanted`.
  [[nodiscard]] failure holds_no(const char* wanted, std::string_view json) const;

  /// What is to be read of an event: false for what holds nothing, such as a sign of life under a name of its own.
  [[nodiscard]] static bool is_worth_reading(const sse_event& from) noexcept;

  /// More of a text: into the answer, and out as an event.
  void say(std::string_view said, stream_event::kind which);
  simdjson::error_code say(value from, stream_event::kind which);
  /// An opaque block, as it came. What is skipped elsewhere is looked at here, since it will be sent again.
  simdjson::error_code keep(dialect spoken, std::string_view json);
  /// More of a tool call.
  void add_call(const tool_call_fragment& part);

  /// Reads a string into `to`, when it is one and not empty.
  simdjson::error_code take(value from, std::string& to);
  /// Reads the arguments of a call: text, or JSON that is whole; null is none.
  simdjson::error_code arguments(value from, tool_call_fragment& part);
  /// The named member of an object, if it is a text; `from` can be read from its start afterwards.
  simdjson::error_code find_text(object& from, std::string_view key, std::string_view& into);
  /// The same for a count.
  static simdjson::error_code find_count(object& from, std::string_view key, std::optional<std::int64_t>& into);

  const secrets hidden_;
  /// The JSON that tells of an error, if it does.
  std::string_view told_error_;
  text_reader strings_;
  tool_call_assembler calls_;

 private:
  /// `json`: set to a copy when it is not UTF-8.
  simdjson::error_code open(std::string_view& json, simdjson::ondemand::document& into);
  simdjson::error_code open_decoded(std::string_view& json, simdjson::ondemand::document& into);
  [[nodiscard]] failure told() const;
  void end_texts();
  void hand_out(stream_event::kind which, std::size_t from);
  [[nodiscard]] std::string& text_of(stream_event::kind which) noexcept;

  simdjson::ondemand::parser parser_;
  /// The JSON that is being read, when it had to be decoded.
  std::string decoded_;
  std::vector<stream_event>* out_ = nullptr;
  /// Of text, reasoning and refusal.
  std::array<surrogate_seam, 3> seams_;
};

}  // namespace sluice::llm
