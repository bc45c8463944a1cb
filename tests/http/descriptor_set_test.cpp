#include "http/descriptor_set.hpp"

#include <curl/curl.h>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

using sluice::http::descriptor_set;

namespace {

constexpr int in = CURL_CSELECT_IN;
constexpr int out = CURL_CSELECT_OUT;

// Two connected sockets; what is told to `far` is heard at `near`.
class wire {
 public:
  wire() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0); }
  ~wire() {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;

  [[nodiscard]] int near() const { return ends_[0]; }
  void tell() const { REQUIRE(::write(ends_[1], "x", 1) == 1); }
  void close_near() { ::close(std::exchange(ends_[0], -1)); }
  void close_far() { ::close(std::exchange(ends_[1], -1)); }
  /// Closes `near` and opens the end of `other` under its number, as the kernel does for the next socket.
  void become(const wire& other) { REQUIRE(::dup2(other.near(), ends_[0]) == ends_[0]); }

 private:
  int ends_[2] = {-1, -1};
};

int told_of(descriptor_set& set, int socket) {
  for (const auto& one : set.poll()) {
    if (one.socket == socket) return one.directions;
  }
  return 0;
}

bool is_readable(int descriptor) {
  pollfd what{descriptor, POLLIN, 0};
  return ::poll(&what, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a descriptor is told of while it is wanted and ready, in the directions that are wanted") {
  descriptor_set set;
  wire a;
  REQUIRE(set.want(a.near(), in));
  CHECK(told_of(set, a.near()) == 0);
  CHECK_FALSE(is_readable(set.native_handle()));
  a.tell();
  CHECK(is_readable(set.native_handle()));
  CHECK(told_of(set, a.near()) == in);
  CHECK(told_of(set, a.near()) == in);
  REQUIRE(set.want(a.near(), in | out));
  CHECK(told_of(set, a.near()) == (in | out));
  REQUIRE(set.want(a.near(), out));
  CHECK(told_of(set, a.near()) == out);
  CHECK(set.is_wanted(a.near(), out));
  CHECK_FALSE(set.is_wanted(a.near(), in));
  CHECK(set.is_wanted(a.near(), CURL_CSELECT_ERR));
}

TEST_CASE("a resting descriptor is not told of, and comes back") {
  descriptor_set set;
  wire a;
  REQUIRE(set.want(a.near(), in));
  set.rest(a.near());
  a.tell();
  CHECK(told_of(set, a.near()) == 0);
  // What it had to tell has taken it out, or it would be told for ever.
  CHECK_FALSE(is_readable(set.native_handle()));
  REQUIRE(set.want(a.near(), in));
  CHECK(told_of(set, a.near()) == in);
}

TEST_CASE("the end of an idle connection is told once, and does not keep the loop awake") {
  descriptor_set set;
  wire a;
  REQUIRE(set.want(a.near(), in));
  set.rest(a.near());
  a.close_far();
  CHECK(is_readable(set.native_handle()));
  CHECK(set.poll().empty());
  CHECK_FALSE(is_readable(set.native_handle()));
}

TEST_CASE("a number that became another socket while it rested is watched as that one") {
  descriptor_set set;
  wire a;
  wire b;
  REQUIRE(set.want(a.near(), in));
  set.rest(a.near());
  a.become(b);
  b.tell();
  CHECK(told_of(set, a.near()) == 0);
  REQUIRE(set.want(a.near(), in));
  CHECK(told_of(set, a.near()) == in);
}

TEST_CASE("a number that became another socket while it was wanted is watched again when renewed") {
  descriptor_set set;
  wire a;
  wire b;
  REQUIRE(set.want(a.near(), in));
  a.become(b);
  set.renew(a.near());
  b.tell();
  CHECK(told_of(set, a.near()) == in);
}

TEST_CASE("taking out what is closed, or was never in, does no harm to others") {
  descriptor_set set;
  wire a;
  wire b;
  const int number = a.near();
  REQUIRE(set.want(number, in));
  REQUIRE(set.want(b.near(), in));
  a.close_near();
  set.rest(number);
  set.forget(number);
  set.forget(number);
  set.forget(1'000'000);
  set.rest(1'000'000);
  set.renew(1'000'000);
  CHECK_FALSE(set.is_wanted(1'000'000, in));
  b.tell();
  CHECK(told_of(set, b.near()) == in);
}

TEST_CASE("a closed descriptor cannot be wanted") {
  descriptor_set set;
  wire a;
  const int number = a.near();
  a.close_near();
  CHECK_FALSE(set.want(number, in));
}
