/// \file
/// How an event with its effects becomes bytes, and bytes become one again: one description for both ways.
///
/// What can be foretold from what has been logged before takes a bit that says so: a request's next number, the tag
/// that an effect gives back, all of a decision that repeats its request. Both ways remember the same things.
#pragma once

#include "core/byte_stream.hpp"
#include "core/event_fields.hpp"
#include "core/key_table.hpp"

#include <sluice/core/event.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::core {

inline constexpr char log_magic[] = {'\x89', 's', 'l', 'u', 'i', 'c', 'e', '\n'};
inline constexpr std::uint8_t log_version = 1;
/// In the place of an event's kind: the log ends here.
inline constexpr std::uint8_t log_end = 15;
/// Further than any instant of a machine: 146 years.
inline constexpr std::int64_t latest_logged = std::int64_t{1} << 62;

template <typename Stream>
class event_codec {
 public:
  explicit event_codec(Stream& bytes, std::uint64_t revision) noexcept : bytes_(bytes), revision_(revision) {}

  /// Everything of an event but its effects. `head` is its first byte, which has the kind in its lower half.
  void event_and_result(std::uint8_t head, event& what, event_result& result) {
    std::int64_t passed = distance(last_at_, what.at.time_since_epoch().count());
    signed_number(passed, "an instant");
    last_at_ = at_distance(last_at_, passed);
    if constexpr (Stream::reads) {
      if (last_at_ < 0 || last_at_ > latest_logged) bytes_.fail("an instant between 0 and 2^62");
    }
    what.at = instant(duration(last_at_));
    now_ = what.at;
    result.accepted = (head & accepted_bit) != 0;
    newcomer_id_ = {};
    std::visit([&](auto& body) { fields(body, head, result); }, what.what);
    if (!std::holds_alternative<events::reconfigure>(what.what) || !result.accepted) return;
    if (const auto& next = std::get<events::reconfigure>(what.what).next) revision_ = next->revision;
  }

  /// One effect. `decisions` is where its decision is, or goes to; `place` counts the decisions of this event.
  void one_effect(effect& each, std::vector<decision>& decisions, std::size_t first, std::uint32_t& place) {
    std::uint8_t head = 0;
    if constexpr (!Stream::reads) head = head_of(each, place);
    bytes_.byte(head, "an effect");
    if constexpr (Stream::reads) {
      each = {};
      if ((head & 7U) > static_cast<unsigned>(effect::kind::budget_threshold)) return bytes_.fail("an effect");
      each.what = static_cast<effect::kind>(head & 7U);
    }
    if ((head & raw_bit) != 0) {
      field_stream<Stream> raw(bytes_);
      raw(each.detail, each.id.index, each.id.generation, each.tag, each.at);
    } else {
      usual_effect(head, each, place);
    }
    if (each.what != effect::kind::rejected) return;
    ++place;
    if constexpr (Stream::reads) {
      // A rejection whose decision is somebody else's: none is ever written.
      if (each.detail != decisions.size() - first) return bytes_.fail("the place of the decision");
      decisions.emplace_back();
    }
    if (first + each.detail >= decisions.size()) return;
    one_decision(decisions[first + each.detail], foretold(each.id));
  }

  /// For the writer: the first byte of an event.
  [[nodiscard]] static std::uint8_t head_of(const event& what, const event_result& result, bool with_effects) noexcept {
    std::uint8_t head = static_cast<std::uint8_t>(what.what.index());
    if (result.accepted) head |= accepted_bit;
    if (with_effects) head |= effects_bit;
    if (const auto* ended = std::get_if<events::finish>(&what.what)) {
      head |= static_cast<std::uint8_t>(static_cast<unsigned>(ended->how) << 6U);
    }
    return head;
  }
  static constexpr std::uint8_t accepted_bit = 0x10;
  static constexpr std::uint8_t effects_bit = 0x20;

 private:
  // The bits of an effect's first byte, above its kind.
  static constexpr std::uint8_t known_id_bit = 0x08;
  static constexpr std::uint8_t known_tag_bit = 0x10;
  static constexpr std::uint8_t never_bit = 0x20;
  static constexpr std::uint8_t raw_bit = 0x80;
  static constexpr std::size_t most_keys = 65'536;

