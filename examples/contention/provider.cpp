#include "provider.hpp"

#include <sluice/testing/provider_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace contention {
namespace {

using sluice::testing::mock_reply;
using sluice::testing::mock_request;

// The mock's side of an agent's loop: a tool call first, and words when the tool's result is there.
mock_reply reply_to(const mock_request& asked) {
  if (asked.tools == 0 || asked.last_role == "tool") return {};
  // A tool call is one token, and one more for every 8 bytes of its arguments.
  const auto tokens = std::max<std::int64_t>(asked.wanted_output_tokens, 4);
  std::string query(static_cast<std::size_t>(tokens - 3) * 8, 'w');
  return mock_reply::tool_call("look_up", R"({"query":")" + query + R"("})");
}

}  // namespace

provider::provider(const options& asked) : dialect_(asked.dialect), url_(asked.provider_url), model_(asked.model) {
  if (url_.empty()) {
    mock_ = std::make_unique<sluice::testing::mock_provider>(sluice::testing::provider_model{});
    mock_->on_request(reply_to);
    url_ = mock_->url();
  } else if (const char* key = std::getenv("SLUICE_API_KEY")) {  // NOLINT(concurrency-mt-unsafe): nobody sets it
    key_ = key;
  }
}

sluice::llm::client_options provider::address() const {
  sluice::llm::client_options where(dialect_, url_, key_);
  // OpenAI's own models insist on the present name; many others know only the former one.
  const bool present =
      mock_ || url_.find(".openai.com") != std::string::npos || url_.find(".azure.com") != std::string::npos;
  where.output_limit =
      present ? sluice::llm::output_limit_field::max_completion_tokens : sluice::llm::output_limit_field::max_tokens;
  return where;
}

void provider::tell_size(sluice::llm::request& asked, const job& size) const {
  if (!mock_) return;
  asked.end_user = "in=" + std::to_string(size.input_tokens) + " out=" + std::to_string(size.output_tokens);
}

asio::awaitable<sluice::expected<void, std::string>> provider::check(sluice::http::transport& over) const {
  using result = sluice::expected<void, std::string>;
  const auto query = url_.find('?');
  auto base = url_.substr(0, query);
  while (base.ends_with('/')) base.pop_back();
  sluice::http::request asked("GET", base + "/models" + (query == std::string::npos ? "" : url_.substr(query)));
  const auto where = address();
  if (dialect_ == sluice::llm::dialect::anthropic_messages) {
    asked.add_header("anthropic-version", where.anthropic_version);
    if (!key_.empty()) asked.add_header("x-api-key", key_);
  } else if (!key_.empty()) {
    asked.add_header("authorization", "Bearer " + key_);
  }
  asked.limits.first_byte = std::chrono::seconds(15);

  auto got = co_await over.send(std::move(asked));
  if (!got) {
    co_return result(
        sluice::unexpected<std::string>("the provider at " + url_ + " cannot be reached: " + got.error().message()));
  }
  // Some servers have no list of models; that they answer is enough.
  const auto status = (*got)->status();
  if (status == 401 || status == 403) {
    co_return result(sluice::unexpected<std::string>("the provider at " + url_ + " does not accept the key (HTTP " +
                                                     std::to_string(status) + "); set SLUICE_API_KEY"));
  }
  co_return result();
}

std::optional<sluice::testing::mock_stats> provider::truth() const {
  if (!mock_) return std::nullopt;
  return mock_->stats();
}

void provider::kill() {
  if (mock_) mock_->stop();
}

}  // namespace contention
