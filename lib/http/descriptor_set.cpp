#include "http/descriptor_set.hpp"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace sluice::http {
namespace {

std::uint32_t events_of(int directions) noexcept {
  return ((directions & CURL_CSELECT_IN) != 0 ? std::uint32_t{EPOLLIN} : 0u) |
         ((directions & CURL_CSELECT_OUT) != 0 ? std::uint32_t{EPOLLOUT} : 0u);
}

int directions_of(std::uint32_t events) noexcept {
  return ((events & (EPOLLIN | EPOLLHUP)) != 0 ? CURL_CSELECT_IN : 0) |
         ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) | ((events & EPOLLERR) != 0 ? CURL_CSELECT_ERR : 0);
}

}  // namespace

descriptor_set::descriptor_set() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::system_error(errno, std::system_category(), "epoll_create1");
}

descriptor_set::~descriptor_set() { ::close(epoll_); }

bool descriptor_set::set(int socket, std::uint32_t events, entry& what) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.fd = socket;
  // What the kernel has is the truth: a closed socket's entry is gone, whatever is noted here.
  const bool known = what.registered != 0;
  int result = ::epoll_ctl(epoll_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
  if (result != 0 && errno == (known ? ENOENT : EEXIST)) {
    result = ::epoll_ctl(epoll_, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
  }
  what.registered = result == 0 ? events : 0;
  return result == 0;
}

bool descriptor_set::want(int socket, int directions) {
  const auto index = static_cast<std::size_t>(socket);
  if (index >= entries_.size()) entries_.resize(index + 1);
  entry& what = entries_[index];
  const bool rested = what.wanted == 0;
  what.wanted = directions;
  const std::uint32_t events = events_of(directions);
  if (!rested && what.registered == events) return true;
  return set(socket, events, what);
}

void descriptor_set::rest(int socket) noexcept {
  const auto index = static_cast<std::size_t>(socket);
  if (index < entries_.size()) entries_[index].wanted = 0;
}

void descriptor_set::forget(int socket) noexcept {
  const auto index = static_cast<std::size_t>(socket);
  if (index >= entries_.size()) return;
  if (entries_[index].registered != 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
  entries_[index] = {};
}

void descriptor_set::renew(int socket) noexcept {
  const auto index = static_cast<std::size_t>(socket);
  if (index >= entries_.size()) return;
  entry& what = entries_[index];
  what.registered = 0;
  if (what.wanted != 0) static_cast<void>(set(socket, events_of(what.wanted), what));
}

std::span<const descriptor_set::ready> descriptor_set::poll() {
  std::array<epoll_event, most> events;
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(most), 0);
  std::size_t kept = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const int socket = event.data.fd;
    // An idle connection's end would be told for ever.
    if (entries_[static_cast<std::size_t>(socket)].wanted == 0) {
      forget(socket);
    } else {
      ready_[kept++] = {socket, directions_of(event.events)};
    }
  }
  return {ready_.data(), kept};
}

bool descriptor_set::is_wanted(int socket, int directions) const noexcept {
  const auto index = static_cast<std::size_t>(socket);
  const int asked = (directions & CURL_CSELECT_ERR) != 0 ? CURL_CSELECT_IN | CURL_CSELECT_OUT : directions;
  return index < entries_.size() && (entries_[index].wanted & asked) != 0;
}

}  // namespace sluice::http
