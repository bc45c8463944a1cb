#include "http/proxy_address.hpp"

#include <doctest/doctest.h>

using sluice::http::proxy_origin;
using sluice::http::wrong_with_proxy;

TEST_CASE("a proxy is shown as host and port, without user and password") {
  CHECK(proxy_origin("http://me:secret@proxy.test:3128") == "proxy.test:3128");
  CHECK(proxy_origin("http://me:sec%40ret@proxy.test") == "proxy.test:1080");
  CHECK(proxy_origin("https://proxy.test/") == "proxy.test:443");
  CHECK(proxy_origin("socks5h://[::1]") == "[::1]:1080");
}

TEST_CASE("an at sign in the password that is not encoded is not taken for the host's") {
  for (const char* url :
       {"http://me:a@b@proxy:1", "http://me:a/b@proxy:1", "http://me:a?b@proxy:1", "http://me:a#b@proxy:1"}) {
    CAPTURE(url);
    if (!wrong_with_proxy(url)) CHECK(proxy_origin(url) == "proxy:1");
  }
}
