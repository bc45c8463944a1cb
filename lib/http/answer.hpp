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

/// How much of an answer is taken, and what of it at all.
struct answer_bounds {
  std::size_t max_body = 0;
  /// Bytes of the body that may wait for their reader.
  std::size_t buffer = 0;
  /// A head may be this long in all.
  std::size_t max_head = std::size_t{256} << 10;
  bool only_http2 = false;
};

class answer {
 public:
  /// What became of bytes that were offered.
  enum class verdict {
    /// They are kept.
    taken,
    /// Not now: the reader has to catch up first. Nothing was kept.
    full,
    /// Not at all; `refusal` says why.
    refused,
  };

  explicit answer(const answer_bounds& bounds) noexcept : bounds_(bounds) {}

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
  [[nodiscard]] errc refusal_kind() const noexcept;

 private:
  enum class fault {
    none,
    /// Its first line has no status.
    no_status,
    /// It is not in the version that alone is wanted.
    other_version,
    /// It is not the server's but the proxy's, which wants to know who asks.
    of_proxy,
    long_head,
    long_body,
  };

  verdict refuse(fault why) noexcept {
    fault_ = why;
    return verdict::refused;
  }
  verdict begin_head(std::string_view line);
  verdict end_head();

  // Most heads are never looked at: their lines are kept as they came.
  std::string head_;
  std::string body_;
  answer_bounds bounds_;
  std::size_t received_ = 0;
  std::size_t head_size_ = 0;
  int status_ = 0;
  bool has_head_ = false;
  fault fault_ = fault::none;
};

}  // namespace sluice::http
