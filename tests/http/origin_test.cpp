#include "http/origin.hpp"

#include <doctest/doctest.h>

using sluice::http::origin_of;

TEST_CASE("an origin is host and port, with the scheme's port when none is written") {
  CHECK(origin_of("http://example.org") == "example.org:80");
  CHECK(origin_of("https://example.org/v1/chat") == "example.org:443");
  CHECK(origin_of("HTTPS://example.org/") == "example.org:443");
  CHECK(origin_of("http://127.0.0.1:8080/x") == "127.0.0.1:8080");
  CHECK(origin_of("http://[::1]/x") == "[::1]:80");
  CHECK(origin_of("https://[::1]:9/x") == "[::1]:9");
  CHECK(origin_of("example.org:1/x") == "example.org:1");
}

TEST_CASE("nothing that may be secret is in it") {
  CHECK(origin_of("https://user:secret@example.org:1/p?key=secret#secret") == "example.org:1");
  CHECK(origin_of("https://example.org?key=secret@elsewhere") == "example.org:443");
  CHECK(origin_of("https://a@secret@example.org/") == "example.org:443");
  CHECK(origin_of("https://example.org\\secret") == "example.org:443");
  CHECK(origin_of("https://example.org:secret/") == "an unreadable address");
}

TEST_CASE("what has no host says so") {
  CHECK(origin_of("") == "an unreadable address");
  CHECK(origin_of("http://") == "an unreadable address");
  CHECK(origin_of("http:///path") == "an unreadable address");
  CHECK(origin_of("http://a\nb/") == "an unreadable address");
}
