#include "core/rate_cell.hpp"

#include <algorithm>
#include <limits>

namespace sluice::core {

void rate_cell::configure(const rate& limit, instant now) noexcept {
  // A unit is as many parts at any rate, so what is owed needs no conversion.
  const wide owed = limited() ? owing(now) : 0;
  per_minute_ = limit.per_minute;
  burst_ = !limited() || limit.burst == 0 ? limit.per_minute : limit.burst;
  rest_ = limited() ? parts(now) + owed : 0;
}

instant rate_cell::earliest(std::int64_t amount, instant now) const noexcept {
  if (conforms(amount, now)) return now;
  if (!possible(amount)) return never;
  const wide when = rest_ - wide{burst_ - amount} * unit;
  // Division rounds towards zero, which is up already before the epoch.
  const wide nanoseconds = when / per_minute_ + (when % per_minute_ > 0 ? 1 : 0);
  if (nanoseconds >= never.time_since_epoch().count()) return never;
  return instant(duration(static_cast<std::int64_t>(nanoseconds)));
}

bool rate_cell::leave(std::int64_t amount, instant now) noexcept {
  if (!limited()) return false;
  const wide owed = owing(now);
  const wide least = wide{std::max<std::int64_t>(0, burst_ - amount)} * unit;
  rest_ = parts(now) + std::clamp(owed, least, wide{burst_} * unit);
  return owed < least;
}

std::int64_t rate_cell::available(instant now) const noexcept {
  if (!limited()) return unlimited;
  const wide owed_units = (owing(now) + unit - 1) / unit;
  return static_cast<std::int64_t>(std::max<wide>(burst_ - owed_units, std::numeric_limits<std::int64_t>::min()));
}

void rate_cells::configure(const rate_limits& limits, instant now) noexcept {
  latest_ = now = not_before_latest(now);
  requests_.configure(limits.requests, now);
  input_.configure(limits.input_tokens, now);
  output_.configure(limits.output_tokens, now);
  limited_ = requests_.limited() || input_.limited() || output_.limited();
}

instant rate_cells::earliest(const rate_charge& asked, instant now) const noexcept {
  if (!limited_) return now;
  const instant from = not_before_latest(now);
  return std::max({requests_.earliest(asked.requests, from), input_.earliest(asked.input, from),
                   output_.earliest(asked.output, from)});
}

}  // namespace sluice::core
