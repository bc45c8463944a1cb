#include "http/curl_error.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using http::grouped;
using http::kind_of;
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
  CHECK(kind_of(CURLE_UNSUPPORTED_PROTOCOL, false) == errc::invalid_argument);
  CHECK(kind_of(CURLE_UNSUPPORTED_PROTOCOL, true) == errc::protocol_error);
}

TEST_CASE("the message is one line with the peer, the reason and the numbers") {
  const error lost = transfer_error(CURLE_PARTIAL_FILE, true, "h:1", "ignored", 1234567);
  CHECK(lost.message() ==
        "h:1: Transferred a partial file, after 1,234,567 bytes of the body (libcurl 18)");
  const error refused = transfer_error(CURLE_COULDNT_CONNECT, false, "h:1", "Failed to connect\r\nto h", 0);
  CHECK(refused.message() == "h:1: Failed to connect  to h (libcurl 7)");
}

TEST_CASE("out of memory before the body may be a head too large, and later it is not") {
  CHECK(transfer_error(CURLE_OUT_OF_MEMORY, true, "h:1", "", 0).message() ==
        "h:1: the answer's head is larger than libcurl takes, or memory ran out (libcurl 27)");
  CHECK(transfer_error(CURLE_OUT_OF_MEMORY, true, "h:1", "", 5).message() == "h:1: Out of memory (libcurl 27)");
  CHECK(transfer_error(CURLE_OUT_OF_MEMORY, false, "h:1", "", 0).message() == "h:1: Out of memory (libcurl 27)");
}

TEST_CASE("numbers are grouped by thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
}
