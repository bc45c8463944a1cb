#include "agent/loop/turn_means.hpp"

#include <algorithm>

namespace sluice::agent::detail {

namespace {

std::int64_t sum(std::int64_t left, std::int64_t right) noexcept {
  std::int64_t total = 0;
  return __builtin_add_overflow(left, right, &total) ? unlimited : total;
}

std::int64_t times(std::int64_t left, std::int64_t right) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(left, right, &product) ? unlimited : product;
}

std::int64_t left_of(std::int64_t limit, std::int64_t spent) noexcept {
  return limit == unlimited ? unlimited : std::max<std::int64_t>(limit - spent, 0);
}

}  // namespace

turn_means means_of(const run_balance& account, bool is_root) noexcept {
  turn_means means;
  means.working = account.payable;
  means.last = means.working;
  if (!is_root) return means;
  means.last.tokens = left_of(account.limit.tokens, account.spent.tokens);
  means.last.calls = left_of(account.limit.calls, account.spent.calls);
  means.last.tool_calls = left_of(account.limit.tool_calls, account.spent.tool_calls);
  means.last.money = left_of(account.limit.money, account.spent.money);
  return means;
}

std::int64_t turn_size::output_for(std::int64_t tokens) const noexcept {
  return tokens == unlimited ? wanted : std::min(wanted, (tokens - input) / answers);
}

bool turn_size::is_paid_by(const spending& some) const noexcept {
  return some.calls >= 1 && output_for(some.tokens) >= least;
}

std::int64_t turn_size::fewest() const noexcept { return sum(input, times(least, answers)); }
std::int64_t turn_size::fewest_of_another() const noexcept { return sum(fewest(), growth); }

bool turn_size::leaves_another(const spending& some) const noexcept {
  if (some.calls < 2) return false;
  return some.tokens == unlimited || sum(fewest(), fewest_of_another()) <= some.tokens;
}

turn_size size_of(const cost& estimated, std::int64_t wanted, const loop_options& how) noexcept {
  turn_size size;
  size.input = estimated.tokens - estimated.output_tokens;
  size.answers = std::max<std::int64_t>(1, estimated.output_tokens / wanted);
  size.wanted = wanted;
  size.least = std::min(how.least_output, wanted);
  return size;
}

}  // namespace sluice::agent::detail
