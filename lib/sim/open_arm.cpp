#include <sluice/sim/arms.hpp>

namespace sluice::sim {
namespace {

class open_arm final : public arm {
 public:
  open_arm() : arm("none") {}
  void arrive(const arm_request& what, instant, actions& out) override {
    out.push_back({arm_action::kind::start, what.id, reason::none});
  }
  void gave_up(std::uint32_t, instant, actions&) override {}
  void ended(std::uint32_t, attempt_end, const usage&, instant, actions&) override {}
};

}  // namespace

std::unique_ptr<arm> make_open_arm() { return std::make_unique<open_arm>(); }

}  // namespace sluice::sim
