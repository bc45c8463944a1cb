#include <sluice/sim/arms.hpp>

#include <algorithm>
#include <deque>
#include <vector>

namespace sluice::sim {
namespace {

class static_cap_arm final : public arm {
 public:
  explicit static_cap_arm(const replica_caps& caps) : arm("static cap"), caps_(caps), replicas_(caps.replicas) {}

  void arrive(const arm_request& what, instant now, actions& out) override {
    const bool last = caps_.batch_on_last && what.workload == batch;
    const std::uint32_t index = last ? caps_.replicas - 1 : what.replica % caps_.replicas;
    if (what.id >= places_.size()) places_.resize(what.id + 1);
    places_[what.id] = {index, what.workload};
    replica& here = replicas_[index];
    if (here.held < caps_.slots) return start(here, what.id, out);
    if (here.line.size() >= caps_.may_wait) {
      out.push_back({arm_action::kind::refuse, what.id, reason::queue_full});
      return;
    }
    here.line.push_back({what.id, after(now, caps_.wait_at_most)});
    ++levels_.classes[what.workload.index()].waiting;
  }

  void gave_up(std::uint32_t id, instant, actions&) override {
    auto& line = replicas_[places_[id].replica].line;
    line.erase(std::find_if(line.begin(), line.end(), [id](const waiter& each) { return each.id == id; }));
    --level(id).waiting;
  }

  void ended(std::uint32_t id, attempt_end how, const usage&, instant, actions& out) override {
    replica& here = replicas_[places_[id].replica];
    --here.held;
    --level(id).held;
    if (how == attempt_end::stopped) out.push_back({arm_action::kind::refuse, id, reason::none});
    if (here.line.empty()) return;
    const std::uint32_t next = here.line.front().id;
    here.line.pop_front();
    --level(next).waiting;
    start(here, next, out);
  }

  void tick(instant now, actions& out) override {
    for (replica& each : replicas_) {
      while (!each.line.empty() && each.line.front().until <= now) {
        const std::uint32_t id = each.line.front().id;
        each.line.pop_front();
        --level(id).waiting;
        out.push_back({arm_action::kind::refuse, id, reason::deadline_in_queue});
      }
    }
  }

  [[nodiscard]] instant wake() const noexcept override {
    instant earliest = never;
    for (const replica& each : replicas_) {
      if (!each.line.empty()) earliest = std::min(earliest, each.line.front().until);
    }
    return earliest;
  }

  [[nodiscard]] arm_levels levels() const override { return levels_; }

 private:
  struct waiter {
    std::uint32_t id;
    instant until;
  };
  struct replica {
    std::int64_t held = 0;
    std::deque<waiter> line;
  };
  struct whereabouts {
    std::uint32_t replica = 0;
    workload of;
  };

  arm_levels::level& level(std::uint32_t id) { return levels_.classes[places_[id].of.index()]; }

  void start(replica& here, std::uint32_t id, actions& out) {
    ++here.held;
    ++level(id).held;
    out.push_back({arm_action::kind::start, id, reason::none});
  }

  replica_caps caps_;
  std::vector<replica> replicas_;
  std::vector<whereabouts> places_;
  arm_levels levels_;
};

}  // namespace

std::unique_ptr<arm> make_static_cap_arm(const replica_caps& caps) { return std::make_unique<static_cap_arm>(caps); }

}  // namespace sluice::sim
