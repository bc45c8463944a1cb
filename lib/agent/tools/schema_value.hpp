/// \file
/// A JSON value as valijson looks at it, with the account of the check that it is part of.
#pragma once

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace sluice::agent::detail {

class schema_pattern;

/// What is thrown out of a check that takes more steps than it may.
class too_complex final : public std::exception {
 public:
  const char* what() const noexcept override { return "too many of it lead into each other"; }
};

/// A step is one schema that one value is held against, or what takes about as long. Open is what has begun and not
/// ended, and takes stack.
struct step_account {
  std::int64_t left = 0;
  std::size_t may_open = 0;

  void pay(std::size_t steps) {
    left -= static_cast<std::int64_t>(steps);
    if (left < 0) throw too_complex();
  }
};

/// One that is open, for as long as it lives.
class open_level {
 public:
  explicit open_level(step_account* account) : account_(account) { open(); }
  open_level(const open_level& other) : account_(other.account_) { open(); }
  open_level& operator=(const open_level&) = delete;
  ~open_level() {
    if (account_ != nullptr) ++account_->may_open;
  }

 private:
  void open() {
    if (account_ == nullptr) return;
    if (account_->may_open == 0) throw too_complex();
    --account_->may_open;
  }

  step_account* account_;
};

class schema_value;
using schema_member = std::pair<std::string, schema_value>;

/// Where one item or member stands; `Element` is made from what is there.
template <typename Element>
class schema_iterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = Element;
  using difference_type = std::ptrdiff_t;
  using pointer = Element*;
  using reference = Element&;

  schema_iterator(nlohmann::json::const_iterator at, step_account* account) : at_(at), account_(account) {}
  Element operator*() const;
  valijson::adapters::DerefProxy<Element> operator->() const { return valijson::adapters::DerefProxy<Element>(**this); }
  bool operator==(const schema_iterator& other) const { return at_ == other.at_; }
  bool operator!=(const schema_iterator& other) const { return at_ != other.at_; }
  schema_iterator& operator++() {
    ++at_;
    return *this;
  }
  schema_iterator operator++(int) {
    auto before = *this;
    ++at_;
    return before;
  }
  schema_iterator& operator--() {
    --at_;
    return *this;
  }
  void advance(std::ptrdiff_t by) { at_ += by; }

 private:
  nlohmann::json::const_iterator at_;
  step_account* account_;
};

/// An array or an object; without one, an empty one.
template <typename Element>
class schema_range {
 public:
  using const_iterator = schema_iterator<Element>;
  using iterator = const_iterator;

  schema_range() : schema_range(none(), nullptr) {}
  schema_range(const nlohmann::json& value, step_account* account)
      : value_(&value), account_(account), level_(account) {}
  iterator begin() const { return {value_->begin(), account_}; }
  iterator end() const { return {value_->end(), account_}; }
  iterator find(const std::string& name) const { return {value_->find(name), account_}; }
  std::size_t size() const { return value_->size(); }

 private:
  static const nlohmann::json& none() {
    static const nlohmann::json empty = nlohmann::json::array();
    return empty;
  }

  const nlohmann::json* value_;
  step_account* account_;
  // valijson has one of each schema that it is reading.
  open_level level_;
};

class schema_text : public valijson::adapters::NlohmannJsonValue {
 public:
  schema_text() = default;
  schema_text(const nlohmann::json& value, step_account* account)
      : NlohmannJsonValue(value), value_(&value), account_(account) {}

  std::optional<schema_range<schema_value>> getArrayOptional() const {
    if (!isArray()) return {};
    return schema_range<schema_value>(*value_, account_);
  }
  std::optional<schema_range<schema_member>> getObjectOptional() const {
    if (!isObject()) return {};
    return schema_range<schema_member>(*value_, account_);
  }

 private:
  const nlohmann::json* value_ = nullptr;
  step_account* account_ = nullptr;
};

class schema_value : public valijson::adapters::BasicAdapter<schema_value, schema_range<schema_value>, schema_member,
                                                             schema_range<schema_member>, schema_text> {
 public:
  explicit schema_value(const nlohmann::json& value, step_account* account = nullptr)
      : BasicAdapter(schema_text(value, account)), value_(&value), account_(account) {}

  const nlohmann::json& text() const { return *value_; }
  step_account& account() const { return *account_; }

 private:
  const nlohmann::json* value_ = nullptr;
  step_account* account_ = nullptr;
};

template <>
inline schema_value schema_iterator<schema_value>::operator*() const {
  return schema_value(*at_, account_);
}

template <>
inline schema_member schema_iterator<schema_member>::operator*() const {
  return {at_.key(), schema_value(at_.value(), account_)};
}

}  // namespace sluice::agent::detail

template <>
struct valijson::adapters::AdapterTraits<sluice::agent::detail::schema_value> {
  using DocumentType = nlohmann::json;
  static std::string adapterName() { return "schema_value"; }
};
