#include <sluice/llm/retry_policy.hpp>

#include <string>

namespace sluice::llm {

expected<void, error> validate(const retry_policy& checked) {
  const auto wrong = [](const std::string& what) {
    return unexpected<error>(error(errc::invalid_configuration, what));
  };
  if (checked.max_attempts < 1 || checked.max_attempts > 100) {
    return wrong("retry.max_attempts = " + std::to_string(checked.max_attempts) + "; must be 1 to 100");
  }
  if (checked.first_backoff < duration::zero()) return wrong("retry.first_backoff is negative");
  if (checked.max_backoff < duration::zero()) return wrong("retry.max_backoff is negative");
  if (checked.max_retry_after < duration::zero()) return wrong("retry.max_retry_after is negative");
  return {};
}

}  // namespace sluice::llm
