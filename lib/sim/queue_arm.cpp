#include <sluice/sim/arms.hpp>

#include <array>
#include <set>
#include <utility>
#include <vector>

namespace sluice::sim {
namespace {

class queue_arm final : public arm {
 public:
  queue_arm(std::string name, const queue_rules& rules) : arm(std::move(name)), rules_(rules) {}

  void arrive(const arm_request& what, instant, actions& out) override {
    if (what.id >= places_.size()) places_.resize(what.id + 1);
    const std::uint64_t number = ++arrivals_;
    const int rank = rules_.first == queue_rules::order::workload ? what.workload.index() : 0;
    const instant due = rules_.first == queue_rules::order::deadline ? what.deadline : instant{};
    places_[what.id] = {{rank, due, number, what.id}, what.workload};
    lines_[is_batch(what.id)].insert(places_[what.id].key);
    ++level(what.id).waiting;
    serve(out);
  }

  void gave_up(std::uint32_t id, instant, actions& out) override {
    lines_[is_batch(id)].erase(places_[id].key);
    --level(id).waiting;
    serve(out);
  }

  void ended(std::uint32_t id, attempt_end how, const usage&, instant, actions& out) override {
    --held_[is_batch(id)];
    --level(id).held;
    if (how == attempt_end::stopped) out.push_back({arm_action::kind::refuse, id, reason::none});
    serve(out);
  }

  [[nodiscard]] arm_levels levels() const override { return levels_; }

 private:
  struct key {
    int rank = 0;
    instant due{};
    std::uint64_t number = 0;
    std::uint32_t id = 0;
    friend bool operator<(const key& a, const key& b) noexcept {
      if (a.rank != b.rank) return a.rank < b.rank;
      return a.due != b.due ? a.due < b.due : a.number < b.number;
    }
  };
  struct whereabouts {
    queue_arm::key key;
    workload of;
  };

  [[nodiscard]] std::size_t is_batch(std::uint32_t id) const { return places_[id].of == batch ? 1 : 0; }
  arm_levels::level& level(std::uint32_t id) { return levels_.classes[places_[id].of.index()]; }

  void serve(actions& out) {
    while (held_[0] + held_[1] < rules_.slots) {
      const bool others = !lines_[0].empty();
      const bool batches = !lines_[1].empty() && held_[1] < rules_.batch_at_most;
      if (!others && !batches) return;
      const std::size_t from = !others || (batches && *lines_[1].begin() < *lines_[0].begin()) ? 1 : 0;
      const std::uint32_t id = lines_[from].begin()->id;
      lines_[from].erase(lines_[from].begin());
      ++held_[from];
      --level(id).waiting;
      ++level(id).held;
      out.push_back({arm_action::kind::start, id, reason::none});
    }
  }

  queue_rules rules_;
  std::array<std::set<key>, 2> lines_;
  std::array<std::int64_t, 2> held_{};
  std::vector<whereabouts> places_;
  std::uint64_t arrivals_ = 0;
  arm_levels levels_;
};

}  // namespace

std::unique_ptr<arm> make_queue_arm(std::string name, const queue_rules& rules) {
  return std::make_unique<queue_arm>(std::move(name), rules);
}

}  // namespace sluice::sim
