/// \file
/// What both ways of a log remember while they go along it, so that what can be foretold from what was logged before
/// takes a bit; and the numbers that are written relative to that.
#pragma once

#include "core/byte_stream.hpp"
#include "core/key_table.hpp"

#include <sluice/core/admission.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::core {

inline constexpr char log_magic[] = {'\x89', 's', 'l', 'u', 'i', 'c', 'e', '\n'};
inline constexpr std::uint8_t log_version = 4;
/// In the place of an event's first byte: the log ends here.
inline constexpr std::uint8_t log_end = 31;
/// Further than any instant of a machine: 146 years.
inline constexpr std::int64_t latest_logged = std::int64_t{1} << 62;

template <typename Stream>
class log_memory {
 public:
  /// A request as it was logged.
  struct known {
    std::uint32_t generation = 0;
    request asked{};
    usage used{};
  };

  log_memory(Stream& to, std::uint64_t in_force) noexcept : bytes(to), revision(in_force) {}

  void signed_number(std::int64_t& value, const char* what) {
    std::uint64_t wide = folded(value);
    bytes.number(wide, what);
    value = unfolded(wide);
  }
  /// Near to what was foretold.
  void near(std::int64_t& value, std::int64_t foretold, const char* what) {
    std::int64_t off = distance(foretold, value);
    signed_number(off, what);
    value = at_distance(foretold, off);
  }
  template <typename Number>
  void small(Number& value, const char* what) {
    std::uint64_t wide = value;
    bytes.number(wide, what);
    if constexpr (Stream::reads) {
      if (wide > std::numeric_limits<Number>::max()) bytes.fail(what);
      value = static_cast<Number>(wide);
    }
  }
  void span(duration& value, duration foretold, const char* what) {
    std::int64_t count = value.count();
    near(count, foretold.count(), what);
    value = duration(count);
  }
  void point(instant& value, instant foretold, const char* what) {
    duration since = value.time_since_epoch();
    span(since, foretold.time_since_epoch(), what);
    value = instant(since);
  }

  // Both ways grow it by the same rule, so that a number out of nowhere costs no memory.
  [[nodiscard]] known* remembered(std::uint32_t index) {
    if (index >= known_.size()) {
      if (index > 2 * known_.size() + 1'024) return nullptr;
      known_.resize(std::size_t{index} + 1);
    }
    return &known_[index];
  }
  /// Null when nothing is known of it.
  [[nodiscard]] const known* find(request_id id) const noexcept {
    const bool there = id.index < known_.size() && known_[id.index].generation == id.generation && id != request_id{};
    return there ? &known_[id.index] : nullptr;
  }
  void reported(request_id id, const usage& so_far) noexcept {
    if (find(id) != nullptr) known_[id.index].used = so_far;
  }

  /// `later`: by how much its generation is ahead of the last one with this index.
  void id(request_id& which, std::uint32_t later = 0) {
    const auto foretold_of = [this, later](std::uint32_t index) {
      const known* const last = remembered(index);
      return last == nullptr ? 0 : last->generation + later;
    };
    std::uint64_t code = 0;
    if constexpr (!Stream::reads) {
      code = std::uint64_t{which.index} << 1U;
      if (which.generation != foretold_of(which.index)) code |= 1U;
    }
    bytes.number(code, "a request");
    if constexpr (Stream::reads) {
      if (code >> 33U != 0) bytes.fail("a request");
      if (bytes.failed()) return;
      which.index = static_cast<std::uint32_t>(code >> 1U);
      which.generation = foretold_of(which.index);
    }
    if ((code & 1U) != 0) small(which.generation, "a request's generation");
  }

  void key(std::uint64_t& value) {
    std::uint64_t place = 0;
    if constexpr (!Stream::reads) {
      const std::uint32_t found = places_.find(value);
      if (found != key_table::none) place = std::uint64_t{found} + 1;
    }
    bytes.number(place, "a key");
    if (place == 0) {
      bytes.word(value, "a key");
      if (keys_.size() >= most_keys) return;
      if constexpr (!Stream::reads) places_.insert(value, static_cast<std::uint32_t>(keys_.size()));
      keys_.push_back(value);
      return;
    }
    if (place > keys_.size()) {
      if constexpr (Stream::reads) bytes.fail("a key that was there before");
      return;
    }
    value = keys_[static_cast<std::size_t>(place - 1)];
  }

  /// What an effect on this request repeats.
  [[nodiscard]] request foretold(request_id of) const noexcept {
    if (of == request_id{}) return newcomer;
    const known* const place = find(of);
    return place != nullptr ? place->asked : request{};
  }

  /// The request that has just been logged has this id from now on.
  void name(request_id& which) {
    id(which, 1);
    newcomer_id = which;
    if (known* const place = remembered(which.index)) *place = {which.generation, newcomer, {}};
  }

  Stream& bytes;
  /// The policy's, in force.
  std::uint64_t revision;
  /// The instant of the event.
  instant now{};
  /// Of the last request: its class, its tag, and per class how far away its deadline was.
  workload last_class{};
  std::uint64_t last_tag = 0;
  std::array<std::int64_t, max_workloads> offsets{};
  /// The last request, and what this event has named it.
  request newcomer{};
  request_id newcomer_id{};

 private:
  static constexpr std::size_t most_keys = 65'536;

  std::vector<known> known_;
  std::vector<std::uint64_t> keys_;
  key_table places_;
};

}  // namespace sluice::core
