#include "http/request_check.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice;
using http::check_request;
using http::request;
using namespace std::string_literals;

namespace {

std::string complaint(const request& what) {
  const auto wrong = check_request(what);
  if (!wrong) return "";
  CHECK(wrong->is(errc::invalid_argument));
  CHECK(wrong->message().find("secret") == std::string::npos);
  CHECK(wrong->message().find('\n') == std::string::npos);
  return wrong->message();
}

std::string with_header(std::string name, std::string value) {
  request what("POST", "http://h/");
  what.add_header("accept", "x").add_header(std::move(name), std::move(value));
  return complaint(what);
}

}  // namespace

TEST_CASE("ordinary requests pass") {
  CHECK(complaint(request("GET", "http://h/")).empty());
  CHECK(complaint(request("DELETE", "HTTPS://h:1/a?b=c%20d")).empty());
  CHECK(with_header("Authorization", "Bearer secret").empty());
  CHECK(with_header("x-empty", "").empty());
  CHECK(with_header("x-utf8", "caf\xc3\xa9").empty());
}

TEST_CASE("a header cannot smuggle in another one") {
  CHECK(with_header("x", "secret\r\nHost: evil") == "header x: its value holds CR, LF or NUL");
  CHECK(with_header("x", "secret\n") == "header x: its value holds CR, LF or NUL");
  CHECK(with_header("x", "\rsecret") == "header x: its value holds CR, LF or NUL");
  CHECK(with_header("x", "secret\0"s) == "header x: its value holds CR, LF or NUL");
  CHECK(with_header("x: secret\r\ny", "z") == "header 2: its name is not a token");
  CHECK(with_header("a b", "z") == "header 2: its name is not a token");
  CHECK(with_header("", "z") == "header 2: its name is not a token");
  CHECK(with_header("a;", "z") == "header 2: its name is not a token");
}

TEST_CASE("what frames the message is not the caller's to set") {
  CHECK(with_header("Content-Length", "3") == "header Content-Length is set by the transport");
  CHECK(with_header("transfer-encoding", "chunked") == "header transfer-encoding is set by the transport");
  CHECK(with_header("EXPECT", "100-continue") == "header EXPECT is set by the transport");
}

TEST_CASE("the method is a token") {
  CHECK(complaint(request("GET / HTTP/1.1\r\nx: y\r\n\r\n", "http://h/")) == "the method is not a token");
  CHECK(complaint(request("", "http://h/")) == "the method is not a token");
}

TEST_CASE("the URL is one of HTTP's and holds no blanks") {
  const std::string scheme = "the URL does not begin with http:// or https://";
  CHECK(complaint(request("GET", "file:///etc/passwd")) == scheme);
  CHECK(complaint(request("GET", "example.org/secret")) == scheme);
  CHECK(complaint(request("GET", "")) == scheme);
  const std::string blank = "the URL holds a space or a control character; encode it as %XX";
  CHECK(complaint(request("GET", "http://h/a b")) == blank);
  CHECK(complaint(request("GET", "http://h/secret\r\nHost: evil")) == blank);
  CHECK(complaint(request("GET", "http://h/\0"s)) == blank);
}
