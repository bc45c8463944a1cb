#include <sluice/sim/recorded_run.hpp>

#include <sluice/core/event_log.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <variant>

namespace sluice::sim {
namespace {

constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

/// Work that was preempted is known again by when it first came, and what it asks for; its number in the core is not in
/// the log.
using identity = std::tuple<instant, std::uint8_t, std::int64_t, std::int64_t, std::uint64_t>;

/// As the core counts it, so that no sum of a log's numbers overflows.
constexpr std::int64_t most_usage = std::int64_t{1} << 40;
std::int64_t credible(std::int64_t tokens) { return std::clamp<std::int64_t>(tokens, 0, most_usage); }
std::optional<usage> credible(std::optional<usage> used) {
  if (used) used = usage{credible(used->input_tokens), credible(used->output_tokens)};
  return used;
}

class log_story {
 public:
  explicit log_story(recorded_run& into) : run_(into) {}

  void happened(const core::logged_event& what) {
    now_ = what.what.at;
    number_ = what.number;
    if (number_ == 0) run_.begin = now_;
    run_.end = now_;
    std::visit([&](const auto& body) { note(body, what); }, what.what.what);
    for (const core::effect& each : what.effects.list) {
      if (each.what == core::effect::kind::granted)
        granted(each.id);
      else if (each.what == core::effect::kind::rejected)
        rejected(each, what.effects.decisions.at(each.detail));
      else if (each.what == core::effect::kind::preempt)
        told_to_stop(each.id);
    }
  }

  void over() {
    for (std::size_t i = 0; i < run_.requests.size(); ++i) {
      recorded_request& each = run_.requests[i];
      if (each.fate.what == fate::kind::waiting) each.fate.waited = run_.end - each.arrived;
    }
  }

 private:
  struct place {
    std::uint32_t generation = 0;
    std::size_t request = nobody;
    instant granted = never;
    instant told_to_stop = never;
  };

  [[nodiscard]] place* find(core::request_id id) {
    const auto found = places_.find(id.index);
    if (found != places_.end() && found->second.generation == id.generation && id != core::request_id{})
      return &found->second;
    // It was turned away in the event in which somebody else took its place.
    if (replaced_ && replaced_->generation == id.generation && replaced_index_ == id.index) return &*replaced_;
    ++run_.unknown;
    return nullptr;
  }
  [[nodiscard]] recorded_request& of(const place& which) { return run_.requests[which.request]; }

  void came(const core::request& what, const core::event_result& result) {
    newcomer_ = nobody;
    if (what.age.sequence != 0) {
      const auto back = stopped_.find(identity_of(what, what.age.arrived));
      if (back != stopped_.end()) {
        newcomer_ = back->second;
        stopped_.erase(back);
        recorded_request& it = run_.requests[newcomer_];
        it.stops.back().again_after = now_ - stopped_at_[newcomer_];
        it.stops.back().again_order = number_;
        it.fate.what = fate::kind::waiting;
        stopped_at_.erase(newcomer_);
      }
    }
    if (newcomer_ == nobody) {
      newcomer_ = run_.requests.size();
      recorded_request& added = run_.requests.emplace_back();
      added.asked = what;
      added.asked.age = {};
      added.arrived = now_;
      added.order = number_;
    }
    if (!result.accepted) return;
    replaced_.reset();
    replaced_index_ = result.id.index;
    if (const auto before = places_.find(result.id.index); before != places_.end()) replaced_ = before->second;
    places_[result.id.index] = {result.id.generation, newcomer_, never, never};
  }
  [[nodiscard]] static identity identity_of(const core::request& what, instant arrived) {
    return {arrived, what.workload.index(), what.cost.tokens, what.cost.output_tokens, what.tenant.key()};
  }

