/// \file
/// `answer`: an HTTP answer as it comes in: its head line by line, its body until somebody reads it. No I/O.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/http/transport.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::http {

class answer {
 public:
  /// What became of bytes that were offered.
  enum class verdict {
    /// They are kept.
    taken,
    /// Not now: the reader has to catch up first. Nothing was kept.
    full,
    /// Not at all: a limit is exceeded, or the head has no status. `refusal` says which.
    refused,
  };

  /// A head may be this long in all.
  static constexpr std::size_t max_head = std::size_t{256} << 10;

  answer(std::size_t max_body, std::size_t buffer) noexcept : max_body_(max_body), buffer_(buffer) {}

  /// One line of the head, with its line end. Interim answers (1xx) are forgotten when the next one begins; trailers
  /// are ignored.
  verdict add_head_line(std::string_view line);
  /// Bytes of the body. At least one call's worth is taken when nothing waits to be read.
  verdict add_body(std::string_view bytes);

  /// What waits to be read, and takes it out.
  [[nodiscard]] std::string take_body() noexcept { return std::exchange(body_, {}); }
  [[nodiscard]] bool has_body() const noexcept { return !body_.empty(); }
  [[nodiscard]] bool has_head() const noexcept { return has_head_; }
  [[nodiscard]] int status() const noexcept { return status_; }
  /// Its lines, in order; a folded one is joined.
  [[nodiscard]] std::vector<header> headers() const;
  /// Bytes of the body so far, read or not.
  [[nodiscard]] std::size_t received() const noexcept { return received_; }
  /// Why bytes were refused, to be said after the peer's name, and what kind of failure that is.
  [[nodiscard]] std::string refusal() const;
  [[nodiscard]] errc refusal_kind() const noexcept { return bad_status_ ? errc::protocol_error : errc::too_large; }

 private:
  // Most heads are never looked at: their lines are kept as they came.
  std::string head_;
  std::string body_;
  std::size_t max_body_;
  std::size_t buffer_;
  std::size_t received_ = 0;
  std::size_t head_size_ = 0;
  int status_ = 0;
  bool has_head_ = false;
  bool bad_status_ = false;
};

}  // namespace sluice::http
