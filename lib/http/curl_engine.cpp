#include "http/curl_engine.hpp"

#include "http/curl_error.hpp"
#include "http/easy_handle.hpp"
#include "http/exchange.hpp"
#include "http/proxy_address.hpp"
#include "http/resume.hpp"

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::http {
namespace {

using steady = std::chrono::steady_clock;

error setup_error(const char* what) { return {errc::invalid_configuration, std::string("libcurl: ") + what}; }

void set_up_libcurl_once() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) throw error_exception(setup_error(curl_easy_strerror(result)));
}

std::string route_of(const curl_options& options) {
  if (!options.unix_socket.empty()) return " over " + options.unix_socket;
  if (options.proxy.empty() || options.proxy == "none") return {};
  return " through the proxy " + proxy_origin(options.proxy);
}

}  // namespace

std::shared_ptr<curl_engine> curl_engine::make(const asio::any_io_executor& executor, time_source& time,
                                               curl_options options) {
  if (auto valid = validate(options); !valid) throw error_exception(std::move(valid).error());
  set_up_libcurl_once();
  std::shared_ptr<curl_engine> engine(new curl_engine(executor, time, std::move(options)));
  engine->open();
  return engine;
}

curl_engine::curl_engine(const asio::any_io_executor& executor, time_source& time, curl_options options)
    : executor_(executor),
      time_(time),
      options_(std::move(options)),
      route_(route_of(options_)),
      known_addresses_(options_.resolve),
      known_address_list_(known_addresses_.link()),
      sockets_ready_(std::in_place, executor, sockets_.native_handle()),
      timer_(std::in_place, executor) {}

curl_engine::~curl_engine() {
  close();
  // Without `open` there was nothing to close, but the set keeps its descriptor to itself.
  if (sockets_ready_) sockets_ready_->release();
}

void curl_engine::open() {
  multi_ = curl_multi_init();
  if (multi_ == nullptr) throw error_exception(setup_error("no memory"));
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &curl_engine::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &curl_engine::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, options_.max_idle_connections);
  // How much runs at once is decided by admission; here it would only be hidden waiting.
  const long streams = options_.max_streams_per_connection;
  constexpr long unlimited = std::numeric_limits<std::int32_t>::max();
  curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, streams == 0 ? unlimited : std::min(streams, unlimited));
  attach(executor_);
}

bool curl_engine::lives_in_context_of(const asio::any_io_executor& other) const noexcept {
  return &asio::query(executor_, asio::execution::context) == &asio::query(other, asio::execution::context);
}

// ------------------------------------------------------------------------------------------------ the end

void curl_engine::close() noexcept {
  detach();
  shut(farewell::resume_all);
}

void curl_engine::context_gone() noexcept { shut(farewell::drop_own); }

void curl_engine::shut(farewell how) noexcept {
  std::vector<resumption> dropped;
  guard held = lock();
  if (multi_ == nullptr) return;
  while (!running_.empty()) stop(held, *running_.back(), error(errc::cancelled, "the transport was closed"));
  idle_handles_.clear();
  handles_.clear();
  curl_multi_cleanup(std::exchange(multi_, nullptr));
  sockets_ready_->release();
  sockets_ready_.reset();
  timer_.reset();
  exchange* next = first_ready_;
  while (how == farewell::drop_own && next != nullptr) {
    exchange& what = *std::exchange(next, next->next_ready_);
    if (!lives_in_context_of(asio::get_associated_executor(*what.waiter_))) continue;
    unmark_ready(what);
    dropped.push_back(what.take_waiter());
  }
  resume_ready(held, false);
}

// ------------------------------------------------------------------------------------------------ exchanges

void curl_engine::start(const guard&, exchange& what) {
  if (idle_handles_.empty()) {
    handles_.push_back(std::make_unique<easy_handle>(*this));
    idle_handles_.push_back(handles_.back().get());
  }
  easy_handle& easy = *idle_handles_.back();
  easy.carry(what, what.request_);
  running_.reserve(running_.size() + 1);
  if (const CURLMcode result = curl_multi_add_handle(multi_, easy.get()); result != CURLM_OK) {
    easy.let_go();
    throw error_exception(setup_error(curl_multi_strerror(result)));
  }
  idle_handles_.pop_back();
  what.easy_ = &easy;
  what.place_ = running_.size();
  running_.push_back(&what);
  kick_ = true;
}

void curl_engine::stop(const guard&, exchange& what, std::optional<error> failure) noexcept {
  if (what.is_running()) release_handle(what, false);
  what.end(std::move(failure));
}

