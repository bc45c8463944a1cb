#include "agent/tools/argument_schema.hpp"

#include "agent/tools/argument_mismatch.hpp"
#include "agent/tools/quick_schema.hpp"
#include "agent/tools/schema_judge.hpp"
#include "agent/tools/schema_review.hpp"
#include "agent/tools/tool_words.hpp"
#include "llm/errors/quote.hpp"

#include <nlohmann/json.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;

unexpected<error> wrong(std::string what) { return unexpected<error>(error(errc::invalid_argument, std::move(what))); }
unexpected<error> unfit(std::string what) {
  return unexpected<error>(error(errc::invalid_configuration, std::move(what)));
}

/// Reads JSON, and takes down the first name that an object gives twice: of two values only one could be checked.
class member_watch {
 public:
  bool operator()(int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) seen_.emplace_back();
    if (event == json::parse_event_t::object_end) seen_.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!seen_.back().insert(name).second && !twice) twice = name;
    }
    return true;
  }

  std::optional<std::string> twice;

 private:
  std::vector<std::unordered_set<std::string>> seen_;
};

}  // namespace

class argument_schema::rules {
 public:
  rules(json schema, patterns compiled)
      : text(std::move(schema)), judge(text, std::move(compiled)), quick(quick_schema::compile(text)) {}

  // With its keywords rewritten.
  json text;
  schema_judge judge;
  std::optional<quick_schema> quick;
};

argument_schema::argument_schema(std::unique_ptr<const rules> made) noexcept : rules_(std::move(made)) {}
argument_schema::argument_schema(argument_schema&&) noexcept = default;
argument_schema& argument_schema::operator=(argument_schema&&) noexcept = default;
argument_schema::~argument_schema() = default;

expected<argument_schema, error> argument_schema::compile(std::string_view text) {
  if (nesting_depth(text) > most_argument_depth) {
    return unfit("is nested deeper than " + std::to_string(most_argument_depth) + " levels");
  }
  try {
    member_watch watch;
    json schema = json::parse(text, std::ref(watch), false);
    if (!schema.is_object()) return unfit("is not a JSON object");
    if (watch.twice) return unfit("has the name \"" + shown(*watch.twice) + "\" twice in one object");
    if (const auto type = schema.find("type"); type != schema.end() && *type != "object") {
      return unfit("is of type " + type->dump() + "; arguments are an \"object\"");
    }
    normalise_numbers(schema);
    auto compiled = review_schema(schema);
    if (!compiled) return unexpected<error>(std::move(compiled).error());
    return argument_schema(std::make_unique<const rules>(std::move(schema), *std::move(compiled)));
  } catch (const std::exception& thrown) {
    return unfit("is not a JSON schema: " + llm::quote(thrown.what(), {}));
  }
}

expected<void, error> argument_schema::check(std::string_view arguments) const {
  if (rules_->quick && rules_->quick->fits(arguments, most_argument_depth)) return {};
  return check_in_full(arguments);
}

expected<void, error> argument_schema::check_in_full(std::string_view arguments) const {
  if (nesting_depth(arguments) > most_argument_depth) {
    return wrong("the arguments are nested deeper than " + std::to_string(most_argument_depth) + " levels");
  }
  try {
    member_watch watch;
    // Neither a mark before it nor a NUL behind it is JSON, though the parser takes them.
    const bool marked = arguments.starts_with("\xEF\xBB\xBF") || arguments.find('\0') != arguments.npos;
    auto parsed = marked ? json(json::value_t::discarded) : json::parse(arguments, std::ref(watch), false);
    if (parsed.is_discarded()) return wrong("the arguments are not valid JSON");
    if (!parsed.is_object()) return wrong("the arguments are not a JSON object");
    if (watch.twice) return wrong("argument \"" + shown(*watch.twice) + "\" is given twice");
    normalise_numbers(parsed);
    const auto verdict = rules_->judge.judge(parsed, arguments.size());
    if (verdict == schema_verdict::fits) return {};
    if (verdict == schema_verdict::too_complex) {
      return wrong("the arguments are too complex to check against the tool's schema");
    }
    if (auto said = describe_mismatch(rules_->text, parsed)) return wrong(*std::move(said));
    return wrong(rules_->judge.complaint(parsed, arguments.size()));
  } catch (const std::exception& thrown) {
    return wrong("the arguments cannot be checked against the tool's schema: " + llm::quote(thrown.what(), {}));
  }
}

bool argument_schema::is_quick() const noexcept { return rules_->quick.has_value(); }

}  // namespace sluice::agent::detail