  struct known {
    std::uint32_t generation = 0;
    request asked{};
    usage used{};
  };

  void signed_number(std::int64_t& value, const char* what) {
    std::uint64_t wide = folded(value);
    bytes_.number(wide, what);
    value = unfolded(wide);
  }
  /// Near to what was foretold.
  void near(std::int64_t& value, std::int64_t foretold, const char* what) {
    std::int64_t off = distance(foretold, value);
    signed_number(off, what);
    value = at_distance(foretold, off);
  }
  template <typename Number>
  void small(Number& value, const char* what) {
    std::uint64_t wide = value;
    bytes_.number(wide, what);
    if constexpr (Stream::reads) {
      if (wide > std::numeric_limits<Number>::max()) bytes_.fail(what);
      value = static_cast<Number>(wide);
    }
  }
  void span(duration& value, duration foretold, const char* what) {
    std::int64_t count = value.count();
    near(count, foretold.count(), what);
    value = duration(count);
  }
  void point(instant& value, instant foretold, const char* what) {
    duration since = value.time_since_epoch();
    span(since, foretold.time_since_epoch(), what);
    value = instant(since);
  }

  // Both ways grow their memory by the same rule, so that a number out of nowhere costs no memory.
  [[nodiscard]] known* remembered(std::uint32_t index) {
    if (index >= known_.size()) {
      if (index > 2 * known_.size() + 1'024) return nullptr;
      known_.resize(std::size_t{index} + 1);
    }
    return &known_[index];
  }
  [[nodiscard]] const known* find(request_id id) const noexcept {
    return id.index < known_.size() && known_[id.index].generation == id.generation && id != request_id{}
               ? &known_[id.index]
               : nullptr;
  }

  /// `later`: by how much its generation is ahead of the last one with this index.
  void id(request_id& which, std::uint32_t later = 0) {
    const auto foretold_of = [this, later](std::uint32_t index) {
      const known* const last = remembered(index);
      return last == nullptr ? 0 : last->generation + later;
    };
    std::uint64_t code = 0;
    if constexpr (!Stream::reads) {
      code = std::uint64_t{which.index} << 1U;
      if (which.generation != foretold_of(which.index)) code |= 1U;
    }
    bytes_.number(code, "a request");
    if constexpr (Stream::reads) {
      if (code >> 33U != 0) bytes_.fail("a request");
      if (bytes_.failed()) return;
      which.index = static_cast<std::uint32_t>(code >> 1U);
      which.generation = foretold_of(which.index);
    }
    if ((code & 1U) != 0) small(which.generation, "a request's generation");
  }

  void key(std::uint64_t& value) {
    std::uint64_t place = 0;
    if constexpr (!Stream::reads) {
      const std::uint32_t found = places_.find(value);
      if (found != key_table::none) place = std::uint64_t{found} + 1;
    }
    bytes_.number(place, "a key");
    if (place == 0) {
      bytes_.word(value, "a key");
      if (keys_.size() >= most_keys) return;
      if constexpr (!Stream::reads) places_.insert(value, static_cast<std::uint32_t>(keys_.size()));
      keys_.push_back(value);
      return;
    }
    if (place > keys_.size()) {
      if constexpr (Stream::reads) bytes_.fail("a key that was there before");
      return;
    }
    value = keys_[static_cast<std::size_t>(place - 1)];
  }

  enum : std::uint64_t {
    has_output = 1U << 0U,
    has_deadline = 1U << 1U,
    other_deadline = 1U << 2U,
    has_tenant = 1U << 3U,
    has_model = 1U << 4U,
    other_class = 1U << 5U,
    next_tag = 1U << 6U,
    // From here on rare: they cost a byte.
    other_tag = 1U << 7U,
    will_not_wait = 1U << 8U,
    other_slots = 1U << 9U,
    has_run = 1U << 10U,
    finalising = 1U << 11U,
    has_age = 1U << 12U,
    all_of_them = (1U << 13U) - 1,
  };

  [[nodiscard]] std::uint64_t mask_of(const request& what) const noexcept {
    std::uint64_t mask = 0;
    const auto bit = [&mask](bool set, std::uint64_t which) { mask |= set ? which : 0; };
    bit(what.cost.output_tokens != 0, has_output);
    bit(what.deadline != never, has_deadline);
    bit(what.deadline != never && offset(what) != last_offset(what.workload), other_deadline);
    bit(what.tenant.key() != 0, has_tenant);
    bit(what.model.key() != 0, has_model);
    bit(what.workload != last_class_, other_class);
    bit(what.tag != 0 && what.tag == last_tag_ + 1, next_tag);
    bit(what.tag != 0 && what.tag != last_tag_ + 1, other_tag);
    bit(!what.may_wait, will_not_wait);
    bit(what.cost.slots != 1, other_slots);
    bit(what.run != run_id{}, has_run);
    bit(what.finalising, finalising);
    bit(what.age != age{}, has_age);
    return mask;
  }
  [[nodiscard]] std::int64_t offset(const request& what) const noexcept {
    return distance(last_at_, what.deadline.time_since_epoch().count());
  }
  [[nodiscard]] std::int64_t& last_offset(workload of) noexcept { return offsets_[of.index() % offsets_.size()]; }
  [[nodiscard]] std::int64_t last_offset(workload of) const noexcept { return offsets_[of.index() % offsets_.size()]; }

  void fields(request& what) {
    std::uint64_t mask = 0;
    if constexpr (!Stream::reads) mask = mask_of(what);
    bytes_.number(mask, "the marks of a request");
    if constexpr (Stream::reads) {
      if (mask > all_of_them) bytes_.fail("the marks of a request");
      what = {};
    }
    field_stream<Stream> plain(bytes_);
    std::uint8_t class_number = what.workload.index();
    if ((mask & other_class) != 0) bytes_.byte(class_number, "a class");
    else class_number = last_class_.index();
    what.workload = last_class_ = workload(class_number);
    plain(what.cost.tokens);
    if ((mask & has_output) != 0) plain(what.cost.output_tokens);
    if ((mask & other_slots) != 0) plain(what.cost.slots);
    if ((mask & has_deadline) != 0) {
      std::int64_t to_deadline = offset(what);
      if ((mask & other_deadline) != 0) signed_number(to_deadline, "a deadline");
      else to_deadline = last_offset(what.workload);
      last_offset(what.workload) = to_deadline;
      what.deadline = instant(duration(at_distance(last_at_, to_deadline)));
    }
    if ((mask & has_tenant) != 0) {
      std::uint64_t who = what.tenant.key();
      key(who);
      what.tenant = tenant(who);
    }
    if ((mask & has_model) != 0) {
      std::uint64_t which = what.model.key();
      key(which);
      what.model = model(which);
    }
    if ((mask & next_tag) != 0) what.tag = last_tag_ + 1;
    if ((mask & other_tag) != 0) {
      auto tag = static_cast<std::int64_t>(what.tag);
      near(tag, static_cast<std::int64_t>(last_tag_), "a tag");
      what.tag = static_cast<std::uint64_t>(tag);
    }
    if (what.tag != 0) last_tag_ = what.tag;
    what.may_wait = (mask & will_not_wait) == 0;
    what.finalising = (mask & finalising) != 0;
    if ((mask & has_run) != 0) plain(what.run);
    if ((mask & has_age) != 0) plain(what.age);
    newcomer_ = what;
  }

  void name(event_result& result) {
    if (!result.accepted) return;
    id(result.id, 1);
    newcomer_id_ = result.id;
    if (known* const place = remembered(result.id.index)) *place = {result.id.generation, newcomer_, {}};
  }

  void fields(events::arrive& body, std::uint8_t, event_result& result) {
    fields(body.what);
    name(result);
  }
  void fields(events::enter& body, std::uint8_t, event_result& result) {
    fields(body.what);
    name(result);
  }
  void fields(events::cancel& body, std::uint8_t, event_result&) { id(body.id); }
  void fields(events::tick&, std::uint8_t, event_result&) {}
  void fields(events::report& body, std::uint8_t, event_result& result) {
    id(body.id);
    progress& far = body.how_far;
    known fallback;
    const known* const last = find(body.id);
    known& of = last != nullptr ? known_[body.id.index] : fallback;
    near(far.input_tokens, of.used.input_tokens, "input tokens");
    near(far.output_tokens, of.used.output_tokens, "output tokens");
    near(far.remaining_output, std::max(distance(far.output_tokens, of.asked.cost.output_tokens), std::int64_t{0}),
         "the remaining output");
    near(far.margin, progress{}.margin, "a margin");
    if (result.accepted) of.used = {far.input_tokens, far.output_tokens};
  }
  void fields(events::set_stoppable& body, std::uint8_t, event_result&) {
    id(body.id);
    field_stream<Stream>{bytes_}(body.stoppable);
  }
  void fields(events::finish& body, std::uint8_t head, event_result&) {
    if constexpr (Stream::reads) {
      if (head >> 6U > static_cast<unsigned>(ending::abandoned)) bytes_.fail("an ending");
      body.how = bytes_.failed() ? ending::released : static_cast<ending>(head >> 6U);
    }
    id(body.id);
    const known* const last = find(body.id);
    const usage so_far = last != nullptr ? last->used : usage{};
    const std::int64_t input = last == nullptr ? 0
                               : so_far.input_tokens != 0 ? so_far.input_tokens
                                                           : distance(last->asked.cost.output_tokens, last->asked.cost.tokens);
    usage used = body.used.value_or(usage{});
    // Zero: not known.
    std::uint64_t code = body.used ? 1 + folded(distance(input, used.input_tokens)) : 0;
    // The one distance that would wrap to it. Nobody has used 2^63 tokens.
    if (!Stream::reads && body.used && code == 0) code = 1;
    bytes_.number(code, "a usage");
    if (code == 0) {
      body.used.reset();
      return;
    }
    used.input_tokens = at_distance(input, unfolded(code - 1));
    near(used.output_tokens, so_far.output_tokens, "output tokens");
    body.used = used;
  }
  void fields(events::reconfigure& body, std::uint8_t, event_result&) {
    policy copy = body.next != nullptr ? *body.next : policy(capacity{});
    field_stream<Stream>{bytes_}(copy);
    if constexpr (Stream::reads) body.next = std::make_shared<const policy>(std::move(copy));
  }
  void fields(events::close&, std::uint8_t, event_result&) {}
  void fields(events::signal& body, std::uint8_t, event_result&) {
    id(body.id);
    field_stream<Stream>{bytes_}(body.what);
  }
  void fields(events::pause& body, std::uint8_t, event_result&) { point(body.until, now_, "an instant"); }
  void fields(events::open_run& body, std::uint8_t, event_result& result) {
    field_stream<Stream> plain(bytes_);
    plain(body.what);
    if (result.accepted) plain(result.run);
  }
  void fields(events::extend_run& body, std::uint8_t, event_result&) { field_stream<Stream>{bytes_}(body.id, body.more); }
  void fields(events::close_run& body, std::uint8_t, event_result&) { field_stream<Stream>{bytes_}(body.id); }

  [[nodiscard]] request foretold(request_id of) const noexcept {
    if (of == request_id{}) return newcomer_;
    const known* const place = find(of);
    return place != nullptr ? place->asked : request{};
  }

  [[nodiscard]] std::uint8_t head_of(const effect& each, std::uint32_t place) const noexcept {
    auto head = static_cast<std::uint8_t>(each.what);
    const bool about_request = each.what == effect::kind::granted || each.what == effect::kind::rejected ||
                               each.what == effect::kind::preempt;
    const std::uint32_t detail = each.what == effect::kind::rejected ? place : 0;
    const bool usual = about_request                            ? each.at == instant{} && each.detail == detail
                       : each.what == effect::kind::wake_at ? each.id == request_id{} && each.tag == 0 && each.detail == 0
                                                            : each.id == request_id{} && each.at == instant{};
    if (!usual) return head | raw_bit;
    if (about_request) {
      if (each.id == newcomer_id_) head |= known_id_bit;
      if (each.tag == foretold(each.id).tag) head |= known_tag_bit;
    } else if (each.what == effect::kind::wake_at && each.at == never) {
      head |= never_bit;
    }
    return head;
  }

  void usual_effect(std::uint8_t head, effect& each, std::uint32_t place) {
    switch (each.what) {
      case effect::kind::granted:
      case effect::kind::rejected:
      case effect::kind::preempt:
        if constexpr (Stream::reads) each.detail = each.what == effect::kind::rejected ? place : 0;
        if ((head & known_id_bit) == 0) id(each.id);
        else each.id = newcomer_id_;
        if ((head & known_tag_bit) == 0) bytes_.number(each.tag, "a tag");
        else each.tag = foretold(each.id).tag;
        return;
      case effect::kind::wake_at:
        if ((head & never_bit) != 0) each.at = never;
        else point(each.at, now_, "an instant");
        return;
      case effect::kind::budget_threshold:
        small(each.detail, "a percentage");
        bytes_.number(each.tag, "a tag");
        return;
    }
  }

  /// What a decision says that its request, and the decision's kind, do not say already: a bit for each number.
  void one_decision(decision& made, const request& of) {
    decision likely;
    likely.outcome = outcome::rejected;
    likely.workload = of.workload;
    likely.tenant = of.tenant;
    likely.asked = of.cost;
    likely.revision = revision_;
    likely.deadline = of.deadline;
    likely.at = now_;
    decision reference = made;
    if constexpr (Stream::reads) reference = likely;
    auto& [outcome, reason, bound, workload, tenant, observed, revision, asked, limit, available, shortfall, ahead,
           ahead_tokens, could_start, expected_service, waited, deadline, at] = reference;
    std::uint8_t class_number = workload.index();
    std::uint64_t who = tenant.key();
    std::uint64_t mask = 0;
    if constexpr (!Stream::reads) {
      unsigned place = 0;
      const auto bit = [&](bool differs) { mask |= std::uint64_t{differs} << place++; };
      bit(limit != likely.limit);
      bit(available != likely.available);
      bit(shortfall != likely.shortfall);
      bit(ahead != likely.ahead);
      bit(ahead_tokens != likely.ahead_tokens);
      bit(could_start != likely.could_start);
      bit(expected_service != likely.expected_service);
      bit(waited != likely.waited);
      bit(outcome != likely.outcome);
      bit(class_number != likely.workload.index());
      bit(who != likely.tenant.key());
      bit(observed != likely.observed);
      bit(revision != likely.revision);
      bit(asked != likely.asked);
      bit(deadline != likely.deadline);
      bit(at != likely.at);
    }
    field_stream<Stream> plain(bytes_);
    plain(reason, bound);
    bytes_.number(mask, "the marks of a decision");
    if constexpr (Stream::reads) {
      if (mask >> 16U != 0) bytes_.fail("the marks of a decision");
    }
    unsigned place = 0;
    const auto marked = [&] { return (mask >> place++ & 1U) != 0; };
    if (marked()) plain(limit);
    if (marked()) plain(available);
    if (marked()) plain(shortfall);
    if (marked()) plain(ahead);
    if (marked()) plain(ahead_tokens);
    if (marked()) point(could_start, now_, "an instant");
    if (marked()) plain(expected_service);
    if (marked()) plain(waited);
    if (marked()) plain(outcome);
    if (marked()) bytes_.byte(class_number, "a class");
    if (marked()) bytes_.word(who, "a key");
    if (marked()) plain(observed);
    if (marked()) plain(revision);
    if (marked()) plain(asked);
    if (marked()) point(deadline, now_, "an instant");
    if (marked()) point(at, now_, "an instant");
    workload = sluice::workload(class_number);
    tenant = sluice::tenant(who);
    made = reference;
  }

  Stream& bytes_;
  std::uint64_t revision_;
  std::int64_t last_at_ = 0;
  instant now_{};
  workload last_class_{};
  std::uint64_t last_tag_ = 0;
  std::array<std::int64_t, max_workloads> offsets_{};
  request newcomer_{};
  request_id newcomer_id_{};
  std::vector<known> known_;
  std::vector<std::uint64_t> keys_;
  key_table places_;
};

}  // namespace sluice::core
