/// \file
/// `provider_engine`: what the mock provider does with each request. Lives on the server's thread.
#pragma once

#include <sluice/sim/shared_processor.hpp>
#include <sluice/testing/mock_provider.hpp>

#include "testing/loopback_server.hpp"
#include "testing/model_clock.hpp"
#include "testing/provider_exchange.hpp"
#include "testing/provider_ledger.hpp"
#include "testing/script_book.hpp"
#include "testing/wire_dialect.hpp"

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sluice::testing {

/// All but `requests` is called on the thread that runs `context`, or before and after that thread's life.
class provider_engine {
 public:
  provider_engine(asio::io_context& context, const mock_provider_options& options, script_book& script,
                  provider_ledger& ledger);

  void arrived(loopback_request request);
  void opened(std::uint64_t connection);
  void closed(std::uint64_t connection);

  void set_model(const provider_model& model);
  void freeze();
  void thaw();

  /// Everything is over; nothing is written any more. To be destroyed after the context: what the context still holds
  /// calls back, in vain.
  void drop_all();

  [[nodiscard]] std::vector<mock_request> requests() const;

 private:
  using exchange_map = std::unordered_map<std::uint64_t, provider_exchange>;

  [[nodiscard]] std::optional<wire_error> refusal(const loopback_request& request, const wire_dialect& form) const;
  [[nodiscard]] bool authorized(const loopback_request& request) const;
  void generate(loopback_request request, mock_dialect dialect);
  void take_on(mock_request request, loopback_request from, const mock_reply& reply, mock_fault fault);
  void answer(loopback_answer& to, int status, std::vector<http::header> headers, std::string_view body);
  void refuse(loopback_answer& to, const wire_dialect& form, const wire_error& why,
              const std::vector<http::header>& more = {});
  void put_fault(loopback_answer& to, const wire_dialect& form, const mock_fault& fault);
  [[nodiscard]] std::string request_id() const { return "req-" + std::to_string(received_); }
  [[nodiscard]] std::vector<http::header> usual_headers(const wire_dialect& form) const;
  void keep(const mock_request& request);

  void pump();
  void apply(const sim::processor_event& event, std::vector<std::uint64_t>& written);
  void count_head(provider_exchange& exchange);
  void finished(std::uint64_t id);
  void delivered(std::uint64_t id, bool whole);
  void abandon(std::uint64_t id);
  void forget(exchange_map::iterator which, const std::function<void(mock_stats&)>& note);
  void note_load();
  void arm();

  asio::io_context& context_;
  const mock_provider_options& options_;
  script_book& script_;
  provider_ledger& ledger_;
  sim::shared_processor processor_;
  model_clock clock_;
  std::optional<asio::steady_timer> timer_;
  instant armed_for_ = never;
  bool over_ = false;
  std::uint64_t received_ = 0;
  std::int64_t held_tokens_ = 0;
  exchange_map exchanges_;
  std::unordered_multimap<std::uint64_t, std::uint64_t> by_connection_;
  std::unordered_set<std::uint64_t> connections_;
  std::vector<sim::processor_event> events_;

  mutable std::mutex kept_mutex_;
  std::deque<mock_request> kept_;
};

}  // namespace sluice::testing
