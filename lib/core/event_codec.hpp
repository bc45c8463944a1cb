/// \file
/// How an event becomes bytes, and bytes become one again: one description for both ways.
#pragma once

#include "core/byte_stream.hpp"
#include "core/event_fields.hpp"
#include "core/log_memory.hpp"

#include <sluice/core/event.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace sluice::core {

template <typename Stream>
class event_codec {
 public:
  explicit event_codec(log_memory<Stream>& memory) noexcept : memory_(memory), bytes_(memory.bytes) {}

  /// Everything of an event but its effects. `head` is its first byte.
  void operator()(std::uint8_t head, event& what, event_result& result) {
    memory_.point(what.at, memory_.now, "an instant");
    if constexpr (Stream::reads) {
      if (what.at < instant{} || what.at.time_since_epoch().count() > latest_logged)
        bytes_.fail("an instant between 0 and 2^62");
    }
    memory_.now = what.at;
    result.accepted = (head & accepted_bit) != 0;
    memory_.newcomer_id = {};
    std::visit([&](auto& body) { fields(body, head, result); }, what.what);
    if (!std::holds_alternative<events::reconfigure>(what.what) || !result.accepted) return;
    if (const auto& next = std::get<events::reconfigure>(what.what).next) memory_.revision = next->revision;
  }

  /// For the writer: the first byte of an event.
  [[nodiscard]] static std::uint8_t head_of(const event& what, const event_result& result, bool with_effects) noexcept {
    std::uint8_t head = static_cast<std::uint8_t>(what.what.index());
    if (const auto* ended = std::get_if<events::finish>(&what.what)) {
      if (ended->how == ending::preempted) head = finish_preempted;
      if (ended->how == ending::abandoned) head = finish_abandoned;
    }
    if (const auto* closed = std::get_if<events::close_run>(&what.what); closed != nullptr && closed->hold) {
      head = close_run_held;
    }
    if (result.accepted) head |= accepted_bit;
    if (with_effects) head |= effects_bit;
    return head;
  }
  /// For the reader: the number of the kind in a first byte, and no kind's for one that is never written.
  [[nodiscard]] static std::size_t kind_of(std::uint8_t head) noexcept {
    const std::uint8_t code = head & code_mask;
    if ((head & unused_bit) != 0) return std::variant_size_v<event_body>;
    if (code == close_run_held) return close_run_kind;
    return code == finish_preempted || code == finish_abandoned ? finish_kind : code;
  }
  static constexpr std::uint8_t effects_bit = 0x40;

