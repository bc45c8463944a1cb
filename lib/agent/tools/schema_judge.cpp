#include "agent/tools/schema_judge.hpp"

#include "agent/tools/schema_value.hpp"
#include "llm/errors/quote.hpp"

#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validation_visitor.hpp>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

using json = nlohmann::json;

constexpr std::int64_t steps_at_least = 100'000;
constexpr std::int64_t steps_per_byte = 2;
// What takes about as long as a step.
constexpr std::size_t bytes_per_step = 256;
constexpr std::size_t names_per_step = 8;
constexpr std::size_t values_per_step = 32;
// Schemas that are held against a value at once, one from within another.
constexpr std::size_t most_judging = 1'000;
// The same when a schema is read, in objects and arrays of it: about two for each schema.
constexpr std::size_t most_reading = 400;

// valijson hands its visitors nothing but a table of `std::regex`. A check ends on the thread on which it began.
thread_local const patterns* patterns_of_check = nullptr;

bool is_found(const std::string& pattern, const std::string& text, step_account& account) {
  const schema_pattern& compiled = patterns_of_check->at(pattern);
  account.pay((1 + text.size() / bytes_per_step) * compiled.weight());
  return compiled.found_in(text);
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// The bytes of the strings and the number of the values in `value`.
std::size_t weight_of(const json& value) {
  if (value.is_string()) return 1 + value.get_ref<const std::string&>().size();
  std::size_t all = 1;
  if (value.is_structured()) {
    for (const auto& each : value) all += weight_of(each);
  }
  return all;
}

/// Equal for values that are equal, and for no others: members are in order, and whole numbers are integers.
std::string canonical(const json& value) { return value.dump(); }

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

}  // namespace sluice::agent::detail

// What valijson does in a time that grows with more than the arguments, or otherwise than the standard has it.
namespace valijson {

namespace house = sluice::agent::detail;
using house_visitor = ValidationVisitor<house::schema_value>;

template <>
inline bool house_visitor::validateSchema(const Subschema& subschema) {
  std::size_t copied = 0;
  for (const std::string& each : m_context) copied += each.size();
  m_target.account().pay(1 + copied / house::bytes_per_step);
  const house::open_level level(&m_target.account());
  if (subschema.getAlwaysInvalid()) return false;
  Subschema::ApplyFunction apply = [this](const constraints::Constraint& one) { return one.accept(*this); };
  return m_results == nullptr ? subschema.applyStrict(apply) : subschema.apply(apply);
}

template <>
inline bool house_visitor::visit(const PatternConstraint& constraint) {
  if (!m_target.isString()) return true;
  const auto& text = m_target.text().get_ref<const std::string&>();
  if (house::is_found(constraint.getPattern<std::string::allocator_type>(), text, m_target.account())) return true;
  if (m_results) m_results->pushError(m_context, "Failed to match regex specified by 'pattern' constraint.");
  return false;
}

template <>
inline bool house_visitor::visit(const MinLengthConstraint& constraint) {
  if (!m_target.isString()) return true;
  const auto& text = m_target.text().get_ref<const std::string&>();
  m_target.account().pay(text.size() / house::bytes_per_step);
  const auto least = constraint.getMinLength();
  if (house::characters(text) >= least) return true;
  if (m_results) {
    m_results->pushError(m_context,
                         "String should be no fewer than " + std::to_string(least) + " characters in length.");
  }
  return false;
}

template <>
inline bool house_visitor::visit(const MaxLengthConstraint& constraint) {
  if (!m_target.isString()) return true;
  const auto& text = m_target.text().get_ref<const std::string&>();
  m_target.account().pay(text.size() / house::bytes_per_step);
  const auto most = constraint.getMaxLength();
  if (house::characters(text) <= most) return true;
  if (m_results) {
    m_results->pushError(m_context, "String should be no more than " + std::to_string(most) + " characters in length.");
  }
  return false;
}

template <>
inline bool house_visitor::visit(const MultipleOfIntConstraint& constraint) {
  if (!m_target.isNumber()) return true;
  const auto divisor = constraint.getDivisor();
  const bool holds = m_target.isInteger() ? m_target.getInteger() % divisor == 0
                                          : std::remainder(m_target.getDouble(), static_cast<double>(divisor)) == 0;
  if (!holds && m_results) m_results->pushError(m_context, "Value should be a multiple of " + std::to_string(divisor));
  return holds;
}

template <>
inline bool house_visitor::visit(const EnumConstraint& constraint) {
  const std::size_t each_costs = 1 + house::weight_of(m_target.text()) / house::bytes_per_step;
  bool found = false;
  std::size_t compared = 0;
  constraint.applyToValues([&](const adapters::FrozenValue& value) {
    if (++compared % house::values_per_step == 0) m_target.account().pay(each_costs);
    found = value.equalTo(m_target, true);
    return !found;
  });
  m_target.account().pay(each_costs);
  if (!found && m_results) m_results->pushError(m_context, "Failed to match against any enum values.");
  return found;
}

template <>
inline bool house_visitor::visit(const ConstConstraint& constraint) {
  m_target.account().pay(house::weight_of(m_target.text()) / house::bytes_per_step);
  if (constraint.getValue()->equalTo(m_target, true)) return true;
  if (m_results) m_results->pushError(m_context, "Failed to match expected value set by 'const' constraint.");
  return false;
}

template <>
inline bool house_visitor::visit(const UniqueItemsConstraint&) {
  if (!m_target.isArray()) return true;
  m_target.account().pay(house::weight_of(m_target.text()) / house::names_per_step);
  std::unordered_map<std::string, std::size_t> seen;
  std::size_t at = 0;
  for (const auto& item : m_target.text()) {
    const auto [first, is_new] = seen.emplace(house::canonical(item), at);
    if (!is_new) {
      if (m_results) {
        m_results->pushError(m_context, "Elements at indexes #" + std::to_string(first->second) + " and #" +
                                            std::to_string(at) + " violate uniqueness constraint.");
      }
      return false;
    }
    ++at;
  }
  return true;
}

template <>
inline bool house_visitor::visit(const PropertyNamesConstraint& constraint) {
  if (!m_target.isObject()) return true;
  for (const auto& member : m_target.text().items()) {
    const nlohmann::json name(member.key());
    house_visitor judging(house::schema_value(name, &m_target.account()), m_context, true, nullptr, m_regexesCache);
    if (judging.validateSchema(*constraint.getSubschema())) continue;
    if (m_results) {
      m_results->pushError(m_context,
                           "The name '" + member.key() + "' is not one of those that 'propertyNames' allows.");
    }
    return false;
  }
  return true;
}

template <>
inline bool house_visitor::visit(const PropertiesConstraint& constraint) {
  if (!m_target.isObject()) return true;
  house::step_account& account = m_target.account();
  const nlohmann::json& object = m_target.text();
  std::set<std::string> matched;
  bool validated = true;
  const auto goes_on = [&] { return validated || m_results != nullptr; };
  const auto judge = [&](const std::string& name, const nlohmann::json& value, const Subschema& by,
                         const auto& complaint) {
    std::vector<std::string> place = m_context;
    place.push_back("[" + name + "]");
    house_visitor judging(house::schema_value(value, &account), std::move(place), true, m_results, m_regexesCache);
    if (judging.validateSchema(by)) return;
    if (m_results) m_results->pushError(m_context, complaint());
    validated = false;
  };

  std::size_t looked_up = 0;
  constraint.applyToProperties([&](const auto& property, const Subschema* by) {
    if (++looked_up % house::names_per_step == 0) account.pay(1);
    const std::string name(property.c_str());
    const auto at = object.find(name);
    if (at == object.end()) return true;
    matched.insert(name);
    judge(name, *at, *by,
          [&] { return "Failed to validate against schema associated with property name '" + name + "'."; });
    return goes_on();
  });
  if (!goes_on()) return false;

  constraint.applyToPatternProperties([&](const auto& key, const Subschema* by) {
    const std::string pattern(key.c_str());
    for (const auto& member : object.items()) {
      if (!house::is_found(pattern, member.key(), account)) continue;
      matched.insert(member.key());
      judge(member.key(), member.value(), *by,
            [&] { return "Failed to validate against schema associated with pattern '" + pattern + "'."; });
      if (!goes_on()) return false;
    }
    return true;
  });
  if (!goes_on()) return false;

  const Subschema* const others = constraint.getAdditionalPropertiesSubschema();
  for (const auto& member : object.items()) {
    if (matched.contains(member.key())) continue;
    if (others == nullptr) {
      if (m_results) {
        m_results->pushError(m_context,
                             "Object contains a property that could not be validated using 'properties' or "
                             "'additionalProperties' constraints: '" +
                                 member.key() + "'.");
      }
      return false;
    }
    judge(member.key(), member.value(), *others,
          [] { return std::string("Failed to validate against additional properties schema"); });
    if (!goes_on()) return false;
  }
  return validated;
}

}  // namespace valijson

