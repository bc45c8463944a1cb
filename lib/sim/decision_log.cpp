#include <sluice/sim/decision_log.hpp>

#include <charconv>
#include <cstring>
#include <string_view>

namespace sluice::sim {

void decision_log::note(instant when, const char* what, std::uint64_t number, reason why) {
  char line[128];
  char* at = std::to_chars(line, line + 24, when.time_since_epoch().count()).ptr;
  *at++ = ' ';
  const auto append = [&at](std::string_view word) {
    std::memcpy(at, word.data(), word.size());
    at += word.size();
  };
  append(what);
  *at++ = ' ';
  at = std::to_chars(at, at + 24, number).ptr;
  if (why != reason::none) {
    *at++ = ' ';
    append(to_string(why));
  }
  *at++ = '\n';

  const std::string_view whole(line, static_cast<std::size_t>(at - line));
  // FNV-1a, a byte at a time.
  for (const char each : whole) digest_ = (digest_ ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  ++lines_;
  if (keep_text_) text_.append(whole);
}

}  // namespace sluice::sim
