#include "llm/attempts/endpoint.hpp"

#include "llm/base_url.hpp"

namespace sluice::llm::detail {

namespace {

client_options checked(client_options options) {
  if (auto holds = validate(options); !holds) throw error_exception(holds.error());
  return options;
}

}  // namespace

admit_options admission_of(const request& asked, const call_options& how) noexcept {
  admit_options options;
  options.deadline = how.deadline;
  options.age = how.age;
  options.tenant = how.tenant;
  options.run = how.run;
  options.finalising = how.finalising;
  options.model = sluice::model(asked.model);
  options.kind = how.kind;
  return options;
}

endpoint::endpoint(http::transport& transport, bulkhead& bulkhead, client_options given)
    : over(transport),
      gate(bulkhead),
      options(checked(std::move(given))),
      hidden(options),
      format(wire_format_of(options.spoken)),
      ask_usage(options.ask_stream_usage),
      waits(options.retry, options.seed),
      pool(bulkhead, waits, options.retry),
      url_(below(options.base_url, std::string(format.path()))) {}

http::request endpoint::make(std::string body, bool streamed, instant deadline) const {
  http::request exchange("POST", url_);
  for (const http::header& line : options.headers) exchange.add_header(line.name(), line.value());
  exchange.add_header("content-type", "application/json");
  exchange.add_header("accept", streamed ? "text/event-stream" : "application/json");
  format.add_headers(exchange, options);
  if (!options.api_key.empty()) {
    switch (options.key_as) {
      case key_header::bearer: exchange.add_header("authorization", "Bearer " + options.api_key); break;
      case key_header::api_key: exchange.add_header("api-key", options.api_key); break;
      case key_header::x_api_key: exchange.add_header("x-api-key", options.api_key); break;
    }
  }
  exchange.set_body(std::move(body));
  exchange.limits = options.limits;
  exchange.limits.deadline = deadline;
  exchange.max_body = options.max_body;
  return exchange;
}

}  // namespace sluice::llm::detail