void curl_engine::release_handle(exchange& what, bool clean) noexcept {
  easy_handle& easy = *what.easy_;
  if (!clean) easy.leave_no_connection();
  // libcurl 7.88 loses the memory of what it held back for a stream that leaves others on its connection.
  if (std::exchange(what.paused_, false)) {
    what.is_given_up_ = true;
    curl_easy_pause(easy.get(), CURLPAUSE_CONT);
  }
  curl_multi_remove_handle(multi_, easy.get());
  easy.let_go();
  running_.back()->place_ = what.place_;
  running_[what.place_] = running_.back();
  running_.pop_back();
  if (std::exchange(what.is_touched_, false)) std::erase(touched_, &what);
  if (!clean) flush_connection_of(what);
  constexpr std::size_t spare = 1024;
  if (clean && idle_handles_.size() < spare) {
    idle_handles_.push_back(&easy);
    return;
  }
  const auto found =
      std::find_if(handles_.begin(), handles_.end(), [&](const auto& one) { return one.get() == &easy; });
  std::swap(*found, handles_.back());
  handles_.pop_back();
}

// libcurl 7.88 writes the reset of an HTTP/2 stream into a buffer, which waits for whatever the connection sends next.
// Until then the server works on. A connection that others share is made to send by touching one of them.
void curl_engine::flush_connection_of(const exchange& what) noexcept {
  if (what.connection_ == 0) return;
  exchange* other = nullptr;
  for (exchange* const one : running_) {
    if (one->connection_ != what.connection_) continue;
    other = one;
    if (!one->paused_) break;
  }
  if (other == nullptr) return;
  touch(*other);
}

// Makes libcurl send what is buffered for its connection, and look for more to receive.
void curl_engine::touch(exchange& what) noexcept {
  CURL* const easy = what.easy_->get();
  // Only a change is acted upon.
  if (!std::exchange(what.paused_, false)) curl_easy_pause(easy, CURLPAUSE_SEND);
  curl_easy_pause(easy, CURLPAUSE_CONT);
}

void curl_engine::resume_reading(const guard&, exchange& what) { curl_easy_pause(what.easy_->get(), CURLPAUSE_CONT); }

void curl_engine::collect() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;
    exchange& what = *easy_handle::of(message->easy_handle).owner();
    std::optional<error> failure;
    if (result != CURLE_OK || !what.received().has_head()) {
      // libcurl finds nothing wrong with a head that breaks off.
      failure = what.explain(result == CURLE_OK ? CURLE_PARTIAL_FILE : result);
    }
    release_handle(what, result == CURLE_OK);
    what.end(std::move(failure));
  }
}

void curl_engine::mark_ready(exchange& what) noexcept {
  if (std::exchange(what.is_ready_, true)) return;
  what.next_ready_ = nullptr;
  (last_ready_ != nullptr ? last_ready_->next_ready_ : first_ready_) = &what;
  last_ready_ = &what;
}

void curl_engine::unmark_ready(exchange& what) noexcept {
  if (!std::exchange(what.is_ready_, false)) return;
  exchange* before = nullptr;
  for (exchange* at = first_ready_; at != &what; at = at->next_ready_) before = at;
  (before != nullptr ? before->next_ready_ : first_ready_) = what.next_ready_;
  if (last_ready_ == &what) last_ready_ = before;
}

void curl_engine::resume_ready(guard& held, bool in_place) {
  while (first_ready_ != nullptr) {
    exchange& what = *first_ready_;
    unmark_ready(what);
    resumption self = what.take_waiter();
    held.unlock();
    resume(std::move(self), in_place);
    held = lock();
  }
}

// ------------------------------------------------------------------------------------------------ driving libcurl

void curl_engine::act(curl_socket_t socket, int directions) {
  now_ = never;
  int running = 0;
  curl_multi_socket_action(multi_, socket, directions, &running);
  run_due();
  run_bursting();
}

