// An arm told by hand what happens; what it answers is written as `start 1, refuse 2`.
#pragma once

#include <sluice/sim/arm.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::sim::test {

class driven_arm {
 public:
  explicit driven_arm(std::unique_ptr<arm> driven) : arm_(std::move(driven)) {}

  arm_request next{.cost = {1'000, 500, 1}};

  std::string arrive(std::uint32_t id, workload of, instant now) {
    next.id = id;
    next.workload = of;
    next.first_arrival = now;
    arm_->arrive(next, now, actions_);
    return taken();
  }
  std::string gave_up(std::uint32_t id, instant now) {
    arm_->gave_up(id, now, actions_);
    return taken();
  }
  std::string progressed(std::uint32_t id, usage so_far, instant now) {
    arm_->progressed(id, so_far, now, actions_);
    return taken();
  }
  std::string ended(std::uint32_t id, attempt_end how, instant now, usage used = {}) {
    arm_->ended(id, how, used, now, actions_);
    return taken();
  }
  std::string tick(instant now) {
    arm_->tick(now, actions_);
    return taken();
  }
  [[nodiscard]] instant wake() const { return arm_->wake(); }
  [[nodiscard]] arm_levels::level level(workload of) const { return arm_->levels().classes[of.index()]; }

 private:
  std::string taken() {
    std::string text;
    for (const auto& each : actions_) {
      if (!text.empty()) text += ", ";
      text += each.what == arm_action::kind::start    ? "start "
              : each.what == arm_action::kind::refuse ? "refuse "
                                                      : "stop ";
      text += std::to_string(each.id);
      if (each.why != reason::none) text.append(" ").append(to_string(each.why));
    }
    actions_.clear();
    return text;
  }

  std::unique_ptr<arm> arm_;
  arm::actions actions_;
};

}  // namespace sluice::sim::test
