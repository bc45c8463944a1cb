/// \file
/// `sse_parser`: server-sent events out of bytes, as the HTML standard has them. Pure: no I/O, no clock, no exceptions
/// but `std::bad_alloc`.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice::llm {

/// One event. The views are valid until the next call of the parser that gave it.
struct sse_event {
  /// What the `event` field said; empty when there was none, which the standard calls `message`.
  std::string_view type;
  /// The `data` lines, joined with LF. At least `sse_parser::padding` readable bytes follow it in memory.
  std::string_view data;
  /// The last `id` seen in the stream so far.
  std::string_view id;
  /// The stream ended before the blank line that ends an event; the standard would drop it.
  bool unterminated = false;
};
static_assert(std::is_trivially_destructible_v<sse_event> && std::is_aggregate_v<sse_event>);

/// Takes a stream in pieces, cut anywhere, and gives events: `push` a piece, then call `next` until it gives nothing.
///
/// Lines end in LF, CR or CRLF, mixed as the sender likes. A byte order mark is skipped at the start only. Unknown
/// fields and comments are ignored. The text is not checked to be UTF-8.
///
/// Complexity: linear in the bytes pushed, whatever their line ends; each byte of an event's data is copied once, into
/// a buffer that is reused. Memory: at most the size limit and the padding, for the data, the type and the id each.
/// Thread safety: distinct objects only.
class sse_parser {
 public:
  /// Bytes that may be read, but mean nothing, after an event's data: what a JSON parser that works in place needs.
  static constexpr std::size_t padding = 64;
  /// The default limit on the size of one event: lets an image of several MB through.
  static constexpr std::size_t default_max_event = std::size_t{16} << 20;

  /// `max_event`: the most bytes of one event's data, and of any one line that is no data.
  explicit sse_parser(std::size_t max_event = default_max_event) : max_event_(max_event) {}

  /// Hands over the next piece. It must stay in memory until `next` has given nothing.
  /// Precondition: the former piece has been used up.
  void push(std::string_view piece) noexcept;

  /// The next event of the piece, or nothing when the piece is used up.
  /// Errors: `errc::too_large`, when an event goes beyond the limit; from then on always.
  [[nodiscard]] expected<std::optional<sse_event>, error> next();

  /// The stream has ended: gives the event that its end cut off, if there is one, flagged as `unterminated`.
  /// Call it once, after the last piece is used up. Errors: as `next`.
  [[nodiscard]] expected<std::optional<sse_event>, error> finish();

  /// The last reconnection delay that a `retry` field gave, in milliseconds.
  [[nodiscard]] std::optional<std::int64_t> retry() const noexcept { return retry_; }

  /// Back to the start of a new stream; the buffers are kept.
  void reset() noexcept;

 private:
  enum class line_kind : std::uint8_t {
    /// Too little of it has come to tell.
    undecided,
    /// Its value goes straight to the event's data.
    data,
    /// A comment: goes nowhere.
    comment,
  };

  void skip_byte_order_mark();
  [[nodiscard]] std::size_t find_line_end() noexcept;
  [[nodiscard]] bool take(std::string_view piece);
  [[nodiscard]] bool end_line();
  [[nodiscard]] bool field(std::string_view line);
  [[nodiscard]] bool begin_data();
  [[nodiscard]] bool add_data(std::string_view piece);
  [[nodiscard]] std::optional<sse_event> dispatch(bool unterminated);
  [[nodiscard]] unexpected<error> too_large() const;

  std::size_t max_event_;
  std::string_view input_;
  std::size_t at_ = 0;
  /// The next LF and the next CR at or after `at_`, once looked up; so that each byte is searched once for each.
  std::size_t lf_ = 0;
  std::size_t cr_ = 0;

  std::string line_;
  std::string data_;
  std::string type_;
  std::string id_;
  std::optional<std::int64_t> retry_;
  std::uint8_t mark_seen_ = 0;
  line_kind kind_ = line_kind::undecided;
  bool line_open_ = false;
  bool has_data_ = false;
  bool given_ = false;
  bool skip_lf_ = false;
  bool failed_ = false;
};

}  // namespace sluice::llm
