#include "http/easy_handle.hpp"

#include "http/ascii.hpp"
#include "http/curl_engine.hpp"
#include "http/exchange.hpp"
#include "http/origin.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::http {
namespace {

// Ours comes first; libcurl's own only makes it try the next address in time.
long connect_guard(duration limit) noexcept {
  constexpr long forever = std::numeric_limits<int>::max();
  if (limit <= duration::zero()) return forever;
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  return static_cast<long>(std::min<std::int64_t>(whole, forever - 1000) + 1000);
}

bool sends_body(const request& what) noexcept {
  return !what.body().empty() || what.method() == "POST" || what.method() == "PUT" || what.method() == "PATCH";
}

bool is_blank(const std::string& text) noexcept { return text.find_first_not_of(" \t") == std::string::npos; }

}  // namespace

template <typename Value>
void easy_handle::set(CURLoption option, Value value) {
  const CURLcode result = curl_easy_setopt(easy_.get(), option, value);
  if (result == CURLE_OK) return;
  throw error_exception(error(result == CURLE_OUT_OF_MEMORY ? errc::protocol_error : errc::invalid_configuration,
                              std::string("libcurl refuses an option: ") + curl_easy_strerror(result)));
}

easy_handle::easy_handle(curl_engine& engine)
    : engine_(engine), easy_(curl_easy_init()), version_(engine.options().version) {
  if (!easy_) throw error_exception(error(errc::invalid_configuration, "libcurl cannot make a handle"));
  set_up();
}

void easy_handle::let_go() noexcept {
  owner_ = nullptr;
  long connections = 0;
  has_connected_ = curl_easy_getinfo(easy_.get(), CURLINFO_NUM_CONNECTS, &connections) != CURLE_OK || connections > 0;
}

void easy_handle::set_up() {
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, detail_.data());
  set(CURLOPT_NOSIGNAL, 1L);
  // Otherwise giving up a slow name look-up waits for its thread.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_ACCEPT_ENCODING, "gzip");
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  // One is taken whenever TLS sends; libcurl would make it 64 KiB, and sends 16 at a time.
  set(CURLOPT_UPLOAD_BUFFERSIZE, long{16} << 10);
  const curl_options& options = engine_.options();
  if (!options.user_agent.empty()) set(CURLOPT_USERAGENT, options.user_agent.c_str());
  set_trust(options);
  set_route(engine_, options);
  set_callbacks(engine_);
}

void easy_handle::set_trust(const curl_options& options) {
  const bool verify = !options.dangerously_skip_tls_verification;
  set(CURLOPT_SSL_VERIFYPEER, verify ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, verify ? 2L : 0L);
  set(CURLOPT_PROXY_SSL_VERIFYPEER, verify ? 1L : 0L);
  set(CURLOPT_PROXY_SSL_VERIFYHOST, verify ? 2L : 0L);
  if (!options.ca_bundle.empty()) {
    set(CURLOPT_CAINFO, options.ca_bundle.c_str());
    set(CURLOPT_PROXY_CAINFO, options.ca_bundle.c_str());
  }
  if (!options.client_certificate.empty()) set(CURLOPT_SSLCERT, options.client_certificate.c_str());
  if (!options.client_key.empty()) set(CURLOPT_SSLKEY, options.client_key.c_str());
  if (!options.client_key_password.empty()) set(CURLOPT_KEYPASSWD, options.client_key_password.c_str());
}

void easy_handle::set_route(curl_engine& engine, const curl_options& options) {
  if (!options.unix_socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, options.unix_socket.c_str());
  if (options.proxy == "none" || !options.unix_socket.empty()) {
    set(CURLOPT_PROXY, "");
  } else if (!options.proxy.empty()) {
    set(CURLOPT_PROXY, options.proxy.c_str());
    // Named here, it is meant for all hosts, whatever the environment excepts.
    set(CURLOPT_NOPROXY, "");
  }
  if (curl_slist* const known = engine.known_addresses()) set(CURLOPT_RESOLVE, known);
}

void easy_handle::set_callbacks(curl_engine& engine) {
  set(CURLOPT_WRITEFUNCTION, &exchange::on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_HEADERFUNCTION, &exchange::on_head_line);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_PREREQFUNCTION, &exchange::on_connected);
  set(CURLOPT_PREREQDATA, this);
  set(CURLOPT_OPENSOCKETFUNCTION, &exchange::on_open_socket);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_CLOSESOCKETFUNCTION, &curl_engine::on_close_socket);
  set(CURLOPT_CLOSESOCKETDATA, &engine);
}

void easy_handle::carry(exchange& owner, const request& what) {
  detail_[0] = '\0';
  // libcurl counts how often it has replaced a dead connection over all the transfers of a handle, and gives up at the
  // sixth.
  if (std::exchange(has_connected_, false)) {
    curl_easy_reset(easy_.get());
    url_.clear();
    set_up();
  }
  if (url_ != what.url()) {
    set(CURLOPT_URL, what.url().c_str());
    url_ = what.url();
  }
  set_version(what);
  set(CURLOPT_CONNECTTIMEOUT_MS, connect_guard(what.limits.connect));
  set_method(what);
  set_headers(what);
  owner_ = &owner;
}

void easy_handle::set_version(const request& what) {
  const bool multiplexed = version_ != http_version::http1_1 && is_tls(what.url());
  set(CURLOPT_HTTP_VERSION, static_cast<long>(multiplexed ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  // libcurl reads up to 32 KiB of HTTP/2 at once for all streams of a connection. What does not fit a stream's own
  // buffer it sets aside, and may forget.
  set(CURLOPT_BUFFERSIZE, multiplexed ? long{64} << 10 : long{16} << 10);
  // Only where the first connection may turn out to carry the others too.
  set(CURLOPT_PIPEWAIT, multiplexed ? 1L : 0L);
}

void easy_handle::set_method(const request& what) {
  const std::string& method = what.method();
  const bool has_body = sends_body(what);
  if (has_body) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(what.body().size()));
    set(CURLOPT_POSTFIELDS, what.body().c_str());
  } else if (method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else {
    set(CURLOPT_HTTPGET, 1L);
  }
  const bool usual = has_body ? method == "POST" : method == "GET" || method == "HEAD";
  set(CURLOPT_CUSTOMREQUEST, usual ? static_cast<const char*>(nullptr) : method.c_str());
}

void easy_handle::set_headers(const request& what) {
  lines_.clear();
  bool has_type = false;
  for (const header& line : what.headers()) {
    has_type = has_type || equal_ignoring_case(line.name(), "content-type");
    // "Name:" would take a header out; "Name;" sends it empty.
    lines_.add(is_blank(line.value()) ? line.name() + ';' : line.name() + ": " + line.value());
  }
  if (sends_body(what)) {
    // Waiting for "100 Continue" costs a second with servers that do not send it. libcurl does so from 1 MiB on.
    if (what.body().size() >= (std::size_t{1} << 19)) lines_.add("Expect:");
    if (!has_type) lines_.add("Content-Type:");
  }
  set(CURLOPT_HTTPHEADER, lines_.link());
}

easy_handle& easy_handle::of(CURL* easy) noexcept {
  char* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  return *reinterpret_cast<easy_handle*>(self);
}

}  // namespace sluice::http
