/// \file
/// The log of a `core::admission`: `event_log_writer` appends its events with their effects to a string of bytes, and
/// `event_log_reader` gives them back. A request with its wait, its grant and its end takes about 25 bytes.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/event.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::core {

/// Writes a log. Hand it to `admission::record`, which calls `begin` and `append`.
///
/// What is written depends on the events alone, so that equal runs have equal logs. It holds numbers only: tenants and
/// models are in it as keys, but the policy's names of classes, tenants and models stand in it as they are.
///
/// The text may be taken out of the string and the string cleared between two events, for instance to write it to a
/// file piece by piece. Memory: that of the text, and about 200 bytes for each request and 16 for each tenant known at
/// once. Thread safety: none; one thread at a time.
class event_log_writer {
 public:
  /// Appends to `to`, which must outlive this; no more than about `most_bytes` in all. The log is then ended in good
  /// order, and what happens after that is not in it.
  explicit event_log_writer(std::string& to, std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());
  event_log_writer(event_log_writer&&) noexcept;
  event_log_writer& operator=(event_log_writer&&) noexcept;
  ~event_log_writer();

  /// What effects there were before an event, so that only those of the event are written.
  struct mark {
    std::size_t effects = 0;
    std::size_t decisions = 0;
  };

  /// Begins with the policy in force. `from_the_start`: the machine has seen no event before.
  void begin(const policy& initial, bool from_the_start) noexcept;
  /// Appends an event that has had its effects: those in `out` from `before` on.
  void append(const event& what, const event_result& result, const effects& out, mark before) noexcept;
  /// Writes the end, without which a log counts as cut off. Nothing is appended after that. Harmless when repeated.
  void end() noexcept;

  /// Whether the log has ended: by `end`, by its bound, or because there was no more memory.
  [[nodiscard]] bool ended() const noexcept;
  /// How many events, and how many bytes.
  [[nodiscard]] std::uint64_t events() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  class state;
  std::unique_ptr<state> state_;
};

/// An event as it was logged.
struct logged_event {
  /// Counted from 0.
  std::uint64_t number = 0;
  event what{};
  event_result result{};
  /// `detail` of a rejection is the place of its decision here.
  core::effects effects{};
};

/// Reads a log, event by event. Whatever the bytes are, it gives events or an error, and asks for no more memory than a
/// small multiple of their number.
/// Thread safety: none; one thread at a time.
class event_log_reader {
 public:
  /// Reads the beginning. `log` must outlive the reader.
  /// Errors: `errc::invalid_argument`, with the byte's number and what was expected there: not a log, of another
  /// version, cut off, or with a policy that does not hold.
  [[nodiscard]] static expected<event_log_reader, error> open(std::string_view log);
  event_log_reader(event_log_reader&&) noexcept;
  event_log_reader& operator=(event_log_reader&&) noexcept;
  ~event_log_reader();

  /// The policy that was in force at the beginning.
  [[nodiscard]] const policy& initial() const noexcept;
  /// Whether the machine had seen no event before. Otherwise the log speaks of requests and runs that it does not
  /// introduce, and cannot be replayed.
  [[nodiscard]] bool from_the_start() const noexcept;

  /// Reads the next event into `into`, whose memory is used again. False at the end, when all bytes were as they were
  /// written.
  /// Errors: as `open`; after one, the same again.
  [[nodiscard]] expected<bool, error> next(logged_event& into);

  /// After the end: whether the log was full before the machine's time was over.
  [[nodiscard]] bool full() const noexcept;

 private:
  class state;
  explicit event_log_reader(std::unique_ptr<state> from) noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::core
