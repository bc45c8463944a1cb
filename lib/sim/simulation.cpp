#include <sluice/sim/simulation.hpp>

#include <sluice/core/admission.hpp>

#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::sim {
namespace {

std::string seconds(duration length) {
  const std::int64_t ns = length.count();
  char text[48];
  std::snprintf(text, sizeof text, "%s%lld.%09lld", ns < 0 ? "-" : "",
                static_cast<long long>(ns < 0 ? -(ns / 1'000'000'000) : ns / 1'000'000'000),
                static_cast<long long>(ns < 0 ? -(ns % 1'000'000'000) : ns % 1'000'000'000));
  return text;
}

}  // namespace

class simulation::state {
 public:
  explicit state(policy initial) : gate_(std::move(initial)), results_(gate_.current_policy().classes.size()) {}

  void arrive(instant when, const job& what) {
    time.at(when, [this, what] { begin(what); });
  }

  void reconfigure(instant when, policy next) {
    time.at(when, [this, next = std::move(next)]() mutable {
      write("reconfigure to revision " + std::to_string(next.revision));
      core::effects out;
      if (auto done = gate_.reconfigure(std::move(next), time.now(), out); !done) throw error_exception(done.error());
      carry_out(out);
    });
  }

  void close(instant when) {
    time.at(when, [this] {
      write("close");
      core::effects out;
      gate_.close(time.now(), out);
      carry_out(out);
    });
  }

  [[nodiscard]] const class_result& result(workload which) const { return results_.at(which.index()); }
  [[nodiscard]] const core::admission& gate() const noexcept { return gate_; }
  void record(core::event_log_writer* to) noexcept { gate_.record(to); }

  timeline time;
  std::string log;
  bool keep_log = false;

 private:
  struct visit {
    job what;
    instant arrived{};
    core::request_id id{};
    // Tells the end of this grant from the end of one that was stopped.
    std::uint64_t grant = 0;
    age age_kept{};
    bool waiting = false;
    bool stopping = false;
  };

  void begin(const job& what) {
    const std::uint64_t number = visits_.size();
    visit& added = visits_.emplace_back();
    added.what = what;
    added.arrived = time.now();
    class_result* const mine = of(number);
    if (mine != nullptr) ++mine->arrived;
    write(number, "arrived");
    if (what.leave_after >= duration::zero()) {
      time.in(what.leave_after, [this, number] { leave(number); });
    }
    queue(number);
  }

  void queue(std::uint64_t number) {
    visit& mine = visits_[number];
    core::request asked;
    asked.cost = mine.what.cost;
    asked.workload = mine.what.workload;
    asked.may_wait = mine.what.may_wait;
    asked.deadline = mine.what.start_within < duration::zero() ? never : after(mine.arrived, mine.what.start_within);
    asked.tag = number;
    asked.age = mine.age_kept;
    mine.waiting = true;
    core::effects out;
    const core::request_id id = gate_.arrive(asked, time.now(), out);
    visits_[number].id = id;
    carry_out(out);
  }

  void leave(std::uint64_t number) {
    visit& mine = visits_[number];
    if (!mine.waiting) return;
    core::effects out;
    if (!gate_.cancel(mine.id, time.now(), out)) return;
    mine.waiting = false;
    ++of(number)->left;
    write(number, "left");
    carry_out(out);
  }

  void carry_out(const core::effects& out) {
    for (const core::effect& one : out.list) {
      switch (one.what) {
        case core::effect::kind::granted: granted(one); break;
        case core::effect::kind::rejected: rejected(one, out.decisions.at(one.detail)); break;
        case core::effect::kind::preempt: preempt(one); break;
        case core::effect::kind::stop:
        case core::effect::kind::wake_at: wake(one.at); break;
        case core::effect::kind::budget_threshold: break;
      }
    }
  }

  void granted(const core::effect& one) {
    visit& mine = visits_[one.tag];
    mine.id = one.id;
    mine.waiting = false;
    mine.stopping = false;
    const std::uint64_t grant = ++mine.grant;
    const duration waited = time.now() - mine.arrived;
    of(one.tag)->waits_.push_back(waited);
    write(one.tag, "granted", " after " + seconds(waited));
    time.in(mine.what.service, [this, number = one.tag, grant] { complete(number, grant); });
    if (!mine.what.stoppable) return;
    // Not from here: what this calls forth may have to come after the effects that are being carried out.
    time.at(time.now(), [this, number = one.tag, grant] {
      const visit& running = visits_[number];
      if (running.grant != grant || running.stopping) return;
      core::effects out;
      gate_.set_stoppable(running.id, true, time.now(), out);
      carry_out(out);
    });
  }

  void rejected(const core::effect& one, const decision& why) {
    visits_[one.tag].waiting = false;
    if (class_result* const mine = of(one.tag)) {
      ++mine->refused;
      ++mine->by_reason_.at(static_cast<std::size_t>(why.reason));
    }
    write(one.tag, "refused", ": " + std::string(to_string(why.reason)));
  }

  void preempt(const core::effect& one) {
    visit& mine = visits_[one.tag];
    mine.stopping = true;
    write(one.tag, "preempt");
    time.in(mine.what.stop_delay, [this, number = one.tag, grant = mine.grant] { stopped(number, grant); });
  }

  void stopped(std::uint64_t number, std::uint64_t grant) {
    visit& mine = visits_[number];
    if (mine.grant != grant) return;
    // Whatever end was planned for this grant is none any more.
    ++mine.grant;
    ++of(number)->preempted;
    if (const auto kept = gate_.age_of(mine.id)) {
      mine.age_kept = *kept;
      ++mine.age_kept.preemptions;
    }
    write(number, "stopped");
    core::effects out;
    gate_.finish(mine.id, core::ending::preempted, std::nullopt, time.now(), out);
    carry_out(out);
    queue(number);
  }

  void complete(std::uint64_t number, std::uint64_t grant) {
    visit& mine = visits_[number];
    if (mine.grant != grant) return;
    ++mine.grant;
    ++of(number)->completed;
    write(number, "completed");
    const cost& asked = mine.what.cost;
    const usage used = mine.what.used.input_tokens < 0 ? usage{asked.tokens - asked.output_tokens, asked.output_tokens}
                                                       : mine.what.used;
    core::effects out;
    gate_.finish(mine.id, core::ending::released, used, time.now(), out);
    carry_out(out);
  }

  void wake(instant at) {
    wanted_ = at;
    if (at == never) return;
    time.at(at, [this, at] {
      // A later wish has replaced this one.
      if (wanted_ != at) return;
      wanted_ = never;
      core::effects out;
      gate_.tick(time.now(), out);
      carry_out(out);
    });
  }

  class_result* of(std::uint64_t number) {
    const std::size_t which = visits_[number].what.workload.index();
    return which < results_.size() ? &results_[which] : nullptr;
  }

  void write(std::string_view what) {
    if (keep_log) log.append(seconds(time.now().time_since_epoch())).append(" ").append(what).append("\n");
  }

  void write(std::uint64_t number, std::string_view what, std::string_view more = {}) {
    if (!keep_log) return;
    const std::size_t which = visits_[number].what.workload.index();
    const auto& classes = gate_.current_policy().classes;
    const std::string name = which < classes.size() ? classes[which].name : '#' + std::to_string(which);
    write(std::string(what) + ' ' + name + " #" + std::to_string(number) + std::string(more));
  }

  core::admission gate_;
  std::vector<class_result> results_;
  std::vector<visit> visits_;
  instant wanted_ = never;
};

simulation::simulation(policy initial) : state_(std::make_unique<state>(std::move(initial))) {}
simulation::simulation(simulation&&) noexcept = default;
simulation& simulation::operator=(simulation&&) noexcept = default;
simulation::~simulation() = default;

timeline& simulation::time() noexcept { return state_->time; }
void simulation::arrive(instant when, job what) { state_->arrive(when, what); }
void simulation::reconfigure(instant when, policy next) { state_->reconfigure(when, std::move(next)); }
void simulation::close(instant when) { state_->close(when); }
void simulation::run() { state_->time.run(); }
void simulation::run_until(instant end) { state_->time.run_until(end); }
const class_result& simulation::result(workload which) const { return state_->result(which); }
statistics simulation::accounts() const { return state_->gate().statistics(); }
std::string simulation::broken_invariant() const { return state_->gate().broken_invariant().value_or(""); }
void simulation::keep_log(bool kept) noexcept { state_->keep_log = kept; }
const std::string& simulation::log() const noexcept { return state_->log; }
void simulation::record(core::event_log_writer* to) noexcept { state_->record(to); }

}  // namespace sluice::sim
