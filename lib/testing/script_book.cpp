#include "testing/script_book.hpp"

namespace sluice::testing {
namespace {

// Uniform in [0, 1), from the seed and the request's number alone (splitmix64).
double draw(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15U + number * 0xd1342543de82ef95U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  z ^= z >> 31U;
  return static_cast<double>(z >> 11U) * 0x1.0p-53;
}

}  // namespace

void script_book::reply_with(mock_reply reply) {
  const std::lock_guard lock(mutex_);
  replies_.push_back(std::move(reply));
}

void script_book::reply_when(mock_provider::predicate matches, mock_reply reply) {
  auto added =
      std::make_shared<const std::pair<mock_provider::predicate, mock_reply>>(std::move(matches), std::move(reply));
  const std::lock_guard lock(mutex_);
  reply_rules_.push_back(std::move(added));
}

void script_book::on_request(mock_provider::handler make) {
  auto kept = make ? std::make_shared<const mock_provider::handler>(std::move(make)) : nullptr;
  const std::lock_guard lock(mutex_);
  handler_.swap(kept);
}

void script_book::clear_replies() {
  const std::lock_guard lock(mutex_);
  replies_.clear();
  reply_rules_.clear();
  handler_ = nullptr;
}

void script_book::fail_next(mock_fault fault, std::size_t count) {
  if (count == 0) return;
  const std::lock_guard lock(mutex_);
  faults_.emplace_back(std::move(fault), count);
}

void script_book::fail_when(mock_provider::predicate matches, mock_fault fault) {
  auto added =
      std::make_shared<const std::pair<mock_provider::predicate, mock_fault>>(std::move(matches), std::move(fault));
  const std::lock_guard lock(mutex_);
  fault_rules_.push_back(std::move(added));
}

void script_book::fail_rate(double share, mock_fault fault, std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  rate_ = rate_of_faults{share, std::move(fault), seed};
}

void script_book::clear_faults() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
  fault_rules_.clear();
  rate_.reset();
}

mock_reply script_book::pick_reply(const mock_request& request) {
  std::unique_lock lock(mutex_);
  const auto make = handler_;
  const auto rules = reply_rules_;
  lock.unlock();
  if (make) return (*make)(request);
  for (const auto& each : rules) {
    if (each->first(request)) return each->second;
  }
  lock.lock();
  if (replies_.empty()) return {};
  auto reply = std::move(replies_.front());
  replies_.pop_front();
  return reply;
}

std::optional<mock_fault> script_book::pick_fault(const mock_request& request) {
  std::unique_lock lock(mutex_);
  if (!faults_.empty()) {
    auto fault = faults_.front().first;
    if (--faults_.front().second == 0) faults_.pop_front();
    return fault;
  }
  const auto rules = fault_rules_;
  const auto rate = rate_;
  lock.unlock();
  for (const auto& each : rules) {
    if (each->first(request)) return each->second;
  }
  if (rate && draw(rate->seed, request.number) < rate->share) return rate->fault;
  return std::nullopt;
}

}  // namespace sluice::testing
