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
  answer a({.max_body = 100, .buffer = 100});
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
  answer a({.max_body = 100, .buffer = 100});
  feed(a, {"HTTP/2 200\n", "a: b\n", "\n"});
  CHECK(a.has_head());
  CHECK(a.status() == 200);
  CHECK(a.headers().front().value() == "b");
}

TEST_CASE("interim answers are forgotten") {
  answer a({.max_body = 100, .buffer = 100});
  feed(a, {"HTTP/1.1 103 Early Hints\r\n", "link: x\r\n", "\r\n"});
  CHECK_FALSE(a.has_head());
  feed(a, {"HTTP/1.1 200 OK\r\n", "b: c\r\n", "\r\n"});
  CHECK(a.has_head());
  CHECK(a.status() == 200);
  REQUIRE(a.headers().size() == 1);
  CHECK(a.headers()[0].name() == "b");
}

TEST_CASE("trailers do not change the head") {
  answer a({.max_body = 100, .buffer = 100});
  feed(a, {"HTTP/1.1 200 OK\r\n", "\r\n", "x-trailer: 1\r\n", "\r\n"});
  CHECK(a.headers().empty());
}

TEST_CASE("a folded line continues the one before it, and a line that is no header is dropped") {
  answer a({.max_body = 100, .buffer = 100});
  feed(a, {"HTTP/1.1 200 OK\r\n", " stray\r\n", "a: b\r\n", "\t c\r\n", "nonsense\r\n", "\r\n"});
  REQUIRE(a.headers().size() == 1);
  CHECK(a.headers()[0].value() == "b c");
}

TEST_CASE("a status that is no number is refused") {
  for (const auto line : {"HTTP/1.1 abc\r\n", "HTTP/1.1\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 042 OK\r\n"}) {
    CAPTURE(line);
    answer a({.max_body = 100, .buffer = 100});
    CHECK(a.add_head_line(line) == verdict::refused);
    CHECK_FALSE(a.has_head());
    CHECK(a.refusal_kind() == sluice::errc::protocol_error);
    CHECK(a.refusal() == "the answer's first line has no status");
  }
}

TEST_CASE("a head has a limit in all, not per line") {
  answer a({.max_body = 100, .buffer = 100});
  feed(a, {"HTTP/1.1 200 OK\r\n"});
  const std::string line = "x: " + std::string(1019, 'y') + "\r\n";
  verdict last = verdict::taken;
  std::size_t lines = 0;
  for (; last == verdict::taken; ++lines) last = a.add_head_line(line);
  CHECK(last == verdict::refused);
  // The status line takes the place of one.
  CHECK(lines == sluice::http::answer_bounds{}.max_head / line.size());
  CHECK(a.refusal_kind() == sluice::errc::too_large);
  CHECK(a.refusal() == "the answer's head is longer than curl_options::max_header_bytes (262,144)");
}

TEST_CASE("a head may be exactly as long as its limit") {
  const std::string_view lines[] = {"HTTP/1.1 200 OK\r\n", "x: y\r\n", "\r\n"};
  std::size_t whole = 0;
  for (const auto line : lines) whole += line.size();
  answer fits({.max_body = 1, .buffer = 1, .max_head = whole});
  feed(fits, {lines[0], lines[1], lines[2]});
  CHECK(fits.has_head());
  answer narrow({.max_body = 1, .buffer = 1, .max_head = whole - 1});
  feed(narrow, {lines[0], lines[1]});
  CHECK(narrow.add_head_line(lines[2]) == verdict::refused);
  CHECK(narrow.refusal_kind() == sluice::errc::too_large);
}

TEST_CASE("where HTTP/2 is insisted on, another version is refused") {
  answer a({.max_body = 1, .buffer = 1, .only_http2 = true});
  CHECK(a.add_head_line("HTTP/1.1 200 OK\r\n") == verdict::refused);
  CHECK(a.refusal_kind() == sluice::errc::protocol_error);
  CHECK(a.refusal() == "the server does not speak HTTP/2, which curl_options::version insists on");
  answer b({.max_body = 1, .buffer = 1, .only_http2 = true});
  feed(b, {"HTTP/2 200 \r\n", "\r\n"});
  CHECK(b.status() == 200);
}

TEST_CASE("a 407 is a proxy's when it says how to name oneself, else the server's own") {
  answer a({.max_body = 1, .buffer = 1});
  feed(a, {"HTTP/1.1 407 Who\r\n", "Proxy-Authenticate: Basic realm=x\r\n"});
  CHECK(a.add_head_line("\r\n") == verdict::refused);
  CHECK_FALSE(a.has_head());
  CHECK(a.refusal_kind() == sluice::errc::invalid_configuration);
  CHECK(a.refusal().find("curl_options::proxy") != std::string::npos);
  answer b({.max_body = 1, .buffer = 1});
  feed(b, {"HTTP/1.1 407 Who\r\n", "x: y\r\n", "\r\n"});
  CHECK(b.has_head());
  CHECK(b.status() == 407);
}

TEST_CASE("a body is kept until it is taken") {
  answer a({.max_body = 100, .buffer = 10});
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
  answer a({.max_body = 100, .buffer = 4});
  CHECK(a.add_body("abcdef") == verdict::taken);
  CHECK(a.add_body("g") == verdict::full);
  CHECK(a.received() == 6);
  CHECK(a.take_body() == "abcdef");
  CHECK(a.add_body("g") == verdict::taken);
  CHECK(a.add_body("hij") == verdict::taken);
  CHECK(a.add_body("k") == verdict::full);
}

TEST_CASE("a body up to its limit is taken, one byte more is refused") {
  answer a({.max_body = 6, .buffer = 100});
  feed(a, {"HTTP/1.1 200 OK\r\n", "\r\n"});
  CHECK(a.add_body("abc") == verdict::taken);
  CHECK(a.add_body("def") == verdict::taken);
  CHECK(a.add_body("g") == verdict::refused);
  CHECK(a.refusal() == "the answer's body is longer than max_body (6 bytes)");
  answer none({.max_body = 0, .buffer = 100});
  CHECK(none.add_body("a") == verdict::refused);
}
