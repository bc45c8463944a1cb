#include "testing/provider_engine.hpp"

#include "testing/cut_answer.hpp"
#include "testing/gzip_answer.hpp"
#include "testing/wire_time.hpp"

#include <asio/post.hpp>

#include <algorithm>
#include <utility>

namespace sluice::testing {
namespace {

instant real_now() { return std::chrono::steady_clock::now(); }

bool names_header(const http::header& line, std::string_view name) {
  return std::equal(line.name().begin(), line.name().end(), name.begin(), name.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

bool is_secret(const http::header& line) {
  return names_header(line, "authorization") || names_header(line, "api-key") || names_header(line, "x-api-key");
}

std::string_view path_of(const loopback_request& request) {
  return std::string_view(request.target).substr(0, request.target.find('?'));
}

// Paths that are nobody's, or several's, are answered in the form that the client seems to expect.
const wire_dialect& form_of(const loopback_request& request) {
  if (const auto dialect = dialect_of_path(path_of(request))) return wire_dialect_of(*dialect);
  const bool versioned = std::any_of(request.headers.begin(), request.headers.end(),
                                     [](const http::header& line) { return names_header(line, "anthropic-version"); });
  return wire_dialect_of(versioned ? mock_dialect::anthropic_messages : mock_dialect::openai_chat);
}

mock_request understood(const loopback_request& from, std::uint64_t number) {
  mock_request request;
  request.method = from.method;
  request.target = from.target;
  request.body = from.body;
  request.number = number;
  for (const auto& line : from.headers)
    request.headers.emplace_back(line.name(), is_secret(line) ? "***" : line.value());
  return request;
}

}  // namespace

provider_engine::provider_engine(asio::io_context& context, const mock_provider_options& options, script_book& script,
                                 provider_ledger& ledger)
    : context_(context),
      options_(options),
      script_(script),
      ledger_(ledger),
      processor_(options.model),
      clock_(options.model.time_scale, real_now()),
      timer_(context) {}

void provider_engine::opened(std::uint64_t connection) {
  connections_.insert(connection);
  ledger_.note([&](mock_stats& stats) {
    ++stats.connections_opened;
    stats.connections = static_cast<std::int64_t>(connections_.size());
  });
}

void provider_engine::closed(std::uint64_t connection) {
  if (over_ || connections_.erase(connection) == 0) return;
  ledger_.note([&](mock_stats& stats) { stats.connections = static_cast<std::int64_t>(connections_.size()); });
  // This may be called from within a write of the very exchange that it ends.
  asio::post(context_, [this, connection] {
    for (auto it = by_connection_.find(connection); it != by_connection_.end(); it = by_connection_.find(connection)) {
      abandon(it->second);
    }
    pump();
  });
}

void provider_engine::arrived(loopback_request request) {
  ++received_;
  const bool credentials = std::any_of(request.headers.begin(), request.headers.end(), is_secret);
  ledger_.note([&](mock_stats& stats) {
    ++stats.received;
    if (credentials) ++stats.authorized;
  });
  const auto& form = form_of(request);
  if (const auto why = refusal(request, form)) {
    refuse(*request.answer, form, *why);
  } else if (const auto dialect = dialect_of_path(path_of(request))) {
    generate(std::move(request), *dialect);
  } else {
    answer(*request.answer, 200, usual_headers(form), form.models_body(options_.models));
  }
}

std::optional<wire_error> provider_engine::refusal(const loopback_request& request, const wire_dialect& form) const {
  const auto path = path_of(request);
  const bool models = path == "/v1/models";
  if (!models && !dialect_of_path(path)) {
    return form.usual_error(404, "Unknown request URL: " + request.method + " " + std::string(path) + ".");
  }
  if (request.method != (models ? "GET" : "POST")) return form.usual_error(405);
  if (!authorized(request)) return form.usual_error(401);
  if (request.body.size() > options_.max_body) return form.usual_error(413);
  return std::nullopt;
}

bool provider_engine::authorized(const loopback_request& request) const {
  if (options_.api_key.empty()) return true;
  return std::any_of(request.headers.begin(), request.headers.end(), [&](const http::header& line) {
    if (!is_secret(line)) return false;
    return line.value() == (names_header(line, "authorization") ? "Bearer " + options_.api_key : options_.api_key);
  });
}

void provider_engine::generate(loopback_request from, mock_dialect dialect) {
  const auto& form = wire_dialect_of(dialect);
  auto request = understood(from, received_);
  request.dialect = dialect;
  const auto malformed = form.read(request);
  if (options_.keep_requests > 0) keep(request);
  if (malformed) return refuse(*from.answer, form, *malformed);

  auto fault = script_.pick_fault(request).value_or(mock_fault());
  const auto immediate = [&](const mock_fault& wrong) {
    using kind = mock_fault::kind;
    return wrong.what() == kind::status || (wrong.what() == kind::hang_up && wrong.after_tokens() < 0) ||
           (wrong.has(kind::refuse_stream_options) && request.include_usage);
  };
  if (immediate(fault)) return put_fault(*from.answer, form, fault);
  pump();
  if (processor_.full()) {
    ledger_.note([](mock_stats& stats) { ++stats.refused; });
    return refuse(*from.answer, form, form.usual_error(429),
                  {http::header("retry-after", decimal_seconds(processor_.model().retry_after))});
  }
  const auto reply = script_.pick_reply(request);
  if (fault.what() == mock_fault::kind::none) fault = reply.fault;
  if (immediate(fault)) return put_fault(*from.answer, form, fault);
  take_on(std::move(request), std::move(from), reply, std::move(fault));
}

void provider_engine::put_fault(loopback_answer& to, const wire_dialect& form, const mock_fault& fault) {
  ledger_.note([](mock_stats& stats) { ++stats.faults; });
  if (fault.what() == mock_fault::kind::hang_up) return to.hang_up();
  std::vector<http::header> more;
  for (const auto& [name, value] : fault.headers()) more.emplace_back(name, value);
  if (fault.what() != mock_fault::kind::status) {
    return refuse(
        to, form,
        {400, "Unrecognized request argument supplied: stream_options", "invalid_request_error", {}, "stream_options"},
        more);
  }
  refuse(to, form, form.usual_error(fault.code(), fault.message(), fault.is_quota()), more);
}

void provider_engine::take_on(mock_request request, loopback_request from, const mock_reply& reply, mock_fault fault) {
  const auto id = request.number;
  const bool faulty = fault.what() != mock_fault::kind::none;
  auto headers = usual_headers(wire_dialect_of(request.dialect));
  for (const auto& [name, value] : reply.headers) headers.emplace_back(name, value);
  if (fault.bytes() > 0) {
    from.answer = make_cut_answer(context_, std::move(from.answer), fault.bytes(), fault.every());
  }
  if (fault.has(mock_fault::kind::gzip) && request.header_value("accept-encoding").find("gzip") != std::string::npos) {
    from.answer = make_gzip_answer(std::move(from.answer));
  }
  const auto it = exchanges_
                      .try_emplace(id, request, from.connection, reply, std::move(fault), std::move(headers),
                                   std::move(from.answer))
                      .first;
  by_connection_.emplace(from.connection, id);
  it->second.held = request.input_tokens + std::max(request.max_output_tokens, std::int64_t{0});
  held_tokens_ += it->second.held;
  it->second.ticket = processor_.arrive(id, it->second.job()).ticket;
  ledger_.note([&](mock_stats& stats) {
    stats.open = static_cast<std::int64_t>(exchanges_.size());
    if (request.stream) ++stats.streams;
    if (faulty) ++stats.faults;
    stats.running = processor_.running();
    stats.waiting = processor_.waiting();
  });
  pump();
}

void provider_engine::answer(loopback_answer& to, int status, std::vector<http::header> headers,
                             std::string_view body) {
  ledger_.note([&](mock_stats& stats) { ++stats.answers[status]; });
  headers.emplace_back("content-type", "application/json");
  to.whole(status, headers, body, {});
}

void provider_engine::refuse(loopback_answer& to, const wire_dialect& form, const wire_error& why,
                             const std::vector<http::header>& more) {
  auto headers = usual_headers(form);
  headers.insert(headers.end(), more.begin(), more.end());
  answer(to, why.status, std::move(headers), form.error_body(why, request_id()));
}

std::vector<http::header> provider_engine::usual_headers(const wire_dialect& form) const {
  const auto& model = processor_.model();
  wire_load load;
  load.limit_requests = model.limit_requests;
  const std::int64_t open = processor_.running() + processor_.waiting();
  const bool full = open >= model.slots + model.queue;
  load.free_requests = full ? 0 : std::max(model.limit_requests - open, std::int64_t{0});
  load.limit_tokens = model.limit_tokens;
  load.free_tokens = std::max(model.limit_tokens - held_tokens_, std::int64_t{0});
  load.retry_after = model.retry_after;
  return form.headers(load, request_id());
}

void provider_engine::keep(const mock_request& request) {
  const std::lock_guard lock(kept_mutex_);
  kept_.push_back(request);
  if (kept_.size() > options_.keep_requests) kept_.pop_front();
}

std::vector<mock_request> provider_engine::requests() const {
  const std::lock_guard lock(kept_mutex_);
  return {kept_.begin(), kept_.end()};
}

void provider_engine::pump() {
  if (clock_.is_frozen()) return;
  // What is written here comes back only through the context, so events_ is not touched meanwhile.
  events_.clear();
  processor_.advance(clock_.at(real_now()), events_);
  std::vector<std::uint64_t> written;
  for (const auto& event : events_) apply(event, written);
  for (const auto id : written) {
    if (const auto found = exchanges_.find(id); found != exchanges_.end()) found->second.flush();
  }
  if (!events_.empty()) note_load();
  arm();
}

void provider_engine::apply(const sim::processor_event& event, std::vector<std::uint64_t>& written) {
  using kind = sim::processor_event::kind;
  const auto found = exchanges_.find(event.tag);
  if (found == exchanges_.end()) return;
  auto& exchange = found->second;
  switch (event.what) {
    case kind::started: break;
    case kind::prompt_done:
      exchange.counted_input = event.tokens;
      ledger_.note([&](mock_stats& stats) { stats.input_tokens += event.tokens; });
      exchange.prompt_done();
      count_head(exchange);
      written.push_back(event.tag);
      break;
    case kind::produced: {
      const auto more = event.tokens - std::exchange(exchange.counted_output, event.tokens);
      ledger_.note([&](mock_stats& stats) { stats.output_tokens += more; });
      exchange.produced(event.tokens);
      count_head(exchange);
      if (written.empty() || written.back() != event.tag) written.push_back(event.tag);
      break;
    }
    case kind::finished: finished(event.tag); break;
  }
}

void provider_engine::finished(std::uint64_t id) {
  const auto found = exchanges_.find(id);
  const bool ends = found->second.finish([this, id](bool whole) {
    if (over_) return;
    if (whole) {
      delivered(id, true);
    } else {
      // A write to a connection that is gone already fails at once, from within the call.
      asio::post(context_, [this, id] { delivered(id, false); });
    }
  });
  count_head(found->second);
  if (!ends) forget(found, [](mock_stats&) {});
}

void provider_engine::count_head(provider_exchange& exchange) {
  if (!exchange.has_begun() || std::exchange(exchange.counted_head, true)) return;
  ledger_.note([&](mock_stats& stats) { ++stats.answers[exchange.status()]; });
}

void provider_engine::delivered(std::uint64_t id, bool whole) {
  if (!whole) return abandon(id);
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  forget(found, [](mock_stats& stats) { ++stats.served; });
}

void provider_engine::abandon(std::uint64_t id) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  if (!clock_.is_frozen()) pump();
  const auto again = exchanges_.find(id);
  if (again == exchanges_.end()) return;
  auto input = again->second.counted_input;
  auto output = again->second.counted_output;
  const auto come = processor_.cancel(again->second.ticket).value_or(sim::shared_processor::progress{input, output});
  const auto more_input = std::max(come.input - input, std::int64_t{0});
  const auto more_output = std::max(come.output - output, std::int64_t{0});
  input += more_input;
  output += more_output;
  forget(again, [&](mock_stats& stats) {
    ++stats.cancelled;
    stats.input_tokens += more_input;
    stats.output_tokens += more_output;
    stats.wasted_input_tokens += input;
    stats.wasted_output_tokens += output;
  });
}

void provider_engine::forget(exchange_map::iterator which, const std::function<void(mock_stats&)>& note) {
  const auto id = which->first;
  const bool stream = which->second.is_stream();
  held_tokens_ -= which->second.held;
  const auto [first, last] = by_connection_.equal_range(which->second.connection());
  by_connection_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == id; }));
  exchanges_.erase(which);
  ledger_.note([&](mock_stats& stats) {
    note(stats);
    stats.open = static_cast<std::int64_t>(exchanges_.size());
    if (stream) --stats.streams;
    stats.running = processor_.running();
    stats.waiting = processor_.waiting();
  });
}

void provider_engine::note_load() {
  ledger_.note([&](mock_stats& stats) {
    stats.running = processor_.running();
    stats.waiting = processor_.waiting();
  });
}

void provider_engine::arm() {
  const auto when = clock_.real_of(processor_.next());
  if (when >= armed_for_) return;
  armed_for_ = when;
  timer_->expires_at(when);
  timer_->async_wait([this](const asio::error_code& failure) {
    if (failure || over_) return;
    armed_for_ = never;
    pump();
  });
}

void provider_engine::set_model(const provider_model& model) {
  pump();
  processor_.set_model(model);
  clock_.set_scale(model.time_scale, real_now());
  armed_for_ = never;
  note_load();
  pump();
}

void provider_engine::freeze() {
  pump();
  clock_.freeze(real_now());
}

void provider_engine::thaw() {
  clock_.thaw(real_now());
  armed_for_ = never;
  pump();
}

void provider_engine::drop_all() {
  over_ = true;
  timer_.reset();
  exchanges_.clear();
  by_connection_.clear();
  connections_.clear();
  ledger_.note(
      [](mock_stats& stats) { stats.open = stats.streams = stats.running = stats.waiting = stats.connections = 0; });
}

}  // namespace sluice::testing
