#include <sluice/sim/arms.hpp>

#include <vector>

namespace sluice::sim {
namespace {

class fail_fast_arm final : public arm {
 public:
  explicit fail_fast_arm(capacity pool) : arm("fail-fast"), free_(pool) {}

  void arrive(const arm_request& what, instant, actions& out) override {
    if (what.cost.slots > free_.slots || what.cost.tokens > free_.tokens) {
      out.push_back({arm_action::kind::refuse, what.id, reason::no_room});
      return;
    }
    free_.slots -= what.cost.slots;
    free_.tokens -= what.cost.tokens;
    if (what.id >= held_.size()) held_.resize(what.id + 1);
    held_[what.id] = {what.cost, what.workload};
    ++levels_.classes[what.workload.index()].held;
    out.push_back({arm_action::kind::start, what.id, reason::none});
  }

  void gave_up(std::uint32_t, instant, actions&) override {}

  void ended(std::uint32_t id, attempt_end, const usage&, instant, actions&) override {
    free_.slots += held_[id].reserved.slots;
    free_.tokens += held_[id].reserved.tokens;
    --levels_.classes[held_[id].of.index()].held;
  }

  [[nodiscard]] arm_levels levels() const override { return levels_; }

 private:
  struct holding {
    cost reserved;
    workload of;
  };
  capacity free_;
  std::vector<holding> held_;
  arm_levels levels_;
};

}  // namespace

std::unique_ptr<arm> make_fail_fast_arm(capacity pool) { return std::make_unique<fail_fast_arm>(pool); }

}  // namespace sluice::sim
