#include "agent/tools/tool_places.hpp"

#include "agent/runs/run_state.hpp"
#include "agent/tools/tool_words.hpp"
#include "core/grouped.hpp"

#include <sluice/core/policy.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace sluice::agent::detail {

namespace {

// Order of class, deadline and arrival, and nothing else: what floors and forecasts are for is the provider's capacity.
policy plain_queue(const policy& of_gate, std::int64_t slots) {
  policy rules({.slots = slots, .tokens = unlimited});
  rules.classes = of_gate.classes;
  for (class_policy& each : rules.classes) {
    class_policy plain(each.name);
    plain.priority = each.priority;
    plain.elastic.enabled = false;
    each = std::move(plain);
  }
  rules.max_waiting = std::numeric_limits<std::size_t>::max();
  rules.feasibility.enabled = false;
  rules.overload.enabled = false;
  return rules;
}

}  // namespace

tool_place::tool_place(tool_places& in, std::shared_ptr<run_hold> hold) noexcept : in_(in), hold_(std::move(hold)) {}

tool_place::~tool_place() {
  {
    // First, so that nobody is refused who comes when the place is free again.
    const std::lock_guard lock(in_.mutex_);
    if (abandoned_) --in_.abandoned_;
  }
  hold_->release();
}

void tool_place::abandon(instant told) {
  const std::lock_guard lock(in_.mutex_);
  if (std::exchange(abandoned_, true)) return;
  in_.last_told_ = std::max(in_.last_told_, told);
  if (++in_.abandoned_ < in_.count_) return;
  const error why = in_.none_left();
  for (run_hold* const each : in_.waiting_) each->turn_away(why);
}

class tool_places::waiting {
 public:
  waiting(tool_places& in, run_hold& hold) : in_(in), hold_(hold) {
    const std::lock_guard lock(in_.mutex_);
    if (in_.abandoned_ >= in_.count_) {
      refused.emplace(in_.none_left());
    } else {
      in_.waiting_.push_back(&hold_);
    }
  }
  waiting(const waiting&) = delete;
  waiting& operator=(const waiting&) = delete;
  ~waiting() {
    const std::lock_guard lock(in_.mutex_);
    std::erase(in_.waiting_, &hold_);
  }

  std::optional<error> refused;

 private:
  tool_places& in_;
  run_hold& hold_;
};

tool_places::tool_places(const std::string& tool, bulkhead& gate, std::int64_t count)
    : tool_(tool),
      gate_(gate),
      count_(static_cast<std::size_t>(count)),
      pool_(std::make_shared<run_pool_state>(gate.get_executor(), plain_queue(gate.current_policy(), count),
                                             &gate.time())) {}

tool_places::~tool_places() { pool_->end(); }

asio::awaitable<expected<std::shared_ptr<tool_place>, error>> tool_places::admit(run_scope& who) {
  using result = expected<std::shared_ptr<tool_place>, error>;
  const auto hold = std::make_shared<run_hold>(pool_, run_state::of(who));
  const waiting here(*this, *hold);
  if (here.refused) co_return result(unexpected<error>(*here.refused));
  auto taken = co_await hold->take();
  if (!taken) co_return result(unexpected<error>(std::move(taken).error()));
  co_return result(std::make_shared<tool_place>(*this, hold));
}

error tool_places::none_left() const {
  const std::string since = time_limit(std::max(gate_.now() - last_told_, duration::zero()));
  const std::string held = count_ == 1
                               ? "its only place is held by a call that was told to stop " + since + " ago, and has not"
                               : "all its " + grouped(static_cast<std::int64_t>(count_)) +
                                     " places are held by calls that were told to stop, the last of them " + since +
                                     " ago, and have not";
  return {errc::refused, "tool \"" + tool_ + "\" cannot run now: " + held + "; go on without it"};
}

}  // namespace sluice::agent::detail
