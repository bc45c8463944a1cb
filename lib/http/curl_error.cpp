#include "http/curl_error.hpp"

namespace sluice::http {
namespace {

bool names_only_the_peer(errc kind) noexcept {
  return kind == errc::host_not_found || kind == errc::connect_failed || kind == errc::tls_failed;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace

errc kind_of(CURLcode result, bool connected) noexcept {
  switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return errc::host_not_found;
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_INTERFACE_FAILED: return errc::connect_failed;
    case CURLE_OPERATION_TIMEDOUT: return connected ? errc::total_timeout : errc::connect_timeout;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_USE_SSL_FAILED: return errc::tls_failed;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_SHUTDOWN_FAILED: return errc::connection_lost;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return connected ? errc::protocol_error : errc::invalid_argument;
    case CURLE_FILESIZE_EXCEEDED: return errc::too_large;
    case CURLE_ABORTED_BY_CALLBACK: return errc::cancelled;
    default: return errc::protocol_error;
  }
}

error transfer_error(CURLcode result, bool connected, std::string_view origin, std::string_view detail,
                     std::size_t received) {
  const errc kind = kind_of(result, connected);
  std::string message(origin);
  message += ": ";
  if (result == CURLE_OUT_OF_MEMORY && connected && received == 0) {
    // libcurl says the same of a head beyond its own bounds as of memory that ran out.
    message += "the answer's head is larger than libcurl takes, or memory ran out";
  } else {
    message += names_only_the_peer(kind) && !detail.empty() ? one_line(detail) : curl_easy_strerror(result);
  }
  if (kind == errc::connection_lost) message += ", after " + grouped(received) + " bytes of the body";
  message += " (libcurl " + std::to_string(static_cast<int>(result)) + ")";
  return {kind, std::move(message)};
}

std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

}  // namespace sluice::http
