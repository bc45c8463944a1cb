#include "http/curl_error.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using http::grouped;
using http::kind_of;
using http::transfer_end;
using http::transfer_error;

TEST_CASE("each of libcurl's failures has its kind") {
  CHECK(kind_of(CURLE_COULDNT_RESOLVE_HOST, false) == errc::host_not_found);
  CHECK(kind_of(CURLE_COULDNT_CONNECT, false) == errc::connect_failed);
  CHECK(kind_of(CURLE_PEER_FAILED_VERIFICATION, false) == errc::tls_failed);
  CHECK(kind_of(CURLE_GOT_NOTHING, true) == errc::connection_lost);
  CHECK(kind_of(CURLE_PARTIAL_FILE, true) == errc::connection_lost);
  CHECK(kind_of(CURLE_SEND_ERROR, true) == errc::connection_lost);
  CHECK(kind_of(CURLE_WEIRD_SERVER_REPLY, true) == errc::protocol_error);
  CHECK(kind_of(CURLE_BAD_CONTENT_ENCODING, true) == errc::protocol_error);
}

TEST_CASE("what the same failure means depends on whether there was a connection") {
  CHECK(kind_of(CURLE_OPERATION_TIMEDOUT, false) == errc::connect_timeout);
  CHECK(kind_of(CURLE_OPERATION_TIMEDOUT, true) == errc::total_timeout);
  CHECK(kind_of(CURLE_RECV_ERROR, false) == errc::connect_failed);
  CHECK(kind_of(CURLE_RECV_ERROR, true) == errc::connection_lost);
  CHECK(kind_of(CURLE_UNSUPPORTED_PROTOCOL, false) == errc::invalid_argument);
  CHECK(kind_of(CURLE_UNSUPPORTED_PROTOCOL, true) == errc::protocol_error);
}

TEST_CASE("the message is one line with the peer, the reason and the numbers") {
  const error lost = transfer_error(
      {.result = CURLE_PARTIAL_FILE, .connected = true, .has_head = true, .received = 1234567, .detail = "ignored"},
      "h:1");
  CHECK(lost.message() == "h:1: Transferred a partial file, after 1,234,567 bytes of the body (libcurl 18)");
  const error refused = transfer_error({.result = CURLE_COULDNT_CONNECT, .detail = "Failed to connect\r\nto h"}, "h:1");
  CHECK(refused.message() == "h:1: Failed to connect  to h (libcurl 7)");
}

TEST_CASE("out of memory before the head's end is a head too large, and elsewhere it is not") {
  transfer_end end{.result = CURLE_OUT_OF_MEMORY, .connected = true};
  const error large = transfer_error(end, "h:1");
  CHECK(large.is(errc::too_large));
  CHECK(large.message() ==
        "h:1: the answer's head is longer than libcurl takes: 102,400 bytes a line, 131,072 in all over HTTP/2 "
        "(libcurl 27)");
  end.has_head = true;
  CHECK(transfer_error(end, "h:1").message() == "h:1: Out of memory (libcurl 27)");
  CHECK(transfer_error({.result = CURLE_OUT_OF_MEMORY}, "h:1").message() == "h:1: Out of memory (libcurl 27)");
}

TEST_CASE("over HTTP/2 a head too large fails in other ways") {
  transfer_end end{.result = CURLE_RECV_ERROR,
                   .connected = true,
                   .detail = "nghttp2_session_mem_recv() returned -902:The user callback function failed"};
  CHECK(transfer_error(end, "h:1").is(errc::too_large));
  end.has_head = true;
  CHECK(transfer_error(end, "h:1").is(errc::connection_lost));
  transfer_end nothing{.result = CURLE_GOT_NOTHING, .connected = true};
  const std::string plain = transfer_error(nothing, "h:1").message();
  CHECK(plain.ends_with("(libcurl 52)"));
  nothing.maybe_http2 = true;
  CHECK(transfer_error(nothing, "h:1").is(errc::connection_lost));
  CHECK(transfer_error(nothing, "h:1").message() ==
        plain + "; over HTTP/2 a line of 65,536 bytes or more in the answer's head ends like this too");
  const error mixed =
      transfer_error({.result = CURLE_UNSUPPORTED_PROTOCOL, .connected = true, .maybe_http2 = true}, "h:1");
  CHECK(mixed.is(errc::protocol_error));
  CHECK(
      mixed.message().ends_with("(libcurl 1); over HTTP/2 a head of more than 65,536 bytes beside other streams ends "
                                "like this too"));
}

TEST_CASE("a proxy's refusal is told apart by its status") {
  const error who = transfer_error({.result = CURLE_RECV_ERROR, .detail = "x", .proxy_status = 407}, "h:1");
  CHECK(who.is(errc::invalid_configuration));
  CHECK(who.message() == "h:1: " + std::string(http::proxy_wants_credentials));
  const error no = transfer_error({.result = CURLE_RECV_ERROR, .detail = "x", .proxy_status = 403}, "h:1");
  CHECK(no.is(errc::connect_failed));
  CHECK(no.message() == "h:1: the proxy refused to connect us (403) (libcurl 56)");
  // What comes later is the server's.
  const error lost =
      transfer_error({.result = CURLE_RECV_ERROR, .connected = true, .detail = "x", .proxy_status = 200}, "h:1");
  CHECK(lost.is(errc::connection_lost));
}

TEST_CASE("a proxy that libcurl cannot read is not quoted") {
  for (const char* said : {"Unsupported proxy syntax in 'http://me:secret/'", "Could not resolve proxy: me:secret@x"}) {
    const error wrong = transfer_error({.result = CURLE_COULDNT_RESOLVE_PROXY, .detail = said}, "h:1");
    CHECK(wrong.is(errc::host_not_found));
    CHECK(wrong.message() == "h:1: Couldn't resolve proxy name (libcurl 5)");
  }
}

TEST_CASE("a failure of TLS names the setting that mends it") {
  const error unknown = transfer_error({.result = CURLE_PEER_FAILED_VERIFICATION,
                                        .detail = "SSL certificate problem: unable to get local issuer certificate"},
                                       "h:1");
  CHECK(unknown.message().ends_with("(libcurl 60); curl_options::ca_bundle names other authorities to trust"));
  const error old = transfer_error(
      {.result = CURLE_PEER_FAILED_VERIFICATION, .detail = "SSL certificate problem: certificate has expired"}, "h:1");
  CHECK(old.message() == "h:1: SSL certificate problem: certificate has expired (libcurl 60)");
  const error alert = transfer_error(
      {.result = CURLE_RECV_ERROR,
       .connected = true,
       .detail = "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0"},
      "h:1");
  CHECK(alert.is(errc::tls_failed));
  CHECK(alert.message().ends_with("; see curl_options::client_certificate and client_key"));
}

TEST_CASE("numbers are grouped by thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
}
