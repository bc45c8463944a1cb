/// \file
/// `provider`: whom the calls go to: a mock of our own on loopback, or any server that speaks the dialect.
#pragma once

#include "load.hpp"
#include "options.hpp"

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>

namespace contention {

/// Each arm has one of its own, so that nothing is left over from the arm before.
class provider {
 public:
  /// Starts the mock, if it is to be one: 32 requests at once, 8 more wait, then 429; and the more there are, the
  /// slower each is. Throws `sluice::error_exception` when it cannot listen.
  explicit provider(const options& asked);

  [[nodiscard]] const std::string& model() const noexcept { return model_; }
  /// Where it is, and with which key.
  [[nodiscard]] sluice::llm::client_options address() const;

  /// Tells the mock how large the prompt counts and the answer is to be; other servers know themselves.
  void tell_size(sluice::llm::request& asked, const job& size) const;

  /// Finds out whether it is there and takes our key. Errors: one line.
  [[nodiscard]] asio::awaitable<sluice::expected<void, std::string>> check(sluice::http::transport& over) const;

  /// What really happened; only the mock knows.
  [[nodiscard]] std::optional<sluice::testing::mock_stats> truth() const;

  /// Kills the mock, with all that it is doing.
  void kill();

 private:
  sluice::llm::dialect dialect_;
  std::string url_;
  std::string key_;
  std::string model_;
  std::unique_ptr<sluice::testing::mock_provider> mock_;
};

}  // namespace contention
