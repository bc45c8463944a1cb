/// \file
/// A `policy` from JSON: what an operator writes, checked field by field.
///
///     {
///       "revision": 7,
///       "capacity": {"slots": 32, "tokens": 200000},
///       "max_waiting": 10000,
///       "max_preemptions": 2,
///       "classes": {
///         "interactive": {"priority": 10, "floor": {"slots": 28, "tokens": 160000}, "restore_within_ms": 1500},
///         "batch": {"priority": 0, "ceiling": {"slots": 30}, "preemptible": true, "max_waiting": 500},
///         "audit": {"floor": {"slots": 1}}
///       }
///     }
///
/// `capacity` with both of its numbers is needed. Every other field may be left out, and then has the value that
/// `policy(capacity)`, or a new `class_policy`, gives it. `interactive` and `batch` are always there; other classes are
/// added in the order in which they stand. `capacity`, `ceiling` and a class's `max_waiting` also take `"unlimited"`.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>

#include <filesystem>
#include <string_view>

namespace sluice {

/// Reads a policy from JSON text (UTF-8), and validates it.
///
/// Errors: `errc::invalid_configuration`. A field that is not known, stands twice, has the wrong type, is negative, is
/// no whole number or does not fit is named by its path (`classes.batch.floor.slots`) together with its value; text
/// that is not JSON is named by line and column, both counted from 1, columns in bytes. What `validate` finds is
/// passed on.
/// Complexity: linear in the text. Thread safety: any thread.
[[nodiscard]] expected<policy, error> read_policy(std::string_view json);

/// The same from a file, whose path precedes each message. A file that cannot be read is an error of the same kind,
/// with the system's reason.
[[nodiscard]] expected<policy, error> read_policy_file(const std::filesystem::path& file);

}  // namespace sluice
