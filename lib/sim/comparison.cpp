#include <sluice/sim/comparison.hpp>

#include "sim/rerun.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace sluice::sim {
namespace {

duration at_share(std::vector<duration>& sorted, double share) {
  if (sorted.empty()) return {};
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

/// Adds up one side of a class.
class tally {
 public:
  void add(const fate& what, duration tolerance) {
    ++sum_.requests;
    sum_.preemptions += what.preemptions;
    sum_.wasted_tokens += what.wasted_tokens;
    if (what.started()) {
      ++sum_.started;
      if (what.waited > tolerance) ++sum_.waited;
      waits_.push_back(what.waited);
    } else if (what.what == fate::kind::refused) {
      ++sum_.refused;
      ++sum_.refused_for.at(static_cast<std::size_t>(what.why));
    } else if (what.what == fate::kind::left) {
      ++sum_.left;
    } else {
      ++sum_.waiting;
    }
  }
  [[nodiscard]] experience result() {
    std::sort(waits_.begin(), waits_.end());
    sum_.wait_p50 = at_share(waits_, 0.5);
    sum_.wait_p95 = at_share(waits_, 0.95);
    sum_.wait_longest = at_share(waits_, 1);
    return sum_;
  }

 private:
  experience sum_;
  std::vector<duration> waits_;
};

/// Adds up both sides.
class side_by_side {
 public:
  explicit side_by_side(std::string name, duration tolerance) : tolerance_(tolerance) { sum_.name = std::move(name); }

  void add(const fate& then, const rerun_fate& now) {
    then_.add(then, tolerance_);
    now_.add(now.fate, tolerance_);
    const bool started_now = now.fate.started();
    if (now.estimated && started_now) ++sum_.estimated;
    if (then.started() != started_now) ++(started_now ? sum_.gained : sum_.lost);
    if (!then.started() || !started_now) return;
    const duration change = now.fate.waited - then.waited;
    if (change < -tolerance_) sooner_.push_back(-change);
    if (change > tolerance_) later_.push_back(change);
  }
  [[nodiscard]] class_comparison result() {
    sum_.then = then_.result();
    sum_.now = now_.result();
    sum_.sooner = sooner_.size();
    sum_.later = later_.size();
    sum_.median_sooner = median_of(std::move(sooner_), {});
    sum_.median_later = median_of(std::move(later_), {});
    return sum_;
  }

 private:
  duration tolerance_;
  class_comparison sum_;
  tally then_;
  tally now_;
  std::vector<duration> sooner_;
  std::vector<duration> later_;
};

bool same_fate(const fate& a, const fate& b, duration tolerance) {
  const duration change = a.waited > b.waited ? a.waited - b.waited : b.waited - a.waited;
  return a.what == b.what && a.why == b.why && a.preemptions == b.preemptions && change <= tolerance;
}

std::string seconds(duration length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", std::chrono::duration<double>(length).count());
  return text;
}

std::string count(std::uint64_t number, const char* what) {
  return std::to_string(number) + ' ' + what + (number == 1 ? "" : "s");
}

std::string then_and_now(const std::string& then, const std::string& now) {
  return then == now ? now + " as before" : now + " instead of " + then;
}

expected<std::vector<workload>, error> matched(const policy& then, const policy& other) {
  std::vector<workload> classes;
  for (const class_policy& each : then.classes) {
    const auto found = other.find(each.name);
    if (!found) {
      return unexpected<error>(error(errc::invalid_argument,
                                     "compare: the log has a class '" + each.name + "': " + found.error().message()));
    }
    classes.push_back(*found);
  }
  return classes;
}

}  // namespace

std::string class_comparison::explain() const {
  std::string text = name + ": of " + count(then.requests, "request") + ", " +
                     then_and_now(std::to_string(then.started), std::to_string(now.started)) +
                     " would have been let in, " + "after a wait of " +
                     then_and_now(seconds(then.wait_p50), seconds(now.wait_p50)) + " in the median and " +
                     then_and_now(seconds(then.wait_p95), seconds(now.wait_p95)) + " at p95";
  if (sooner != 0) text += "; " + std::to_string(sooner) + " sooner, by " + seconds(median_sooner) + " in the median";
  if (later != 0) text += "; " + std::to_string(later) + " later, by " + seconds(median_later) + " in the median";
  if (then.refused + now.refused != 0) {
    text += "; " + then_and_now(std::to_string(then.refused), std::to_string(now.refused)) + " refused";
    std::string reasons;
    for (std::size_t i = 0; i < now.refused_for.size(); ++i) {
      if (then.refused_for[i] + now.refused_for[i] == 0) continue;
      reasons += (reasons.empty() ? "" : ", ") + std::string(to_string(static_cast<reason>(i))) + ' ' +
                 then_and_now(std::to_string(then.refused_for[i]), std::to_string(now.refused_for[i]));
    }
    text += " (" + reasons + ')';
  }
  if (then.left + now.left != 0) {
    text += "; " + then_and_now(std::to_string(then.left), std::to_string(now.left)) + " given up";
  }
  if (then.waiting + now.waiting != 0) {
    text +=
        "; " + then_and_now(std::to_string(then.waiting), std::to_string(now.waiting)) + " still waiting at the end";
  }
  if (then.preemptions + now.preemptions != 0) {
    text += "; " + then_and_now(std::to_string(then.preemptions), std::to_string(now.preemptions)) + " preempted, " +
            then_and_now(std::to_string(then.wasted_tokens), std::to_string(now.wasted_tokens)) + " tokens wasted";
  }
  if (estimated != 0) text += "; how long " + std::to_string(estimated) + " of them would have run is an estimate";
  return text;
}

std::string comparison::explain() const {
  std::string text;
  for (const class_comparison& each : classes) {
    if (each.then.requests != 0) text += each.explain() + '\n';
  }
  return text;
}

expected<comparison, error> compare(std::string_view log, const policy& other, const comparison_options& options) {
  const auto then = recorded_run::read(log);
  if (!then) return unexpected<error>(then.error());
  return compare(*then, other, options);
}

expected<comparison, error> compare(const recorded_run& then, const policy& other, const comparison_options& options) {
  if (const auto valid = validate(other); !valid) return unexpected<error>(valid.error());
  const auto classes = matched(then.initial, other);
  if (!classes) return unexpected<error>(classes.error());
  const auto now = rerun(then, other, *classes);

  comparison made;
  made.reconfigurations = then.reconfigurations;
  std::vector<side_by_side> sums;
  for (const class_policy& each : then.initial.classes) sums.emplace_back(each.name, options.tolerance);
  side_by_side all("all", options.tolerance);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const recorded_request& it = then.requests[i];
    all.add(it.fate, now[i]);
    if (it.asked.workload.index() < sums.size()) sums[it.asked.workload.index()].add(it.fate, now[i]);
    if (same_fate(it.fate, now[i].fate, options.tolerance)) continue;
    ++made.changed_total;
    if (made.changed.size() >= options.most_listed) continue;
    made.changed.push_back({i, it.asked.workload, it.arrived, it.fate, now[i].fate});
  }
  for (side_by_side& each : sums) made.classes.push_back(each.result());
  made.all = all.result();
  return made;
}

}  // namespace sluice::sim
