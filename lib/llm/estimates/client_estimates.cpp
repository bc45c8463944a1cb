#include <sluice/llm/client.hpp>

#include <sluice/llm/whole_text.hpp>

#include "llm/attempts/endpoint.hpp"
#include "llm/estimates/reservation.hpp"

#include <utility>

namespace sluice::llm {

namespace {

client_options checked_from(const environment& from) {
  auto options = client_options::from_env(from);
  if (!options) throw error_exception(std::move(options).error());
  return *std::move(options);
}

// Its frame, and not the client's caller, keeps what is asked alive.
asio::awaitable<expected<std::string, failure>> text_of(asio::awaitable<expected<reply, failure>> asking) {
  auto answer = co_await std::move(asking);
  co_return whole_text(std::move(answer));
}

}  // namespace

client client::from_env(http::transport& over, bulkhead& gate, const environment& from) {
  return client(over, gate, checked_from(from));
}

expected<cost, failure> client::estimate(const request& what, const call_options& options) const {
  auto reserved = endpoint_->reserve(what, options);
  if (!reserved) return unexpected<failure>(std::move(reserved).error());
  return reserved->asked;
}

expected<forecast, failure> client::would_admit(const request& what, const call_options& options) const {
  auto reserved = endpoint_->reserve(what, options);
  if (!reserved) return unexpected<failure>(std::move(reserved).error());
  auto expected_fate =
      endpoint_->gate.would_admit(reserved->asked, options.workload, detail::admission_of(what, options));
  if (!expected_fate) return unexpected<failure>(detail::turned_away(std::move(expected_fate).error(), *reserved));
  return *expected_fate;
}

asio::awaitable<expected<std::string, failure>> client::ask(std::string model, std::string question,
                                                            call_options options) {
  request asked(std::move(model));
  asked.user(std::move(question));
  return text_of(chat(std::move(asked), options));
}

}  // namespace sluice::llm