  void note(const core::events::arrive& body, const core::logged_event& what) { came(body.what, what.result); }
  void note(const core::events::enter& body, const core::logged_event& what) {
    // It comes again in the same breath when this has failed.
    if (!what.result.accepted) return;
    came(body.what, what.result);
    granted(what.result.id);
  }
  void note(const core::events::cancel& body, const core::logged_event& what) {
    if (!what.result.accepted) return;
    if (const place* const which = find(body.id)) {
      recorded_request& it = of(*which);
      it.fate.what = fate::kind::left;
      it.fate.waited = it.left_after = now_ - it.arrived;
      it.left_order = number_;
    }
  }
  void note(const core::events::tick&, const core::logged_event&) { run_.ticks.emplace_back(now_, number_); }
  void note(const core::events::report& body, const core::logged_event& what) {
    if (!what.result.accepted) return;
    const place* const which = find(body.id);
    if (which == nullptr) return;
    progress far = body.how_far;
    far.input_tokens = credible(far.input_tokens);
    far.output_tokens = credible(far.output_tokens);
    of(*which).reports.push_back({now_ - which->granted, number_, far});
  }
  void note(const core::events::set_stoppable& body, const core::logged_event&) {
    const place* const which = find(body.id);
    if (which == nullptr || which->granted == never || !body.stoppable ||
        of(*which).stoppable_after >= duration::zero())
      return;
    of(*which).stoppable_after = now_ - which->granted;
    of(*which).stoppable_order = number_;
  }
  void note(const core::events::finish& body, const core::logged_event& what) {
    if (!what.result.accepted) return;
    place* const which = find(body.id);
    if (which == nullptr) return;
    recorded_request& it = of(*which);
    const std::optional<usage> used = credible(body.used);
    if (body.how == core::ending::preempted) {
      const instant told = which->told_to_stop == never ? now_ : which->told_to_stop;
      it.stops.push_back({now_ - which->granted, now_ - told, number_, used, duration(-1), 0});
      it.fate.what = fate::kind::stopped;
      ++it.fate.preemptions;
      if (used) {
        it.fate.wasted_tokens += used->input_tokens + used->output_tokens;
      } else if (!it.reports.empty()) {
        it.fate.wasted_tokens += it.reports.back().how_far.input_tokens + it.reports.back().how_far.output_tokens;
      }
      stopped_.emplace(identity_of(it.asked, it.arrived), which->request);
      stopped_at_[which->request] = now_;
    } else {
      it.fate.what = fate::kind::ended;
      it.held = now_ - which->granted;
      it.end_order = number_;
      if (which->told_to_stop != never) it.outran_stop = now_ - which->told_to_stop;
      it.how = body.how;
      it.used = used;
    }
    which->generation = 0;
  }
  void note(const core::events::reconfigure&, const core::logged_event& what) {
    if (what.result.accepted) ++run_.reconfigurations;
  }
  void note(const core::events::signal& body, const core::logged_event& what) {
    const place* const which = body.id == core::request_id{} ? nullptr : find(body.id);
    if (which != nullptr && which->granted != never) {
      of(*which).signals.push_back({now_ - which->granted, number_, body.what});
    } else {
      run_.events.push_back({number_, {now_, core::events::signal{{}, body.what}}, what.result});
    }
  }
  template <typename Other>
  void note(const Other&, const core::logged_event& what) {
    run_.events.push_back({number_, what.what, what.result});
  }

  void granted(core::request_id id) {
    place* const which = find(id);
    if (which == nullptr) return;
    which->granted = now_;
    recorded_request& it = of(*which);
    it.fate.what = fate::kind::running;
    it.fate.waited = now_ - it.arrived;
    it.stoppable_after = duration(-1);
    it.reports.clear();
    it.signals.clear();
  }
  void rejected(const core::effect& what, const decision& why) {
    const place* const which = what.id == core::request_id{} ? nullptr : find(what.id);
    const std::size_t who = which != nullptr ? which->request : what.id == core::request_id{} ? newcomer_ : nobody;
    if (who == nobody) return;
    recorded_request& it = run_.requests[who];
    it.fate.what = fate::kind::refused;
    it.fate.why = why.reason;
    it.fate.waited = now_ - it.arrived;
  }
  void told_to_stop(core::request_id id) {
    if (place* const which = find(id)) which->told_to_stop = now_;
  }

  recorded_run& run_;
  std::map<std::uint32_t, place> places_;
  std::optional<place> replaced_;
  std::uint32_t replaced_index_ = 0;
  std::multimap<identity, std::size_t> stopped_;
  std::map<std::size_t, instant> stopped_at_;
  std::size_t newcomer_ = nobody;
  instant now_{};
  std::uint64_t number_ = 0;
};

}  // namespace

expected<recorded_run, error> recorded_run::read(std::string_view log) {
  auto reader = core::event_log_reader::open(log);
  if (!reader) return unexpected<error>(reader.error());
  recorded_run made;
  made.initial = reader->initial();
  log_story story(made);
  core::logged_event each;
  for (;;) {
    const auto more = reader->next(each);
    if (!more) return unexpected<error>(more.error());
    if (!*more) break;
    story.happened(each);
  }
  story.over();
  return made;
}

duration median_of(std::vector<duration> lengths, duration otherwise) {
  if (lengths.empty()) return otherwise;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

}  // namespace sluice::sim
