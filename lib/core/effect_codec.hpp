/// \file
/// How an effect, with the decision behind it, becomes bytes, and bytes become one again: one description for both
/// ways.
#pragma once

#include "core/byte_stream.hpp"
#include "core/event_fields.hpp"
#include "core/log_memory.hpp"

#include <sluice/core/admission.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::core {

template <typename Stream>
class effect_codec {
 public:
  explicit effect_codec(log_memory<Stream>& memory) noexcept : memory_(memory), bytes_(memory.bytes) {}

  /// One effect. `decisions` is where its decision is, or goes to; `place` counts the decisions of this event.
  void operator()(effect& each, std::vector<decision>& decisions, std::uint32_t& place) {
    std::uint8_t head = 0;
    if constexpr (!Stream::reads) head = head_of(each, place);
    bytes_.byte(head, "an effect");
    if constexpr (Stream::reads) {
      each = {};
      if ((head & 7U) > static_cast<unsigned>(effect::kind::stop)) return bytes_.fail("an effect");
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
      if (each.detail != decisions.size()) return bytes_.fail("the place of the decision");
      decisions.emplace_back();
    }
    if (each.detail >= decisions.size()) return;
    one_decision(decisions[each.detail], memory_.foretold(each.id));
  }

 private:
  // The bits of an effect's first byte, above its kind.
  static constexpr std::uint8_t known_id_bit = 0x08;
  static constexpr std::uint8_t known_tag_bit = 0x10;
  static constexpr std::uint8_t never_bit = 0x20;
  static constexpr std::uint8_t raw_bit = 0x80;

  [[nodiscard]] std::uint8_t head_of(const effect& each, std::uint32_t place) const noexcept {
    auto head = static_cast<std::uint8_t>(each.what);
    const bool about_request = each.what == effect::kind::granted || each.what == effect::kind::rejected ||
                               each.what == effect::kind::preempt || each.what == effect::kind::stop;
    const std::uint32_t detail = each.what == effect::kind::rejected ? place : 0;
    const bool usual = about_request ? each.at == instant{} && each.detail == detail
                       : each.what == effect::kind::wake_at
                           ? each.id == request_id{} && each.tag == 0 && each.detail == 0
                           : each.at == instant{};
    if (!usual) return head | raw_bit;
    if (about_request) {
      if (each.id == memory_.newcomer_id) head |= known_id_bit;
      if (each.tag == memory_.foretold(each.id).tag) head |= known_tag_bit;
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
      case effect::kind::stop:
        if constexpr (Stream::reads) each.detail = each.what == effect::kind::rejected ? place : 0;
        if ((head & known_id_bit) == 0)
          memory_.id(each.id);
        else
          each.id = memory_.newcomer_id;
        if ((head & known_tag_bit) == 0)
          bytes_.number(each.tag, "a tag");
        else
          each.tag = memory_.foretold(each.id).tag;
        return;
      case effect::kind::wake_at:
        if ((head & never_bit) != 0)
          each.at = never;
        else
          memory_.point(each.at, memory_.now, "an instant");
        return;
      case effect::kind::budget_threshold:
        memory_.small(each.detail, "a percentage");
        bytes_.number(each.tag, "a tag");
        memory_.small(each.id.index, "a run");
        memory_.small(each.id.generation, "a run");
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
    likely.revision = memory_.revision;
    likely.deadline = of.deadline;
    likely.at = memory_.now;
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
    if (marked()) memory_.point(could_start, memory_.now, "an instant");
    if (marked()) plain(expected_service);
    if (marked()) plain(waited);
    if (marked()) plain(outcome);
    if (marked()) bytes_.byte(class_number, "a class");
    if (marked()) bytes_.word(who, "a key");
    if (marked()) plain(observed);
    if (marked()) plain(revision);
    if (marked()) plain(asked);
    if (marked()) memory_.point(deadline, memory_.now, "an instant");
    if (marked()) memory_.point(at, memory_.now, "an instant");
    workload = sluice::workload(class_number);
    tenant = sluice::tenant(who);
    made = reference;
  }

  log_memory<Stream>& memory_;
  Stream& bytes_;
};

}  // namespace sluice::core
