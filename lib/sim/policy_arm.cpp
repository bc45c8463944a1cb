#include <sluice/core/admission.hpp>
#include <sluice/sim/arms.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace sluice::sim {
namespace {

class policy_arm final : public arm {
 public:
  policy_arm(std::string name, policy rules) : arm(std::move(name)), gate_(std::move(rules)) {}

  void arrive(const arm_request& what, instant now, actions& out) override {
    if (what.id >= guests_.size()) guests_.resize(what.id + 1);
    guest& it = guests_[what.id];
    it.asked = {};
    it.asked.cost = what.cost;
    it.asked.workload = what.workload;
    it.asked.tenant = what.tenant;
    it.asked.deadline = what.deadline;
    it.asked.tag = what.id;
    come(it, now, out);
  }

  void gave_up(std::uint32_t id, instant now, actions& out) override {
    effects_.clear();
    gate_.cancel(guests_[id].id, now, effects_);
    carry_out(out);
  }

  void progressed(std::uint32_t id, const usage& so_far, instant now, actions& out) override {
    const guest& it = guests_[id];
    progress how_far;
    how_far.input_tokens = so_far.input_tokens;
    how_far.output_tokens = so_far.output_tokens;
    how_far.remaining_output = std::max(it.asked.cost.output_tokens - so_far.output_tokens, std::int64_t{0});
    effects_.clear();
    // Nothing in it could be refused: the counts are the provider's.
    (void)gate_.report(it.id, how_far, now, effects_);
    carry_out(out);
  }

  void ended(std::uint32_t id, attempt_end how, const usage& used, instant now, actions& out) override {
    guest& it = guests_[id];
    effects_.clear();
    if (how == attempt_end::rejected) gate_.signal(it.id, provider_signal::rate_limited, now, effects_);
    if (how == attempt_end::stopped) {
      if (const auto kept = gate_.age_of(it.id)) {
        it.asked.age = *kept;
        ++it.asked.age.preemptions;
      }
    }
    const auto ending = how == attempt_end::completed ? core::ending::released
                        : how == attempt_end::stopped ? core::ending::preempted
                                                      : core::ending::abandoned;
    gate_.finish(it.id, ending, used, now, effects_);
    carry_out(out);
    if (how == attempt_end::stopped) come(it, now, out);
  }

  void tick(instant now, actions& out) override {
    wake_ = never;
    effects_.clear();
    gate_.tick(now, effects_);
    carry_out(out);
  }

  [[nodiscard]] instant wake() const noexcept override { return wake_; }

  [[nodiscard]] arm_levels levels() const override {
    const auto all = gate_.statistics();
    arm_levels now;
    for (std::size_t i = 0; i < all.class_count; ++i) {
      now.classes[i] = {all.classes[i].held.slots, all.classes[i].borrowed.slots, all.classes[i].waiting,
                        all.classes[i].elastic_limit};
    }
    now.adaptive_limit = all.adaptive_limit;
    return now;
  }

 private:
  struct guest {
    core::request asked;
    core::request_id id;
  };

  void come(guest& it, instant now, actions& out) {
    effects_.clear();
    const std::uint64_t tag = it.asked.tag;
    const core::request_id id = gate_.arrive(it.asked, now, effects_);
    guests_[tag].id = id;
    carry_out(out);
  }

  void carry_out(actions& out) {
    // Stoppability is told to the gate once all its effects are known, and may call forth others.
    while (!effects_.list.empty()) {
      std::swap(effects_, doing_);
      effects_.clear();
      for (const core::effect& each : doing_.list) {
        const auto whom = static_cast<std::uint32_t>(each.tag);
        switch (each.what) {
          case core::effect::kind::granted:
            guests_[whom].id = each.id;
            out.push_back({arm_action::kind::start, whom, reason::none});
            break;
          case core::effect::kind::rejected:
            out.push_back({arm_action::kind::refuse, whom, doing_.decisions.at(each.detail).reason});
            break;
          case core::effect::kind::preempt: out.push_back({arm_action::kind::stop, whom, reason::none}); break;
          case core::effect::kind::wake_at: wake_ = each.at; break;
          case core::effect::kind::stop:
          case core::effect::kind::budget_threshold: break;
        }
      }
      for (const core::effect& each : doing_.list) {
        if (each.what == core::effect::kind::granted && gate_.could_be_preempted(each.id)) {
          gate_.set_stoppable(each.id, true, gate_.now(), effects_);
        }
      }
    }
  }

  core::admission gate_;
  std::vector<guest> guests_;
  core::effects effects_;
  core::effects doing_;
  instant wake_ = never;
};

}  // namespace

std::unique_ptr<arm> make_policy_arm(std::string name, policy rules) {
  return std::make_unique<policy_arm>(std::move(name), std::move(rules));
}

}  // namespace sluice::sim
