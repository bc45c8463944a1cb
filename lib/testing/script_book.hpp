/// \file
/// `script_book`: which reply and which fault a request gets.
#pragma once

#include <sluice/testing/mock_provider.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::testing {

/// Thread-safe. Calls the user's predicates and handler without its lock.
class script_book {
 public:
  void reply_with(mock_reply reply);
  void reply_when(mock_provider::predicate matches, mock_reply reply);
  void on_request(mock_provider::handler make);
  void clear_replies();

  void fail_next(mock_fault fault, std::size_t count);
  void fail_when(mock_provider::predicate matches, mock_fault fault);
  void fail_rate(double share, mock_fault fault, std::uint64_t seed);
  void clear_faults();

  [[nodiscard]] mock_reply pick_reply(const mock_request& request);
  [[nodiscard]] std::optional<mock_fault> pick_fault(const mock_request& request);

 private:
  template <typename Outcome>
  using rule = std::shared_ptr<const std::pair<mock_provider::predicate, Outcome>>;

  struct rate_of_faults {
    double share = 0;
    mock_fault fault;
    std::uint64_t seed = 0;
  };

  std::mutex mutex_;
  std::deque<mock_reply> replies_;
  std::vector<rule<mock_reply>> reply_rules_;
  std::shared_ptr<const mock_provider::handler> handler_;
  std::deque<std::pair<mock_fault, std::size_t>> faults_;
  std::vector<rule<mock_fault>> fault_rules_;
  std::optional<rate_of_faults> rate_;
};

}  // namespace sluice::testing
