#include "http/answer.hpp"

#include <doctest/doctest.h>

using sluice::http::answer;
using verdict = answer::verdict;

namespace {

void feed(answer& to, std::initializer_list<std::string_view> lines) {
  for (const auto line : lines) REQUIRE(to.add_head_line(line) == verdict::taken);
}

}  // namespace

TEST_CASE("a head is complete at its empty line") {
  answer a(100, 100);
  feed(a, {"HTTP/1.1 404 Not Found\r\n", "Content-Type:  text/plain \r\n", "X-Empty:\r\n"});
  CHECK_FALSE(a.has_head());
  feed(a, {"\r\n"});
  CHECK(a.has_head());
  CHECK(a.status() == 404);
  REQUIRE(a.headers().size() == 2);
  CHECK(a.headers()[0].name() == "Content-Type");
  CHECK(a.headers()[0].value() == "text/plain");
  CHECK(a.headers()[1].name() == "X-Empty");
  CHECK(a.headers()[1].value().empty());
}

TEST_CASE("HTTP/2 writes its status line shorter, and lone LF ends a line") {
  answer a(100, 100);
  feed(a, {"HTTP/2 200\n", "a: b\n", "\n"});
  CHECK(a.has_head());
  CHECK(a.status() == 200);
  CHECK(a.headers().front().value() == "b");
}

TEST_CASE("interim answers are forgotten") {
  answer a(100, 100);
  feed(a, {"HTTP/1.1 103 Early Hints\r\n", "link: x\r\n", "\r\n"});
  CHECK_FALSE(a.has_head());
  feed(a, {"HTTP/1.1 200 OK\r\n", "b: c\r\n", "\r\n"});
  CHECK(a.has_head());
  CHECK(a.status() == 200);
  REQUIRE(a.headers().size() == 1);
  CHECK(a.headers()[0].name() == "b");
}

TEST_CASE("trailers do not change the head") {
  answer a(100, 100);
  feed(a, {"HTTP/1.1 200 OK\r\n", "\r\n", "x-trailer: 1\r\n", "\r\n"});
  CHECK(a.headers().empty());
}

TEST_CASE("a folded line continues the one before it, and a line that is no header is dropped") {
  answer a(100, 100);
  feed(a, {"HTTP/1.1 200 OK\r\n", " stray\r\n", "a: b\r\n", "\t c\r\n", "nonsense\r\n", "\r\n"});
  REQUIRE(a.headers().size() == 1);
  CHECK(a.headers()[0].value() == "b c");
}

TEST_CASE("a status that is no number is refused") {
  for (const auto line : {"HTTP/1.1 abc\r\n", "HTTP/1.1\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 042 OK\r\n"}) {
    CAPTURE(line);
    answer a(100, 100);
    CHECK(a.add_head_line(line) == verdict::refused);
    CHECK_FALSE(a.has_head());
    CHECK(a.refusal_kind() == sluice::errc::protocol_error);
    CHECK(a.refusal() == "the answer's first line has no status");
  }
}

TEST_CASE("a head has a limit in all, not per line") {
  answer a(100, 100);
  feed(a, {"HTTP/1.1 200 OK\r\n"});
  const std::string line = "x: " + std::string(1019, 'y') + "\r\n";
  verdict last = verdict::taken;
  std::size_t lines = 0;
  for (; last == verdict::taken; ++lines) last = a.add_head_line(line);
  CHECK(last == verdict::refused);
  // The status line takes the place of one.
  CHECK(lines == answer::max_head / line.size());
  CHECK(a.refusal_kind() == sluice::errc::too_large);
  CHECK(a.refusal() == "the answer's head is longer than 262,144 bytes");
}

TEST_CASE("a body is kept until it is taken") {
  answer a(100, 10);
  feed(a, {"HTTP/1.1 200 OK\r\n", "\r\n"});
  CHECK_FALSE(a.has_body());
  CHECK(a.add_body("abc") == verdict::taken);
  CHECK(a.add_body("def") == verdict::taken);
  CHECK(a.has_body());
  CHECK(a.take_body() == "abcdef");
  CHECK_FALSE(a.has_body());
  CHECK(a.received() == 6);
}

TEST_CASE("the buffer is bounded, but one part is always taken") {
  answer a(100, 4);
  CHECK(a.add_body("abcdef") == verdict::taken);
  CHECK(a.add_body("g") == verdict::full);
  CHECK(a.received() == 6);
  CHECK(a.take_body() == "abcdef");
  CHECK(a.add_body("g") == verdict::taken);
  CHECK(a.add_body("hij") == verdict::taken);
  CHECK(a.add_body("k") == verdict::full);
}

TEST_CASE("a body up to its limit is taken, one byte more is refused") {
  answer a(6, 100);
  feed(a, {"HTTP/1.1 200 OK\r\n", "\r\n"});
  CHECK(a.add_body("abc") == verdict::taken);
  CHECK(a.add_body("def") == verdict::taken);
  CHECK(a.add_body("g") == verdict::refused);
  CHECK(a.refusal() == "the answer's body is longer than max_body (6 bytes)");
  answer none(0, 100);
  CHECK(none.add_body("a") == verdict::refused);
}
