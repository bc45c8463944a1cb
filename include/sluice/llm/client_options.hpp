/// \file
/// `client_options`: where a client's requests go, and how. `call_options`: what may be said of one call.
#pragma once

#include <sluice/core/attempt.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/request.hpp>
#include <sluice/core/run.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/llm/attempt_record.hpp>
#include <sluice/llm/dialect.hpp>
#include <sluice/llm/environment.hpp>
#include <sluice/llm/estimator.hpp>
#include <sluice/llm/retry_policy.hpp>
#include <sluice/llm/sse_parser.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::llm {

/// How the key is shown to the server.
enum class key_header : std::uint8_t {
  /// `authorization: Bearer KEY`.
  bearer,
  /// `api-key: KEY`, as Azure wants it.
  api_key,
  /// `x-api-key: KEY`, as Anthropic wants it.
  x_api_key,
};

/// The name of the request's limit on output tokens.
enum class output_limit_field : std::uint8_t {
  /// `max_completion_tokens`, the present name.
  max_completion_tokens,
  /// `max_tokens`, which older servers and most imitators understand.
  max_tokens,
};

/// Where requests go, and how. A plain value.
class client_options {
 public:
  /// `url` is the server's address up to and including the version: `https://api.openai.com/v1`. A query in it is kept
  /// (`?api-version=...`). The key goes to that host alone, and into no message.
  explicit client_options(std::string url, std::string key = {}) : base_url(std::move(url)), api_key(std::move(key)) {}
  /// The same for another dialect, with the way in which its provider wants the key.
  client_options(llm::dialect which, std::string url, std::string key = {});
  /// By the environment: `SLUICE_BASE_URL` (with `SLUICE_DIALECT`, else openai-chat, and `SLUICE_API_KEY`, else no
  /// key); or `SLUICE_DIALECT` with `SLUICE_API_KEY`, for its provider's public address; or `OPENAI_API_KEY` (with
  /// `OPENAI_BASE_URL`); or `ANTHROPIC_API_KEY` (with `ANTHROPIC_BASE_URL`, to which `/v1` is added when it is not
  /// there). `SLUICE_DIALECT` alone chooses between the last two. What is empty is not set. Errors:
  /// `errc::invalid_configuration`, naming the variable, and as `validate`.
  [[nodiscard]] static expected<client_options, error> from_env(const environment& from = process_environment());

  llm::dialect spoken = llm::dialect::openai_chat;
  std::string base_url;
  /// Empty: none is sent.
  std::string api_key;
  key_header key_as = key_header::bearer;
  /// Of OpenAI's chat completions.
  output_limit_field output_limit = output_limit_field::max_completion_tokens;
  /// Of Anthropic's messages: the header `anthropic-version`, and the limit on output that its requests must have, for
  /// those that do not say one.
  std::string anthropic_version = "2023-06-01";
  std::int64_t default_max_tokens = 4'096;
  /// Sent with every request. Like the key, what is secret in them is blotted out wherever a server or a body shows it
  /// again: of a header whose name holds `auth`, `key`, `token`, `secret`, `cookie`, `password`, `credential`,
  /// `session` or `signature`, the value and each word of it, from 8 characters on; of any other, words that look like
  /// a key (20 characters or more with digits and letters of both cases, or 32 hexadecimal digits). The same goes for
  /// the query of `base_url`.
  std::vector<http::header> headers;
  /// Whether to ask streams for their usage. A server that refuses to be asked is not asked again.
  bool ask_stream_usage = true;
  /// How much to reserve.
  llm::estimator estimator = character_estimator();
  /// Whether what providers report corrects a `character_estimator`, for each model: the length of prompts after 8
  /// reports, by at most a factor of 2 either way, pictures and files aside; and the output to reserve when a request
  /// has no limit, after 20 answers to such requests of its class and effort.
  bool learn_from_usage = true;
  /// That output is what so large a share of such answers did not exceed.
  double unlimited_output_quantile = 0.95;
  /// The same for requests with a limit: reserve this share's length in place of the limit, when it is less. Work that
  /// turns out longer takes what it needs beyond its reservation, and for so long the pool can be overdrawn. Unset: the
  /// limit.
  std::optional<double> output_quantile;
  retry_policy retry;
  /// Told of every attempt; may be empty.
  llm::observer observer;
  /// Put both bodies into the observer's records: they hold what was said.
  bool record_bodies = false;
  /// Where the randomness of waiting comes from; zero: from the system.
  std::uint64_t seed = 0;
  /// The limits of one exchange. Their deadline is not looked at: a call has its own.
  http::limits limits;
  /// A stream whose `next` has not been called for so long, while its answer is not whole, is closed, so that its
  /// permit serves others: the next `next` gives `errc::idle_timeout`. Zero: no limit.
  duration unread = std::chrono::seconds(60);
  /// The most bytes of one streamed event, and of one answer in all.
  std::size_t max_event = sse_parser::default_max_event;
  std::size_t max_body = std::size_t{64} << 20;
  /// A stream's hold is corrected each time it has produced so many tokens more.
  std::int64_t reconcile_every = 32;
};

/// Checks options. Errors: `errc::invalid_configuration`, naming the field: `base_url` (http or https, a host, no user
/// or password, no fragment), `api_key` and `headers` (no line breaks), `estimator` (not empty), `max_event`,
/// `max_body`, `reconcile_every`, `default_max_tokens` (positive), and what `retry` names.
[[nodiscard]] expected<void, error> validate(const client_options& checked);

/// What may be said of one call. Numbers and instants alone, so that it may be written in braces inside a `co_await`.
struct call_options {
  sluice::workload workload = interactive;
  /// By when the answer must be whole: it holds over queue and exchange together. `gate.in(30s)` makes one.
  instant deadline = never;
  /// Reserve this in place of the estimate.
  std::optional<cost> reservation{};
  /// For work that was preempted and comes again: `failure::age` of the call that was.
  sluice::age age{};
  /// On whose behalf, and the run that pays (`bulkhead::open_run`), and with whose end the call ends; `finalising` may
  /// spend its finalise reserve.
  sluice::tenant tenant{};
  sluice::run_id run{};
  bool finalising = false;
  /// In place of the client's `retry.max_attempts`, 1 to 100; zero: the client's.
  int max_attempts = 0;
  /// What the first attempt counts as: `hedge` for a second request beside another one, which is refused rather than
  /// queued.
  sluice::attempt kind = attempt::first;
  /// A call that is preempted asks again, with its age, until its deadline; a stream only as long as none of it has
  /// been handed out. When off, preemption is `errc::preempted`.
  bool requeue_when_preempted = true;
};
static_assert(std::is_trivially_destructible_v<call_options> && std::is_aggregate_v<call_options>);

}  // namespace sluice::llm
