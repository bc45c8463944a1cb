/// \file
/// What sluice's transport is measured against: curl's multi interface driven by bare epoll, and nothing else.
#pragma once

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace reference {

/// Posts `body` to `url` again and again, `at_once` at a time, each on a connection that is kept; every answer's body
/// is collected in a string, as anyone does who wants to read it.
class epoll_client {
 public:
  epoll_client(std::string url, std::string body, std::size_t at_once)
      : url_(std::move(url)), body_(std::move(body)), calls_(at_once) {
    poller_ = ::epoll_create1(EPOLL_CLOEXEC);
    multi_ = ::curl_multi_init();
    ::curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &epoll_client::on_socket);
    ::curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    ::curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &epoll_client::on_timer);
    ::curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    headers_ = ::curl_slist_append(headers_, "Content-Type: application/json");
    headers_ = ::curl_slist_append(headers_, "Expect:");
    for (call& each : calls_) prepare(each);
  }
  epoll_client(const epoll_client&) = delete;
  epoll_client& operator=(const epoll_client&) = delete;
  ~epoll_client() {
    for (call& each : calls_) {
      ::curl_multi_remove_handle(multi_, each.easy);
      ::curl_easy_cleanup(each.easy);
    }
    ::curl_multi_cleanup(multi_);
    ::curl_slist_free_all(headers_);
    ::close(poller_);
  }

  /// Makes `requests` exchanges; aborts when one fails or has another length than `expected`.
  void run(std::size_t requests, std::size_t expected) {
    left_to_start_ = requests;
    left_to_end_ = requests;
    expected_ = expected;
    for (call& each : calls_) start(each);
    while (left_to_end_ > 0) turn();
  }

 private:
  using clock = std::chrono::steady_clock;
  using time_point = clock::time_point;

  struct call {
    CURL* easy = nullptr;
    std::string received;
  };

  void prepare(call& which) {
    which.easy = ::curl_easy_init();
    ::curl_easy_setopt(which.easy, CURLOPT_URL, url_.c_str());
    ::curl_easy_setopt(which.easy, CURLOPT_POSTFIELDS, body_.c_str());
    ::curl_easy_setopt(which.easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(body_.size()));
    ::curl_easy_setopt(which.easy, CURLOPT_HTTPHEADER, headers_);
    ::curl_easy_setopt(which.easy, CURLOPT_WRITEFUNCTION, &epoll_client::on_body);
    ::curl_easy_setopt(which.easy, CURLOPT_WRITEDATA, &which.received);
    ::curl_easy_setopt(which.easy, CURLOPT_PRIVATE, &which);
    ::curl_easy_setopt(which.easy, CURLOPT_NOSIGNAL, 1L);
  }

  void start(call& which) {
    if (left_to_start_ == 0) return;
    --left_to_start_;
    which.received.clear();
    ::curl_multi_add_handle(multi_, which.easy);
  }

  void turn() {
    epoll_event ready[64];
    const int count = ::epoll_wait(poller_, ready, 64, milliseconds_left());
    int running = 0;
    if (milliseconds_left() == 0) {
      wake_at_ = time_point::max();
      ::curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (int n = 0; n < count; ++n) {
      const int events = ((ready[n].events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                         ((ready[n].events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                         ((ready[n].events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
      ::curl_multi_socket_action(multi_, ready[n].data.fd, events, &running);
    }
    collect();
  }

  void collect() {
    int left = 0;
    while (CURLMsg* message = ::curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode result = message->data.result;
      call* which = nullptr;
      ::curl_easy_getinfo(easy, CURLINFO_PRIVATE, &which);
      ::curl_multi_remove_handle(multi_, easy);
      if (result != CURLE_OK || which->received.size() != expected_) std::abort();
      --left_to_end_;
      start(*which);
    }
  }

  // No timer of the kernel's: the wait itself ends when curl wants to be called.
  [[nodiscard]] int milliseconds_left() const {
    if (wake_at_ == time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake_at_ - clock::now()).count();
    return left < 0 ? 0 : static_cast<int>(left);
  }

  void watch(int fd, int how, std::uint32_t events) {
    epoll_event wanted{};
    wanted.events = events;
    wanted.data.fd = fd;
    ::epoll_ctl(poller_, how, fd, &wanted);
  }

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known) {
    auto& own = *static_cast<epoll_client*>(self);
    if (what == CURL_POLL_REMOVE) {
      own.watch(fd, EPOLL_CTL_DEL, 0);
      return 0;
    }
    const std::uint32_t events = ((what & CURL_POLL_IN) != 0 ? std::uint32_t{EPOLLIN} : 0U) |
                                 ((what & CURL_POLL_OUT) != 0 ? std::uint32_t{EPOLLOUT} : 0U);
    own.watch(fd, known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, events);
    if (known == nullptr) ::curl_multi_assign(own.multi_, fd, self);
    return 0;
  }

  static int on_timer(CURLM*, long milliseconds, void* self) {
    static_cast<epoll_client*>(self)->wake_at_ =
        milliseconds < 0 ? time_point::max() : clock::now() + std::chrono::milliseconds(milliseconds);
    return 0;
  }

  static std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* received) {
    static_cast<std::string*>(received)->append(bytes, count);
    return count;
  }

  std::string url_;
  std::string body_;
  std::vector<call> calls_;
  int poller_ = -1;
  time_point wake_at_ = time_point::max();
  CURLM* multi_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::size_t left_to_start_ = 0;
  std::size_t left_to_end_ = 0;
  std::size_t expected_ = 0;
};

}  // namespace reference
