#include <sluice/core/error.hpp>

namespace sluice {
namespace {

const char* sentence(errc code) noexcept {
  switch (code) {
    case errc::ok: return "no error";
    case errc::invalid_configuration: return "a setting is wrong";
    case errc::stale_revision: return "the revision is not newer than the one in force";
    case errc::refused: return "the work was turned away by admission control";
    case errc::preempted: return "the permit was taken back for more urgent work";
    case errc::invalid_argument: return "what was asked makes no sense";
    case errc::deadline_exceeded: return "the deadline passed";
    case errc::cancelled: return "the caller cancelled the operation";
    case errc::host_not_found: return "the host name was not found";
    case errc::connect_failed: return "no connection could be made";
    case errc::connect_timeout: return "the connection was not made in time";
    case errc::tls_failed: return "TLS could not be agreed";
    case errc::first_byte_timeout: return "no answer came in time";
    case errc::idle_timeout: return "the peer went silent in mid-answer";
    case errc::total_timeout: return "the exchange took longer than its limit";
    case errc::connection_lost: return "the connection ended before the answer did";
    case errc::too_large: return "the answer is larger than the limit allows";
    case errc::protocol_error: return "the peer broke its protocol";
    case errc::provider_refused: return "the provider refused the request";
    case errc::rate_limited: return "the provider asked to slow down";
    case errc::overloaded: return "the provider is overloaded";
    case errc::provider_failed: return "the provider failed";
    case errc::unauthorized: return "the key was missing or not accepted";
    case errc::content_filtered: return "the provider's filter turned the request or the answer away";
    case errc::context_too_long: return "the conversation is longer than the model's context";
    case errc::quota_exhausted: return "the account's quota is spent";
  }
  return "an unknown error";
}

class sluice_category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "sluice"; }
  [[nodiscard]] std::string message(int code) const override { return sentence(static_cast<errc>(code)); }
};

}  // namespace

const std::error_category& error_category() noexcept {
  static const sluice_category category;
  return category;
}

}  // namespace sluice