// libcurl may ask for the next step at once; a bound, so that one that always asks cannot hold the loop.
void curl_engine::run_due() {
  int running = 0;
  for (int turns = 0; kick_ && turns < 4; ++turns) {
    kick_ = false;
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

// Over HTTP/2, when more than its buffer holds came at once for one stream, libcurl 7.88 forgets to look at what it
// has read already but not handed out: the end of an answer would wait for a sign of life of the connection that never
// comes. So a stream that has had such a burst is looked at again whenever something has come.
void curl_engine::run_bursting() {
  constexpr std::size_t burst = std::size_t{8} << 10;
  for (int turns = 0; !touched_.empty() && turns < 4; ++turns) {
    bursting_.swap(touched_);
    for (exchange* const one : bursting_) {
      one->is_touched_ = false;
      one->had_burst_ = one->had_burst_ || one->burst_ >= burst;
      one->burst_ = 0;
      if (one->had_burst_ && !one->paused_) touch(*one);
    }
    bursting_.clear();
    run_due();
  }
  kick_ = kick_ || !touched_.empty();
}

void curl_engine::mark_touched(exchange& what) {
  if (what.is_touched_) return;
  touched_.push_back(&what);
  what.is_touched_ = true;
}

void curl_engine::settle(guard held, bool in_place) {
  if (multi_ != nullptr) {
    collect();
    wait_for_sockets();
    arm_timer();
    post_kick();
  }
  resume_ready(held, in_place);
}

void curl_engine::on_ready() {
  guard held = lock();
  waiting_for_sockets_ = false;
  if (multi_ == nullptr) return;
  for (const auto& [socket, directions] : sockets_.poll()) {
    // An earlier one's step may have closed a later one.
    if (sockets_.is_wanted(socket, directions)) act(socket, directions);
  }
  settle(std::move(held), true);
}

void curl_engine::wait_for_sockets() {
  // With nothing on its way, a pending wait would only keep the context's run() from returning.
  if (running_.empty()) {
    if (waiting_for_sockets_) sockets_ready_->cancel();
    return;
  }
  if (std::exchange(waiting_for_sockets_, true)) return;
  sockets_ready_->async_wait(asio::posix::stream_descriptor::wait_read,
                             [self = shared_from_this()](const asio::error_code&) { self->on_ready(); });
}

void curl_engine::on_kick() {
  guard held = lock();
  kick_posted_ = false;
  if (multi_ == nullptr || !kick_) return;
  kick_ = false;
  act(CURL_SOCKET_TIMEOUT, 0);
  settle(std::move(held), true);
}

void curl_engine::post_kick() {
  if (!kick_ || kick_posted_) return;
  kick_posted_ = true;
  asio::post(executor_, [self = shared_from_this()] { self->on_kick(); });
}

void curl_engine::on_timer_due(std::uint64_t generation) {
  guard held = lock();
  if (multi_ == nullptr || generation != timer_generation_) return;
  timer_due_ = steady::time_point::max();
  if (curl_due_ <= steady::now()) {
    curl_due_ = steady::time_point::max();
    act(CURL_SOCKET_TIMEOUT, 0);
  }
  settle(std::move(held), true);
}

void curl_engine::arm_timer() {
  if (curl_due_ == steady::time_point::max() || running_.empty()) {
    if (running_.empty()) stop_timer();
    return;
  }
  if (curl_due_ >= timer_due_) return;
  timer_due_ = curl_due_;
  timer_->expires_at(timer_due_);
  timer_->async_wait([self = shared_from_this(), generation = ++timer_generation_](const asio::error_code&) {
    self->on_timer_due(generation);
  });
}

void curl_engine::stop_timer() noexcept {
  if (timer_due_ == steady::time_point::max()) return;
  timer_due_ = steady::time_point::max();
  ++timer_generation_;
  timer_->cancel();
}

// ------------------------------------------------------------------------------------------------ descriptors

int curl_engine::on_socket(CURL*, curl_socket_t socket, int what, void* engine, void*) noexcept try {
  descriptor_set& sockets = static_cast<curl_engine*>(engine)->sockets_;
  switch (what) {
    case CURL_POLL_IN: return sockets.want(socket, CURL_CSELECT_IN) ? 0 : -1;
    case CURL_POLL_OUT: return sockets.want(socket, CURL_CSELECT_OUT) ? 0 : -1;
    case CURL_POLL_INOUT: return sockets.want(socket, CURL_CSELECT_IN | CURL_CSELECT_OUT) ? 0 : -1;
    default: sockets.rest(socket); return 0;
  }
} catch (...) {
  return -1;
}

int curl_engine::on_timer(CURLM*, long milliseconds, void* engine) noexcept {
  auto& self = *static_cast<curl_engine*>(engine);
  self.kick_ = milliseconds == 0;
  self.curl_due_ =
      milliseconds > 0 ? steady::now() + std::chrono::milliseconds(milliseconds) : steady::time_point::max();
  return 0;
}

int curl_engine::on_close_socket(void* engine, curl_socket_t socket) noexcept {
  static_cast<curl_engine*>(engine)->sockets_.forget(socket);
  return ::close(socket);
}

}  // namespace sluice::http