 private:
  // A first byte: the number of the kind in its lower five bits, but that an ending or a closing which is not the usual
  // one has a number of its own; `log_end` is the highest.
  static constexpr std::uint8_t code_mask = 0x1f;
  static constexpr std::uint8_t finish_preempted = 0x1e;
  static constexpr std::uint8_t finish_abandoned = 0x1d;
  static constexpr std::uint8_t close_run_held = 0x1c;
  static constexpr std::uint8_t accepted_bit = 0x20;
  static constexpr std::uint8_t unused_bit = 0x80;
  static constexpr std::size_t finish_kind = 6;
  static_assert(std::is_same_v<std::variant_alternative_t<finish_kind, event_body>, events::finish>);
  static constexpr std::size_t close_run_kind = 13;
  static_assert(std::is_same_v<std::variant_alternative_t<close_run_kind, event_body>, events::close_run>);
  static_assert(std::variant_size_v<event_body> <= close_run_held && log_end == code_mask);

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
    has_kind = 1U << 13U,
    all_of_them = (1U << 14U) - 1,
  };

  [[nodiscard]] std::uint64_t mask_of(const request& what) const noexcept {
    std::uint64_t mask = 0;
    const auto bit = [&mask](bool set, std::uint64_t which) { mask |= set ? which : 0; };
    bit(what.cost.output_tokens != 0, has_output);
    bit(what.deadline != never, has_deadline);
    bit(what.deadline != never && offset(what) != last_offset(what.workload), other_deadline);
    bit(what.tenant.key() != 0, has_tenant);
    bit(what.model.key() != 0, has_model);
    bit(what.workload != memory_.last_class, other_class);
    bit(what.tag != 0 && what.tag == memory_.last_tag + 1, next_tag);
    bit(what.tag != 0 && what.tag != memory_.last_tag + 1, other_tag);
    bit(!what.may_wait, will_not_wait);
    bit(what.cost.slots != 1, other_slots);
    bit(what.run != run_id{}, has_run);
    bit(what.finalising, finalising);
    bit(what.age != age{}, has_age);
    bit(what.kind != attempt::first, has_kind);
    return mask;
  }
  [[nodiscard]] std::int64_t offset(const request& what) const noexcept {
    return distance(memory_.now.time_since_epoch().count(), what.deadline.time_since_epoch().count());
  }
  [[nodiscard]] std::int64_t& last_offset(workload of) noexcept {
    return memory_.offsets[of.index() % memory_.offsets.size()];
  }
  [[nodiscard]] std::int64_t last_offset(workload of) const noexcept {
    return memory_.offsets[of.index() % memory_.offsets.size()];
  }

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
    if ((mask & other_class) != 0)
      bytes_.byte(class_number, "a class");
    else
      class_number = memory_.last_class.index();
    what.workload = memory_.last_class = workload(class_number);
    plain(what.cost.tokens);
    if ((mask & has_output) != 0) plain(what.cost.output_tokens);
    if ((mask & other_slots) != 0) plain(what.cost.slots);
    if ((mask & has_deadline) != 0) {
      std::int64_t to_deadline = offset(what);
      if ((mask & other_deadline) != 0)
        memory_.signed_number(to_deadline, "a deadline");
      else
        to_deadline = last_offset(what.workload);
      last_offset(what.workload) = to_deadline;
      what.deadline = instant(duration(at_distance(memory_.now.time_since_epoch().count(), to_deadline)));
    }
    if ((mask & has_tenant) != 0) {
      std::uint64_t who = what.tenant.key();
      memory_.key(who);
      what.tenant = tenant(who);
    }
    if ((mask & has_model) != 0) {
      std::uint64_t which = what.model.key();
      memory_.key(which);
      what.model = model(which);
    }
    if ((mask & next_tag) != 0) what.tag = memory_.last_tag + 1;
    if ((mask & other_tag) != 0) {
      auto tag = static_cast<std::int64_t>(what.tag);
      memory_.near(tag, static_cast<std::int64_t>(memory_.last_tag), "a tag");
      what.tag = static_cast<std::uint64_t>(tag);
    }
    if (what.tag != 0) memory_.last_tag = what.tag;
    what.may_wait = (mask & will_not_wait) == 0;
    what.finalising = (mask & finalising) != 0;
    if ((mask & has_run) != 0) plain(what.run);
    if ((mask & has_age) != 0) plain(what.age);
    if ((mask & has_kind) != 0) plain(what.kind);
    memory_.newcomer = what;
  }

  void fields(events::arrive& body, std::uint8_t, event_result& result) {
    fields(body.what);
    if (result.accepted) memory_.name(result.id);
  }
  void fields(events::enter& body, std::uint8_t, event_result& result) {
    fields(body.what);
    if (result.accepted) memory_.name(result.id);
  }
  void fields(events::cancel& body, std::uint8_t, event_result&) { memory_.id(body.id); }
  void fields(events::tick&, std::uint8_t, event_result&) {}
  void fields(events::report& body, std::uint8_t, event_result& result) {
    memory_.id(body.id);
    progress& far = body.how_far;
    const auto* const last = memory_.find(body.id);
    const usage so_far = last != nullptr ? last->used : usage{};
    const std::int64_t output = last != nullptr ? last->asked.cost.output_tokens : 0;
    memory_.near(far.input_tokens, so_far.input_tokens, "input tokens");
    memory_.near(far.output_tokens, so_far.output_tokens, "output tokens");
    memory_.near(far.remaining_output, std::max(distance(far.output_tokens, output), std::int64_t{0}),
                 "the remaining output");
    memory_.near(far.margin, progress{}.margin, "a margin");
    if (result.accepted) memory_.reported(body.id, {far.input_tokens, far.output_tokens});
  }
  void fields(events::set_stoppable& body, std::uint8_t, event_result&) {
    memory_.id(body.id);
    field_stream<Stream>{bytes_}(body.stoppable);
  }
  void fields(events::finish& body, std::uint8_t head, event_result&) {
    if constexpr (Stream::reads) {
      const std::uint8_t code = head & code_mask;
      body.how = code == finish_preempted   ? ending::preempted
                 : code == finish_abandoned ? ending::abandoned
                                            : ending::released;
    }
    memory_.id(body.id);
    const auto* const last = memory_.find(body.id);
    const usage so_far = last != nullptr ? last->used : usage{};
    const std::int64_t input = last == nullptr ? 0
                               : so_far.input_tokens != 0
                                   ? so_far.input_tokens
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
    memory_.near(used.output_tokens, so_far.output_tokens, "output tokens");
    body.used = used;
  }
  void fields(events::reconfigure& body, std::uint8_t, event_result&) {
    policy copy = body.next != nullptr ? *body.next : policy(capacity{});
    field_stream<Stream>{bytes_}(copy);
    if constexpr (Stream::reads) body.next = std::make_shared<const policy>(std::move(copy));
  }
  void fields(events::close&, std::uint8_t, event_result&) {}
  void fields(events::signal& body, std::uint8_t, event_result&) {
    memory_.id(body.id);
    field_stream<Stream>{bytes_}(body.what);
  }
  void fields(events::pause& body, std::uint8_t, event_result&) {
    memory_.point(body.until, memory_.now, "an instant");
  }
  void fields(events::open_run& body, std::uint8_t, event_result& result) {
    field_stream<Stream> plain(bytes_);
    plain(body.what);
    if (result.accepted) plain(result.run);
  }
  void fields(events::extend_run& body, std::uint8_t, event_result&) {
    field_stream<Stream>{bytes_}(body.id, body.more);
  }
  void fields(events::close_run& body, std::uint8_t head, event_result&) {
    field_stream<Stream>{bytes_}(body.id);
    if constexpr (Stream::reads) body.hold = (head & code_mask) == close_run_held;
  }
  void fields(events::report_limits& body, std::uint8_t, event_result&) { field_stream<Stream>{bytes_}(body.said); }
  void fields(events::charge_run& body, std::uint8_t, event_result&) {
    field_stream<Stream>{bytes_}(body.id, body.what);
  }

  log_memory<Stream>& memory_;
  Stream& bytes_;
};

}  // namespace sluice::core
