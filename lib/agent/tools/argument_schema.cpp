#include "agent/tools/argument_schema.hpp"

#include "agent/tools/argument_mismatch.hpp"
#include "agent/tools/schema_review.hpp"
#include "agent/tools/tool_words.hpp"
#include "llm/errors/quote.hpp"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/constraint_builder.hpp>
#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validation_visitor.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;
using adapter = valijson::adapters::NlohmannJsonAdapter;
using visitor = valijson::ValidationVisitor<adapter>;

unexpected<error> wrong(std::string what) { return unexpected<error>(error(errc::invalid_argument, std::move(what))); }
unexpected<error> unfit(std::string what) {
  return unexpected<error>(error(errc::invalid_configuration, std::move(what)));
}

// A step is one schema that one value is held against. Alternatives within alternatives take a number of them that is a
// power by the depth; what grows with the arguments alone is to pass.
constexpr std::int64_t steps_at_least = 100'000;
constexpr std::int64_t steps_per_byte = 2;
// What takes about as long as a step.
constexpr std::size_t bytes_per_step = 256;
constexpr std::size_t comparisons_per_step = 32;

class too_complex final : public std::exception {};

// A check ends on the thread on which it began.
thread_local std::int64_t steps_left = 0;

class step_count final : public valijson::constraints::PolyConstraint {
 public:
  explicit step_count(bool compares) : compares_(compares) {}

  bool validate(const valijson::adapters::Adapter& target, const std::vector<std::string>& context,
                valijson::ValidationResults*) const override {
    std::size_t copied = 0;
    for (const std::string& each : context) copied += each.size();
    std::size_t cost = 1 + copied / bytes_per_step;
    if (compares_ && target.isArray()) {
      const std::size_t items = target.getArraySize();
      cost += items * items / comparisons_per_step;
    }
    steps_left -= static_cast<std::int64_t>(cost);
    if (steps_left < 0) throw too_complex();
    return true;
  }

 private:
  Constraint* cloneInto(void* at) const override { return new (at) step_count(*this); }
  std::size_t sizeOf() const override { return sizeof(step_count); }

  bool compares_;
};

class step_builder final : public valijson::ConstraintBuilder {
 public:
  valijson::constraints::Constraint* make(const valijson::adapters::Adapter& value) const override {
    return new step_count(value.asBool());
  }
};

// Names of members are matched by going back over them, which takes stack and time by their length.
constexpr std::size_t most_matched_name = 256;

bool has_long_name(const json& value) {
  if (!value.is_structured()) return false;
  for (const auto& each : value.items()) {
    if ((value.is_object() && each.key().size() > most_matched_name) || has_long_name(each.value())) return true;
  }
  return false;
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

/// `<root>`, `[stops]`, `[2]`, `[city]`: as one place.
std::string joined(const std::vector<std::string>& context) {
  std::string path;
  for (std::size_t i = 1; i < context.size(); ++i) {
    std::string step = context[i].size() > 1 ? context[i].substr(1, context[i].size() - 2) : context[i];
    const bool index = !step.empty() && step.find_first_not_of("0123456789") == std::string::npos;
    path += index ? '[' + step + ']' : (path.empty() ? "" : ".") + step;
  }
  return path;
}

}  // namespace

class argument_schema::rules {
 public:
  json text;
  reviewed_schema reviewed;
  valijson::Schema compiled;

  /// Whether `arguments` are of the schema. Every pattern is in the table already, so that it is only read.
  bool judge(const json& arguments, valijson::ValidationResults* results) const {
    const adapter target(arguments);
    const std::vector<std::string> root(1, "<root>");
    visitor judging(target, root, true, results, const_cast<patterns&>(reviewed.compiled));
    return judging.validateSchema(compiled);
  }

  std::string complaint(const json& arguments) const {
    if (auto said = describe_mismatch(text, arguments)) return *std::move(said);
    valijson::ValidationResults results;
    try {
      judge(arguments, &results);
    } catch (const too_complex&) {
      // What it has found by then does.
    }
    valijson::ValidationResults::Error first;
    if (!results.popError(first)) return "the arguments are not of the tool's schema";
    const std::string path = joined(first.context);
    const std::string where = path.empty() ? "the object of arguments" : "argument \"" + path + '"';
    return where + " is not of the tool's schema: " + llm::quote(first.description, {});
  }
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
    auto made = std::make_unique<rules>();
    made->text = json::parse(text, nullptr, false);
    if (!made->text.is_object()) return unfit("is not a JSON object");
    if (const auto type = made->text.find("type"); type != made->text.end() && *type != "object") {
      return unfit("is of type " + type->dump() + "; arguments are an \"object\"");
    }
    auto reviewed = review_schema(made->text);
    if (!reviewed) return unexpected<error>(std::move(reviewed).error());
    made->reviewed = *std::move(reviewed);
    normalise_numbers(made->text);
    valijson::SchemaParser parser;
    parser.addConstraintBuilder(counted_keyword, new step_builder);
    const adapter source(made->text);
    parser.populateSchema(source, made->compiled);
    return argument_schema(std::move(made));
  } catch (const std::exception& thrown) {
    return unfit("is not a JSON schema: " + llm::quote(thrown.what(), {}));
  }
}

expected<void, error> argument_schema::check(std::string_view arguments) const {
  if (nesting_depth(arguments) > most_argument_depth) {
    return wrong("the arguments are nested deeper than " + std::to_string(most_argument_depth) + " levels");
  }
  try {
    member_watch watch;
    // A mark before it is no JSON, though the parser takes it.
    const bool marked = arguments.starts_with("\xEF\xBB\xBF");
    auto parsed = marked ? json(json::value_t::discarded) : json::parse(arguments, std::ref(watch), false);
    if (parsed.is_discarded()) return wrong("the arguments are not valid JSON");
    if (!parsed.is_object()) return wrong("the arguments are not a JSON object");
    if (watch.twice) return wrong("argument \"" + shown(*watch.twice) + "\" is given twice");
    normalise_numbers(parsed);
    if (rules_->reviewed.matches_names && has_long_name(parsed)) {
      return wrong("the name of an argument is longer than " + std::to_string(most_matched_name) + " bytes");
    }
    const std::int64_t most = steps_at_least + steps_per_byte * static_cast<std::int64_t>(arguments.size());
    steps_left = most;
    if (rules_->judge(parsed, nullptr)) return {};
    steps_left = most;
    return wrong(rules_->complaint(parsed));
  } catch (const too_complex&) {
    return wrong("the arguments are too complex to check against the tool's schema");
  } catch (const std::exception& thrown) {
    return wrong("the arguments cannot be checked against the tool's schema: " + llm::quote(thrown.what(), {}));
  }
}

}  // namespace sluice::agent::detail
