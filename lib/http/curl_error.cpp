#include "http/curl_error.hpp"

namespace sluice::http {
namespace {

constexpr long proxy_authentication_required = 407;

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != text.npos; }

// A server that wants a certificate says so when the handshake is over for us.
bool is_tls_alert(const transfer_end& end) noexcept {
  return (end.result == CURLE_RECV_ERROR || end.result == CURLE_SEND_ERROR) && has(end.detail, "SSL routines") &&
         (has(end.detail, "certificate") || has(end.detail, "unknown ca") || has(end.detail, "handshake failure"));
}

// libcurl says the same of a line beyond its own bounds as of memory that ran out; over HTTP/2 its callback fails.
bool is_long_head(const transfer_end& end) noexcept {
  return end.connected && !end.has_head &&
         (end.result == CURLE_OUT_OF_MEMORY || has(end.detail, "Too large response headers") ||
          has(end.detail, "The user callback function failed"));
}

bool refused_by_proxy(const transfer_end& end) noexcept {
  return !end.connected && (end.proxy_status < 0 || end.proxy_status >= 300);
}

errc kind_of_end(const transfer_end& end) noexcept {
  if (refused_by_proxy(end)) {
    return end.proxy_status == proxy_authentication_required ? errc::invalid_configuration : errc::connect_failed;
  }
  if (is_long_head(end)) return errc::too_large;
  if (is_tls_alert(end)) return errc::tls_failed;
  return http::kind_of(end.result, end.connected);
}

bool may_show(const transfer_end& end, errc kind) noexcept {
  if (end.detail.empty() ||
      (kind != errc::host_not_found && kind != errc::connect_failed && kind != errc::tls_failed)) {
    return false;
  }
  // It quotes a proxy that it cannot read whole, password and all.
  return !has(end.detail, "Unsupported proxy") && !has(end.detail, "@");
}

std::string_view advice(const transfer_end& end, errc kind) noexcept {
  if (end.result == CURLE_GOT_NOTHING && end.maybe_http2) {
    return "; over HTTP/2 a line of 65,536 bytes or more in the answer's head ends like this too";
  }
  if (end.result == CURLE_HTTP2_STREAM && !end.has_head) {
    return "; an answer that came before the request was whole may be lost like this, and is not where "
           "curl_options::version is http1_1";
  }
  if (end.result == CURLE_UNSUPPORTED_PROTOCOL && end.maybe_http2) {
    return "; over HTTP/2 a head of more than 65,536 bytes beside other streams ends like this too";
  }
  if (kind != errc::tls_failed) return {};
  if (has(end.detail, "issuer certificate") || has(end.detail, "self-signed") || has(end.detail, "self signed")) {
    return "; curl_options::ca_bundle names other authorities to trust";
  }
  if (is_tls_alert(end) || end.result == CURLE_SSL_CERTPROBLEM) {
    return "; see curl_options::client_certificate and client_key";
  }
  return {};
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
    case CURLE_SSL_SHUTDOWN_FAILED: return connected ? errc::connection_lost : errc::connect_failed;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return connected ? errc::protocol_error : errc::invalid_argument;
    case CURLE_FILESIZE_EXCEEDED: return errc::too_large;
    case CURLE_ABORTED_BY_CALLBACK: return errc::cancelled;
    default: return errc::protocol_error;
  }
}

error transfer_error(const transfer_end& end, std::string_view peer) {
  const errc kind = kind_of_end(end);
  std::string message(peer);
  message += ": ";
  if (kind == errc::invalid_configuration) return {kind, message.append(proxy_wants_credentials)};
  if (refused_by_proxy(end)) {
    message += "the proxy refused to connect us (" + std::to_string(end.proxy_status) + ")";
  } else if (kind == errc::too_large) {
    message += "the answer's head is longer than libcurl takes: 102,400 bytes a line, 131,072 in all over HTTP/2";
  } else {
    message += may_show(end, kind) ? one_line(end.detail) : curl_easy_strerror(end.result);
  }
  if (kind == errc::connection_lost) message += ", after " + grouped(end.received) + " bytes of the body";
  message += " (libcurl " + std::to_string(static_cast<int>(end.result)) + ")";
  return {kind, message.append(advice(end, kind))};
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