namespace sluice::agent::detail {

class schema_judge::rules {
 public:
  valijson::Schema compiled;
  patterns by_text;

  bool judge(const json& arguments, std::size_t bytes, valijson::ValidationResults* results) const {
    step_account account{steps_at_least + steps_per_byte * static_cast<std::int64_t>(bytes), most_judging};
    patterns_of_check = &by_text;
    std::unordered_map<std::string, std::regex> unused;
    const std::vector<std::string> root(1, "<root>");
    valijson::ValidationVisitor<schema_value> judging(schema_value(arguments, &account), root, true, results, unused);
    return judging.validateSchema(compiled);
  }
};

schema_judge::schema_judge(const json& schema, patterns compiled) {
  auto made = std::make_unique<rules>();
  made->by_text = std::move(compiled);
  valijson::SchemaParser parser;
  step_account account{0, most_reading};
  parser.populateSchema(schema_value(schema, &account), made->compiled);
  rules_ = std::move(made);
}

schema_judge::~schema_judge() = default;

schema_verdict schema_judge::judge(const json& arguments, std::size_t bytes) const {
  try {
    return rules_->judge(arguments, bytes, nullptr) ? schema_verdict::fits : schema_verdict::unfit;
  } catch (const too_complex&) {
    return schema_verdict::too_complex;
  }
}

std::string schema_judge::complaint(const json& arguments, std::size_t bytes) const {
  valijson::ValidationResults results;
  try {
    rules_->judge(arguments, bytes, &results);
  } catch (const too_complex&) {
    // What it has found by then does.
  }
  valijson::ValidationResults::Error first;
  if (!results.popError(first)) return "the arguments are not of the tool's schema";
  const std::string path = joined(first.context);
  const std::string where = path.empty() ? "the object of arguments" : "argument \"" + path + '"';
  return where + " is not of the tool's schema: " + llm::quote(first.description, {});
}

}  // namespace sluice::agent::detail
