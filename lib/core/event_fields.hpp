/// \file
/// The fields of what stands in a log, in their order, once for writing and reading. `Stream` is `byte_sink` or
/// `byte_source`.
#pragma once

#include "core/byte_stream.hpp"

#include <sluice/core/admission.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace sluice::core {

// Each is bound by structure, so that a new member does not compile until it has its place in the log (and the log a
// new version).
template <typename Stream>
class field_stream {
 public:
  explicit field_stream(Stream& bytes) noexcept : bytes_(bytes) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (field(values), ...);
  }

  void field(bool& value) {
    std::uint8_t bit = value ? 1 : 0;
    bytes_.byte(bit, "yes or no");
    if constexpr (Stream::reads) {
      if (bit > 1) bytes_.fail("yes or no");
    }
    value = bit == 1;
  }
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) void field(Number& value) {
    if constexpr (std::is_unsigned_v<Number>) {
      std::uint64_t wide = value;
      bytes_.number(wide, "a number");
      set(value, wide, wide <= std::numeric_limits<Number>::max());
    } else {
      std::uint64_t wide = folded(value);
      bytes_.number(wide, "a number");
      const std::int64_t back = unfolded(wide);
      set(value, back, back >= std::numeric_limits<Number>::min() && back <= std::numeric_limits<Number>::max());
    }
  }
  void field(double& value) {
    std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    bytes_.word(bits, "a real number");
    value = std::bit_cast<double>(bits);
  }
  template <typename Choice>
  requires std::is_enum_v<Choice>
  void field(Choice& value) {
    auto number = static_cast<std::uint8_t>(value);
    bytes_.byte(number, "a choice");
    if constexpr (Stream::reads) {
      if (number > static_cast<std::uint8_t>(last(value))) bytes_.fail("a choice");
    }
    value = bytes_.failed() ? Choice{} : static_cast<Choice>(number);
  }
  void field(std::string& value) { bytes_.text(value, "a name"); }
  void field(duration& value) {
    std::int64_t count = value.count();
    field(count);
    value = duration(count);
  }
  void field(instant& value) {
    duration since = value.time_since_epoch();
    field(since);
    value = instant(since);
  }

  void field(capacity& value) {
    auto& [slots, tokens] = value;
    (*this)(slots, tokens);
  }
  void field(cost& value) {
    auto& [tokens, output, slots] = value;
    (*this)(tokens, output, slots);
  }
  void field(age& value) {
    auto& [arrived, sequence, preemptions] = value;
    (*this)(arrived, sequence, preemptions);
  }
  void field(run_id& value) {
    auto& [index, generation] = value;
    (*this)(index, generation);
  }
  void field(spending& value) {
    auto& [tokens, calls, tool_calls, money] = value;
    (*this)(tokens, calls, tool_calls, money);
  }
  void field(run_limits& value) {
    auto& [tokens, calls, tool_calls, money] = value;
    (*this)(tokens, calls, tool_calls, money);
  }
  void field(run_options& value) {
    auto& [parent, funding, limit, reserve, tag] = value;
    (*this)(parent, funding, limit, reserve, tag);
  }
  void field(rate& value) {
    auto& [per_minute, burst] = value;
    (*this)(per_minute, burst);
  }
  void field(rate_limits& value) {
    auto& [requests, input, output] = value;
    (*this)(requests, input, output);
  }
  void field(provider_limit& value) {
    auto& [per_minute, remaining, reset] = value;
    (*this)(per_minute, remaining, reset);
  }
  void field(provider_limits& value) {
    auto& [requests, input, output, tokens] = value;
    (*this)(requests, input, output, tokens);
  }
  void field(bypass_policy& value) {
    auto& [passes, patience] = value;
    (*this)(passes, patience);
  }
  void field(feasibility_policy& value) {
    auto& [enabled, service_share, wait_share, run_share] = value;
    (*this)(enabled, service_share, wait_share, run_share);
  }
  void field(overload_policy& value) {
    auto& [enabled, enter, leave, window, age_cap] = value;
    (*this)(enabled, enter, leave, window, age_cap);
  }
  void field(adaptive_policy& value) {
    auto& [enabled, minimum, initial, backoff, tolerance, window] = value;
    (*this)(enabled, minimum, initial, backoff, tolerance, window);
  }
  void field(elastic_policy& value) {
    auto& [enabled, minimum, backoff, target, window, pause] = value;
    (*this)(enabled, minimum, backoff, target, window, pause);
  }
  void field(retry_budget& value) {
    auto& [enabled, share, minimum, window] = value;
    (*this)(enabled, share, minimum, window);
  }
  void field(reopening_policy& value) {
    auto& [share, least, most, step] = value;
    (*this)(share, least, most, step);
  }
  void field(tenant_policy& value) {
    auto& [name, weight, rates] = value;
    (*this)(name, weight, rates);
  }
  void field(model_price& value) {
    auto& [name, input, output] = value;
    (*this)(name, input, output);
  }
  void field(class_policy& value) {
    auto& [name, priority, floor, ceiling, preemptible, restore_within, start_within, elastic, largest_request,
           max_waiting] = value;
    (*this)(name, priority, floor, ceiling, preemptible, restore_within, start_within, elastic, largest_request,
            max_waiting);
  }
  void field(policy& value) {
    auto& [total, classes, max_waiting, max_preemptions, rates, other_tenants, tenants, max_tenants, bypass,
           feasibility, overload, adaptive, retries, reopening, prices, observe, explain_records, revision] = value;
    (*this)(total, classes, max_waiting, max_preemptions, rates, other_tenants, tenants, max_tenants, bypass,
            feasibility, overload, adaptive, retries, reopening, prices, observe, explain_records, revision);
  }
  template <typename Named>
  void field(std::vector<Named>& list) {
    std::uint64_t count = list.size();
    bytes_.number(count, "a count");
    if constexpr (Stream::reads) {
      list.clear();
      // Each takes a byte at least, so that no count asks for more memory than there are bytes for.
      if (count > bytes_.left()) bytes_.fail("a count");
      for (; count > 0 && !bytes_.failed(); --count) field(list.emplace_back(std::string{}));
    } else {
      for (Named& each : list) field(each);
    }
  }

 private:
  template <typename Number, typename Wide>
  void set(Number& value, Wide wide, bool fits) {
    if constexpr (Stream::reads) {
      if (!fits) bytes_.fail("a number of the right size");
      value = fits ? static_cast<Number>(wide) : Number{};
    }
  }

  static constexpr attempt last(attempt) { return attempt::hedge; }
  static constexpr run_funding last(run_funding) { return run_funding::carve; }
  static constexpr provider_signal last(provider_signal) { return provider_signal::timed_out; }
  static constexpr outcome last(outcome) { return outcome::preempted; }
  static constexpr reason last(reason) { return reason::retry_budget; }
  static constexpr constraint last(constraint) { return constraint::reported_tokens; }

  Stream& bytes_;
};

}  // namespace sluice::core
