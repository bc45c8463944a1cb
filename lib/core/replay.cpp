#include <sluice/core/replay.hpp>

#include <sluice/core/event_log.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

namespace sluice::core {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }
std::string number(std::uint64_t value) { return std::to_string(value); }
std::string nanoseconds(instant at) { return at == never ? "never" : number(at.time_since_epoch().count()) + " ns"; }
std::string named(request_id id) {
  return number(std::uint64_t{id.index}) + '.' + number(std::uint64_t{id.generation});
}

std::string words(const decision& what) {
  return std::string(to_string(what.outcome)) + ", " + std::string(to_string(what.reason)) + " by " +
         std::string(to_string(what.bound)) + ": limit " + number(what.limit) + ", available " +
         number(what.available) + ", shortfall " + number(what.shortfall) + ", ahead " +
         number(std::uint64_t{what.ahead}) + " with " + number(what.ahead_tokens) + " tokens, could start " +
         nanoseconds(what.could_start) + ", service " + number(what.expected_service.count()) + " ns, waited " +
         number(what.waited.count()) + " ns, asked " + number(what.asked.tokens) + ", deadline " +
         nanoseconds(what.deadline) + ", revision " + number(what.revision);
}

std::string words(const effect& what, const effects& of) {
  const std::string whom = named(what.id) + " (tag " + number(what.tag) + ')';
  switch (what.what) {
    case effect::kind::granted: return "granted " + whom;
    case effect::kind::preempt: return "preempt " + whom;
    case effect::kind::stop: return "stop " + whom;
    case effect::kind::wake_at: return "wake at " + nanoseconds(what.at);
    case effect::kind::budget_threshold:
      return "a run has spent " + number(std::uint64_t{what.detail}) + " % (tag " + number(what.tag) + ')';
    case effect::kind::rejected: break;
  }
  return "rejected " + whom + " [" + (what.detail < of.decisions.size() ? words(of.decisions[what.detail]) : "?") + ']';
}

/// What an event gave, and its effects around the first that differs: close to another, they tell the most.
std::string words(const event_result& result, const effects& of, std::size_t from) {
  std::string text = result.accepted ? "done" : "not done";
  if (result.id != request_id{}) text += " as " + named(result.id);
  if (result.run != run_id{})
    text += " as run " + number(std::uint64_t{result.run.index}) + '.' + number(std::uint64_t{result.run.generation});
  text += ", " + number(std::uint64_t{of.list.size()}) + " effects";
  constexpr std::size_t most = 3;
  for (std::size_t i = from; i < of.list.size() && i < from + most; ++i) {
    text += "; " + number(std::uint64_t{i + 1}) + ": " + words(of.list[i], of);
  }
  return text;
}

bool same_at(std::size_t i, const effects& a, const effects& b) {
  if (!same(a.list[i], b.list[i])) return false;
  if (a.list[i].what != effect::kind::rejected) return true;
  const std::size_t place = a.list[i].detail;
  return place < a.decisions.size() && place < b.decisions.size() && same(a.decisions[place], b.decisions[place]);
}

/// The first effect that differs; none when all are the same.
std::optional<std::size_t> first_difference(const effects& a, const effects& b) {
  const std::size_t both = std::min(a.list.size(), b.list.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (!same_at(i, a, b)) return i;
  }
  return a.list.size() == b.list.size() ? std::nullopt : std::optional(both);
}

/// Explain records have no effects, and a log may ask for any number of them.
policy without_records(policy rules) {
  rules.explain_records = 0;
  return rules;
}

}  // namespace

std::string replay_difference::explain() const {
  return "event " + std::to_string(event) + " (" + name + " at " + nanoseconds(at) + "): logged " + logged +
         " | replayed " + replayed;
}

expected<replay_result, error> replay(std::string_view log) {
  auto reader = event_log_reader::open(log);
  if (!reader) return unexpected<error>(reader.error());
  if (!reader->from_the_start()) {
    return unexpected<error>(
        error(errc::invalid_argument,
              "event log: it begins in the middle of a machine's life and cannot be replayed; record "
              "from the start"));
  }
  admission machine(without_records(reader->initial()));
  replay_result result;
  logged_event then;
  effects now;
  for (;;) {
    const auto more = reader->next(then);
    if (!more) return unexpected<error>(more.error());
    if (!*more) return result;
    ++result.events;
    if (auto* change = std::get_if<events::reconfigure>(&then.what.what)) {
      change->next = std::make_shared<const policy>(without_records(*change->next));
    }
    now.clear();
    const event_result gave = apply(machine, then.what, now);
    const auto differs = first_difference(then.effects, now);
    if (gave == then.result && !differs) continue;
    const std::size_t from = differs.value_or(0);
    result.difference = replay_difference{then.number, then.what.at, std::string(name_of(then.what)),
                                          words(then.result, then.effects, from), words(gave, now, from)};
    return result;
  }
}

}  // namespace sluice::core
