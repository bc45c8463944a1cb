#include <sluice/agent/loop_options.hpp>

namespace sluice::agent {

namespace {

unexpected<error> wrong(const std::string& field, std::int64_t is, std::int64_t least) {
  return unexpected<error>(error(errc::invalid_argument, "loop_options::" + field + " = " + std::to_string(is) +
                                                             "; it is at least " + std::to_string(least)));
}

}  // namespace

expected<void, error> validate(const loop_options& checked) {
  if (checked.request.model.empty()) {
    return unexpected<error>(error(errc::invalid_argument, "loop_options::request.model is empty; name the model"));
  }
  if (const auto limit = checked.request.max_output_tokens; limit && *limit < 1) {
    return wrong("request.max_output_tokens", *limit, 1);
  }
  if (checked.max_turns < 1) return wrong("max_turns", checked.max_turns, 1);
  if (checked.least_output < 1) return wrong("least_output", checked.least_output, 1);
  if (checked.default_output < 1) return wrong("default_output", checked.default_output, 1);
  if (checked.max_repeats < 1) return wrong("max_repeats", checked.max_repeats, 1);
  if (checked.history.most_tokens < 1) return wrong("history.most_tokens", checked.history.most_tokens, 1);
  if (checked.history.retries_when_too_long < 0) {
    return wrong("history.retries_when_too_long", checked.history.retries_when_too_long, 0);
  }
  return {};
}

}  // namespace sluice::agent
