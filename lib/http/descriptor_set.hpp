/// \file
/// `descriptor_set`: the descriptors that libcurl wants to be told about, in an epoll instance of their own.
///
/// libcurl owns them, and closes some without a word, or before it takes them back; by then the number may belong to
/// somebody else's socket. In the loop's own epoll instance, taking such a number out would silence that other socket.
/// In here it is in nobody's way: the kernel takes out what is closed, and an attempt to do so again finds nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::http {

class descriptor_set {
 public:
  /// Ready in these directions (`CURL_CSELECT_IN`, `CURL_CSELECT_OUT`, `CURL_CSELECT_ERR`).
  struct ready {
    int socket = -1;
    int directions = 0;
  };

  /// Throws `std::system_error` when the system has no descriptor left.
  descriptor_set();
  ~descriptor_set();
  descriptor_set(const descriptor_set&) = delete;
  descriptor_set& operator=(const descriptor_set&) = delete;

  /// Readable when a descriptor is ready. Stays owned by the set.
  [[nodiscard]] int native_handle() const noexcept { return epoll_; }

  /// Tells about `socket` from now on; false when the system refuses.
  [[nodiscard]] bool want(int socket, int directions);
  /// Does not tell about it any more. It may be closed already; if not, it may well be wanted again, so it stays in
  /// until it has something to tell.
  void rest(int socket) noexcept;
  /// Takes it out. It is open still.
  void forget(int socket) noexcept;
  /// The number stands for a new socket; what was wanted of the old one is wanted of it.
  void renew(int socket) noexcept;

  /// Those that are ready now, without waiting; valid until the next call.
  [[nodiscard]] std::span<const ready> poll();
  /// Whether it is still wanted in one of `directions`.
  [[nodiscard]] bool is_wanted(int socket, int directions) const noexcept;

 private:
  struct entry {
    std::uint32_t registered = 0;
    int wanted = 0;
  };

  [[nodiscard]] bool set(int socket, std::uint32_t events, entry& what) noexcept;

  // What one exchange touches, on its way through libcurl and back to its coroutine, is some 40 KiB. As many as fit the
  // processor's own cache are taken through all of their steps before the next ones.
  static constexpr std::size_t most = 16;

  int epoll_;
  std::vector<entry> entries_;
  std::array<ready, most> ready_{};
};

}  // namespace sluice::http
