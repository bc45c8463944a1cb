#include <sluice/llm/client.hpp>

#include "llm/attempts/call.hpp"
#include "llm/attempts/stream_call.hpp"
#include "llm/errors/provider_error.hpp"
#include "llm/errors/quote.hpp"

#include <sluice/llm/sse_parser.hpp>

#include <string>
#include <utility>
#include <vector>

namespace sluice::llm {

namespace {

using detail::call;
using detail::endpoint;
using detail::exchange;

// Of a foreign page there is nothing to quote but its start; servers without a content type are taken at their word.
bool is_page(const http::response& answer, const std::string& body) {
  return answer.header_value("content-type").starts_with("text/html") ||
         body.find_first_not_of(" \t\r\n") == body.npos || body[body.find_first_not_of(" \t\r\n")] == '<';
}

expected<reply, failure> decode(call& asked, exchange& from, std::string body) {
  const endpoint& where = asked.where();
  if (is_page(*from.answer, body)) {
    return unexpected<failure>(failure_of_foreign_body(from.answer->header_value("content-type"), body, where.hidden));
  }
  if (body.starts_with("\xEF\xBB\xBF")) body.erase(0, 3);
  const auto decoder = where.format.decoder(where.hidden);
  std::vector<stream_event> unused;
  const std::size_t size = body.size();
  body.append(sse_parser::padding, '\0');
  auto read = decoder->document(std::string_view(body).substr(0, size), unused);
  const auto& reported = decoder->reported();
  if (reported) from.account.reported(*reported);
  if (!reported || !reported->output_tokens) from.account.saw(decoder->answer, decoder->produced_bytes());
  if (read) {
    decoder->complete();
    from.account.complete();
  }
  decoder->answer.usage = from.account.taken();
  decoder->answer.request_id = request_id_of(from.answer->headers());
  if (read) return std::move(decoder->answer);
  failure why = std::move(read).error();
  if (says_anything(decoder->answer)) why.partial = std::move(decoder->answer);
  return unexpected<failure>(std::move(why));
}

asio::awaitable<expected<std::string, failure>> read_body(call& asked, exchange& from) {
  std::string body;
  for (;;) {
    auto part = co_await asked.read(from);
    if (!part || part->empty()) {
      if (part) part = std::move(body);
      co_return std::move(part);
    }
    // A plain answer comes when it is whole: its first byte says that the prompt has been processed.
    if (body.empty()) {
      from.account.produced(0);
      asked.answered();
    }
    body += *part;
  }
}

// One attempt. Its permit has ended when this completes.
asio::awaitable<expected<reply, failure>> chat_once(call& asked) {
  using result = expected<reply, failure>;
  auto begun = co_await asked.begin();
  if (!begun) co_return result(unexpected<failure>(std::move(begun).error()));
  exchange under_way = *std::move(begun);
  try {
    auto body = co_await read_body(asked, under_way);
    auto answer =
        body ? decode(asked, under_way, *std::move(body)) : result(unexpected<failure>(std::move(body).error()));
    if (answer) {
      asked.succeeded(under_way);
    } else {
      failure& why = answer.error();
      why.status = under_way.answer->status();
      if (why.request_id.empty())
        why.request_id = quote(request_id_of(under_way.answer->headers()), asked.where().hidden);
      asked.failed(under_way, why);
    }
    co_return std::move(answer);
  } catch (...) {
    asked.abandoned(under_way);
    throw;
  }
}

asio::awaitable<expected<reply, failure>> run_chat(call asked) {
  using result = expected<reply, failure>;
  if (auto prepared = asked.prepare(); !prepared) co_return result(unexpected<failure>(std::move(prepared).error()));
  for (;;) {
    auto answer = co_await chat_once(asked);
    if (answer || !asked.again(answer.error())) co_return std::move(answer);
    const bool waited = co_await asked.wait();
    if (!waited) co_return result(unexpected<failure>(asked.cancelled()));
  }
}

}  // namespace

client::client(http::transport& over, bulkhead& gate, client_options options)
    : endpoint_(std::make_shared<endpoint>(over, gate, std::move(options))) {}

client::~client() = default;

bulkhead& client::gate() const noexcept { return endpoint_->gate; }

asio::awaitable<expected<reply, failure>> client::chat(request what, call_options options) {
  return run_chat(call(endpoint_, std::move(what), options, false));
}

asio::awaitable<expected<llm::stream, failure>> client::stream(request what, call_options options) {
  using result = expected<llm::stream, failure>;
  call asked(endpoint_, std::move(what), options, true);
  if (auto prepared = asked.prepare(); !prepared) co_return result(unexpected<failure>(std::move(prepared).error()));
  for (;;) {
    auto begun = co_await asked.begin();
    if (begun) {
      auto under_way = std::make_unique<detail::stream_call>(std::move(asked), *std::move(begun));
      co_return result(llm::stream(std::move(under_way)));
    }
    if (!asked.again(begun.error())) co_return result(unexpected<failure>(std::move(begun).error()));
    const bool waited = co_await asked.wait();
    if (!waited) co_return result(unexpected<failure>(asked.cancelled()));
  }
}

}  // namespace sluice::llm
