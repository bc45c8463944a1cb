#include "http/limit_clock.hpp"

namespace sluice::http {

limit_clock::due limit_clock::verdict() const noexcept {
  due first{limits_.deadline, errc::deadline_exceeded};
  const auto consider = [&first](instant from, duration length, errc which) {
    if (length <= duration::zero()) return;
    const instant when = after(from, length);
    if (when < first.when) first = {when, which};
  };
  consider(start_, limits_.total, errc::total_timeout);
  switch (phase_) {
    case phase::connecting: consider(mark_, limits_.connect, errc::connect_timeout); break;
    case phase::waiting: consider(mark_, limits_.first_byte, errc::first_byte_timeout); break;
    case phase::receiving: consider(mark_, limits_.idle, errc::idle_timeout); break;
    case phase::paused: break;
  }
  if (first.when == never) first.which = errc::ok;
  return first;
}

duration limit_clock::length_of(errc which) const noexcept {
  switch (which) {
    case errc::connect_timeout: return limits_.connect;
    case errc::first_byte_timeout: return limits_.first_byte;
    case errc::idle_timeout: return limits_.idle;
    case errc::total_timeout: return limits_.total;
    case errc::deadline_exceeded: return limits_.deadline - start_;
    default: return duration::zero();
  }
}

}  // namespace sluice::http
