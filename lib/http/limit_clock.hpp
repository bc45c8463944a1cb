/// \file
/// `limit_clock`: which of an exchange's time limits comes next, and which has passed. Facts in, answers out; no timer.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/time.hpp>
#include <sluice/http/transport.hpp>

namespace sluice::http {

class limit_clock {
 public:
  limit_clock() = default;
  limit_clock(const limits& which, instant start) noexcept : limits_(which), start_(start), mark_(start) {}

  /// The connection has to be made (again).
  void connecting(instant now) noexcept { enter(phase::connecting, now); }
  /// The connection is there; the request goes out.
  void connected(instant now) noexcept { enter(phase::waiting, now); }
  /// A part of the answer has arrived.
  void received(instant now) noexcept { enter(phase::receiving, now); }
  /// The reader is behind: silence is not the peer's fault until `received` is called again.
  void paused() noexcept { phase_ = phase::paused; }

  /// When to look again; `never` when no limit is running.
  [[nodiscard]] instant next() const noexcept { return verdict().when; }

  /// The limit that has passed at `now`: the one that passed first. `errc::ok` when none has.
  [[nodiscard]] errc passed(instant now) const noexcept {
    const due first = verdict();
    return first.when <= now ? first.which : errc::ok;
  }

  /// The length of the limit `which`; for the deadline, counted from the start of the exchange.
  [[nodiscard]] duration length_of(errc which) const noexcept;

 private:
  enum class phase {
    /// Name look-up, connection, TLS.
    connecting,
    /// Sending, and waiting for the first byte.
    waiting,
    /// Between bytes of the answer.
    receiving,
    /// The reader is behind.
    paused,
  };
  struct due {
    instant when = never;
    errc which = errc::ok;
  };

  void enter(phase to, instant now) noexcept {
    phase_ = to;
    mark_ = now;
  }
  [[nodiscard]] due verdict() const noexcept;

  limits limits_;
  instant start_;
  instant mark_;
  phase phase_ = phase::connecting;
};

}  // namespace sluice::http
