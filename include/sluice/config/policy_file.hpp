/// \file
/// A `policy` as JSON: what an operator writes, checked field by field, and a policy written out.
///
///     {
///       "revision": 7,
///       "capacity": {"slots": 32, "tokens": 200000},
///       "max_waiting": 10000,
///       "classes": {
///         "interactive": {"priority": 10, "floor": {"slots": 28, "tokens": 160000}, "restore_within_ms": 1500},
///         "batch": {"ceiling": {"slots": 30}, "preemptible": true, "elastic": {"enabled": true, "target_ms": 800}},
///         "audit": {"floor": {"slots": 1, "tokens": 4000}, "largest_request": 4000}
///       },
///       "rates": {"requests": {"per_minute": 600, "burst": 20}, "input_tokens": {"per_minute": 2000000}},
///       "tenants": {"acme": {"weight": 2, "rates": {"requests": {"per_minute": 300}}}},
///       "other_tenants": {"rates": {"requests": {"per_minute": 60}}},
///       "overload": {"enter": 0.02, "leave": 0.005, "window_ms": 10000},
///       "prices": {"large": {"input_per_million": 300, "output_per_million": 1500}}
///     }
///
/// A field has the name that it has in C++: a duration with `_ms` behind it, in milliseconds, to six places; `total` is
/// `capacity`; `classes`, `tenants` and `prices` are objects by name. `write_policy(policy(capacity))` shows them all.
///
/// `capacity` with both of its numbers is needed. Every other field may be left out, and then has the value that
/// `policy(capacity)`, or a new `class_policy`, `tenant_policy` or `model_price`, gives it. `interactive` and `batch`
/// are always there; other classes are added in the order in which they stand. `capacity`, `ceiling`, `max_waiting` and
/// `per_minute` also take `"unlimited"`.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice {

/// Reads a policy from JSON text (UTF-8), and validates it.
///
/// Errors: `errc::invalid_configuration`. A field that is not known, stands twice, has the wrong type, is negative, is
/// no whole number or does not fit is named by its path (`classes.batch.floor.slots`) together with its value; one that
/// is not known, with those that are. Text that is not JSON is named by line and column, both counted from 1, columns
/// in bytes. What `validate` finds is passed on. Complexity: linear in the text. Thread safety: any thread.
[[nodiscard]] expected<policy, error> read_policy(std::string_view json);

/// The same from a file, whose path precedes each message. A file that cannot be read is an error of the same kind,
/// with the system's reason.
[[nodiscard]] expected<policy, error> read_policy_file(const std::filesystem::path& file);

/// The policy as JSON, every field of it, ready to be kept in a file. Of a policy that `validate` lets through,
/// `read_policy` makes the same again, provided that its names are UTF-8, and its revision at most
/// 9,223,372,036,854,775,807. (The name of `other_tenants` has no use, and is not written.)
/// Complexity: linear in the policy. Thread safety: any thread.
[[nodiscard]] std::string write_policy(const policy& written);

}  // namespace sluice
