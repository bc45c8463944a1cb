#include "http/exchange.hpp"

#include "http/curl_error.hpp"
#include "http/easy_handle.hpp"
#include "http/origin.hpp"

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>

#include <sys/socket.h>

#include <cstdio>
#include <functional>
#include <initializer_list>
#include <utility>

namespace sluice::http {
namespace {

std::string seconds_of(duration length) {
  char text[32];
  const double seconds = std::chrono::duration<double>(length).count();
  std::snprintf(text, sizeof text, "%.6g s", seconds);
  return text;
}

answer_bounds bounds_of(const request& what, const curl_options& options) noexcept {
  return {.max_body = what.max_body,
          .buffer = options.read_buffer,
          .max_head = options.max_header_bytes,
          .only_http2 = options.version == http_version::http2};
}

// The two ends of a connection as one number, not zero.
std::size_t number_of(std::initializer_list<const char*> addresses, int peer_port, int port) noexcept {
  std::size_t number = static_cast<std::size_t>(peer_port) << 16 | static_cast<std::size_t>(port);
  for (const char* const one : addresses) {
    if (one != nullptr) number = number * 31 + std::hash<std::string_view>{}(one);
  }
  return number | 1;
}

exchange* owner_of(void* handle) noexcept { return static_cast<easy_handle*>(handle)->owner(); }

}  // namespace

exchange::exchange(std::shared_ptr<curl_engine> engine, request what)
    : engine_(std::move(engine)), request_(std::move(what)), answer_(bounds_of(request_, engine_->options())) {}

exchange::~exchange() {
  auto held = engine_->lock();
  engine_->unmark_ready(*this);
  if (request_.stop) request_.stop->detach(*this);
  if (!is_running()) return;
  engine_->stop(held, *this, std::nullopt);
  engine_->settle(std::move(held), false);
}

std::optional<error> exchange::begin() {
  auto held = engine_->lock();
  if (!engine_->is_open(held)) return error(errc::cancelled, peer() + ": the transport is closed");
  if (is_stopped()) return stop_error();
  if (engine_->options().version == http_version::http2 && !is_tls(request_.url())) {
    return error(errc::invalid_argument, peer() + ": curl_options::version insists on HTTP/2, which needs https://");
  }
  times_.begun = engine_->now();
  if (request_.limits.deadline <= times_.begun) {
    return error(errc::deadline_exceeded, peer() + ": the deadline passed before anything was sent");
  }
  limits_ = limit_clock(request_.limits, times_.begun);
  engine_->start(held, *this);
  watch_limits();
  engine_->settle(std::move(held), false);
  if (request_.stop) request_.stop->attach(weak_from_this());
  return std::nullopt;
}

asio::awaitable<void> exchange::wait(stage what) {
  const auto initiate = [this, what](auto self) { suspend(what, std::move(self)); };
  return asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
}

void exchange::suspend(stage what, resumption self) {
  const asio::any_io_executor own = asio::get_associated_executor(self);
  if (auto slot = asio::get_associated_cancellation_slot(self); slot.is_connected()) {
    slot.assign([weak = weak_from_this()](asio::cancellation_type kind) {
      const auto alive = weak.lock();
      if (!alive || kind == asio::cancellation_type::none) return;
      auto held = alive->engine_->lock();
      if (!alive->waiter_ || alive->is_ready_) return;
      alive->engine_->stop(held, *alive, error(errc::cancelled, alive->peer() + ": cancelled"));
      alive->engine_->settle(std::move(held), false);
    });
  }
  auto held = engine_->lock();
  if (has_now(what)) {
    held.unlock();
    asio::post(own, std::move(self));
    return;
  }
  wanted_ = what;
  waiter_.emplace(std::move(self));
  waiter_work_ = asio::prefer(own, asio::execution::outstanding_work.tracked);
  if (!engine_->lives_in_context_of(own)) attach(own);
}

resumption exchange::take_waiter() noexcept {
  resumption self(std::move(*waiter_));
  waiter_.reset();
  waiter_work_ = {};
  detach();
  return self;
}

bool exchange::has_now(stage what) const noexcept {
  return ended_ || (what == stage::head ? answer_.has_head() : answer_.has_body());
}

bool exchange::has(stage what) {
  const auto held = engine_->lock();
  return has_now(what);
}

std::optional<error> exchange::head_failure() {
  const auto held = engine_->lock();
  if (!failure_ && is_stopped()) return stop_error();
  const bool lost = failure_ && (!answer_.has_head() || failure_->is(errc::cancelled));
  return lost ? failure_ : std::nullopt;
}

std::optional<expected<std::string, error>> exchange::take_body() {
  auto held = engine_->lock();
  if (failure_ && failure_->is(errc::cancelled)) return unexpected(*failure_);
  if (is_stopped()) return unexpected(stop_error());
  if (answer_.has_body()) {
    auto bytes = answer_.take_body();
    if (paused_ && is_running()) {
      paused_ = false;
      limits_.received(engine_->now());
      watch_limits();
      engine_->resume_reading(held, *this);
      engine_->settle(std::move(held), false);
    }
    return bytes;
  }
  if (!ended_) return std::nullopt;
  if (failure_) return unexpected(*failure_);
  end_was_read_ = true;
  return std::string();
}

error exchange::explain(CURLcode result) const {
  if (refused_) return {answer_.refusal_kind(), peer() + ": " + answer_.refusal()};
  transfer_end end;
  end.result = result;
  end.connected = is_connected();
  end.has_head = answer_.has_head();
  end.maybe_http2 = maybe_http2();
  end.received = answer_.received();
  end.detail = easy_->detail();
  curl_easy_getinfo(easy_->get(), CURLINFO_HTTP_CONNECTCODE, &end.proxy_status);
  return transfer_error(end, peer());
}

bool exchange::maybe_http2() const noexcept {
  return connection_ != 0 && engine_->options().version != http_version::http1_1;
}

std::string exchange::peer() const { return origin_of(request_.url()) + engine_->route(); }

// The stream is reset by libcurl itself as soon as the callback is left.
void exchange::refuse() noexcept {
  refused_ = true;
  easy_->leave_no_connection();
}

void exchange::end(std::optional<error> failure) noexcept {
  easy_ = nullptr;
  ended_ = true;
  failure_ = std::move(failure);
  engine_->time().disarm(*this);
  wake_if_satisfied();
}

void exchange::wake_if_satisfied() noexcept {
  if (waiter_ && has_now(wanted_)) engine_->mark_ready(*this);
}

// Later limits need no new alarm: an alarm that comes too early only looks again.
void exchange::watch_limits() {
  const instant next = limits_.next();
  if (next >= armed_for_) return;
  armed_for_ = next;
  engine_->time().arm(*this, next);
}

// Without the engine's lock, so that disarming under it cannot wait for itself.
void exchange::due(instant) noexcept {
  if (auto self = weak_from_this().lock()) {
    asio::post(engine_->executor(), [self = std::move(self)] { self->check_limits(); });
  }
}

void exchange::check_limits() {
  auto held = engine_->lock();
  if (!is_running()) return;
  armed_for_ = never;
  const errc which = limits_.passed(engine_->now());
  if (which == errc::ok) return watch_limits();
  engine_->stop(held, *this, limit_error(which));
  engine_->settle(std::move(held), true);
}

error exchange::limit_error(errc which) const {
  const std::string length = seconds_of(limits_.length_of(which));
  std::string message = peer();
  switch (which) {
    case errc::connect_timeout: message += ": no connection within limits.connect (" + length + ")"; break;
    case errc::first_byte_timeout: message += ": no answer within limits.first_byte (" + length + ")"; break;
    case errc::idle_timeout: message += ": silent for limits.idle (" + length + ")"; break;
    case errc::total_timeout: message += ": not finished within limits.total (" + length + ")"; break;
    default: message += ": the deadline passed after " + length; break;
  }
  if (!is_connected()) {
    message += " while connecting";
  } else if (!answer_.has_head()) {
    message += " while waiting for the answer";
  } else {
    message += " after " + grouped(answer_.received()) + " bytes of the body";
  }
  return {which, std::move(message)};
}

// The coroutine's own context dies before the engine's: nothing of it may stay here.
void exchange::context_gone() noexcept {
  std::optional<resumption> dropped;
  auto held = engine_->lock();
  engine_->unmark_ready(*this);
  if (waiter_) dropped.emplace(take_waiter());
  if (is_running()) engine_->stop(held, *this, error(errc::cancelled, "the caller's context was destroyed"));
  engine_->settle(std::move(held), false);
}

// Also while nobody waits: what nobody reads is held against the provider's limits all the same.
void exchange::on_stop() noexcept {
  auto held = engine_->lock();
  if (!is_running()) return;
  engine_->stop(held, *this, stop_error());
  engine_->settle(std::move(held), false);
}

bool exchange::is_stopped() const noexcept {
  return request_.stop && !end_was_read_ && request_.stop->stopped() != stop_cause::none;
}

error exchange::stop_error() const { return {errc::cancelled, peer() + ": the exchange was stopped"}; }

std::size_t exchange::on_body(char* bytes, std::size_t one, std::size_t count, void* handle) noexcept try {
  exchange* const self = owner_of(handle);
  if (self == nullptr) return 0;
  const std::string_view part(bytes, one * count);
  if (self->is_given_up_) return part.size();
  switch (self->answer_.add_body(part)) {
    case answer::verdict::taken:
      self->limits_.received(self->engine_->now());
      self->wake_if_satisfied();
      if (self->maybe_http2()) {
        self->burst_ += part.size();
        self->engine_->mark_touched(*self);
      }
      return part.size();
    case answer::verdict::full:
      self->paused_ = true;
      self->limits_.paused();
      return CURL_WRITEFUNC_PAUSE;
    case answer::verdict::refused: break;
  }
  self->refuse();
  return part.empty() ? 1 : 0;
} catch (...) {
  return 0;
}

std::size_t exchange::on_head_line(char* bytes, std::size_t one, std::size_t count, void* handle) noexcept try {
  exchange* const self = owner_of(handle);
  if (self == nullptr) return 0;
  const std::string_view line(bytes, one * count);
  const bool first = !self->answer_.has_head();
  if (self->times_.first_byte == never) self->times_.first_byte = self->engine_->now();
  if (self->answer_.add_head_line(line) == answer::verdict::refused) {
    self->refuse();
    return 0;
  }
  if (first) {
    self->limits_.received(self->engine_->now());
    self->watch_limits();
    self->wake_if_satisfied();
  }
  return line.size();
} catch (...) {
  return 0;
}

int exchange::on_connected(void* handle, char* peer_address, char* address, int peer_port, int port) noexcept try {
  exchange* const self = owner_of(handle);
  if (self == nullptr) return CURL_PREREQFUNC_ABORT;
  self->times_.connected = self->engine_->now();
  self->limits_.connected(self->times_.connected);
  if (is_tls(self->request_.url())) self->connection_ = number_of({peer_address, address}, peer_port, port);
  self->watch_limits();
  return CURL_PREREQFUNC_OK;
} catch (...) {
  return CURL_PREREQFUNC_ABORT;
}

curl_socket_t exchange::on_open_socket(void* handle, curlsocktype, curl_sockaddr* address) noexcept {
  exchange* const self = owner_of(handle);
  if (self == nullptr) return CURL_SOCKET_BAD;
  if (self->is_connected()) {
    // A kept-alive connection turned out to be dead: libcurl makes a new one.
    self->times_.connected = never;
    self->limits_.connecting(self->engine_->now());
  }
  const curl_socket_t socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (socket != CURL_SOCKET_BAD) self->engine_->socket_opened(socket);
  return socket;
}

}  // namespace sluice::http
