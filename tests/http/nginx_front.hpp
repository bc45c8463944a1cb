/// \file
/// `nginx_front`: nginx between the client and a server of the test's, as TLS and HTTP/2 front.
#pragma once

#include "http/certificates.hpp"
#include "http/served_process.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace sluice::http::test {

/// Passes all requests on to 127.0.0.1:`upstream`, byte for byte as they come. Each answer carries the number of its
/// connection with nginx in `x-connection`, each request passed on what the client certificate says in `x-client`.
/// Below `/zip` answers are packed, below `/small` bodies of more than 1,000 bytes are refused.
class nginx_front {
 public:
  explicit nginx_front(unsigned short upstream)
      : upstream_(upstream), process_(start_server([this] { return begin(); })) {}

  /// HTTP/2 over TLS, with a certificate that holds.
  [[nodiscard]] std::string url(std::string_view path = "/", std::string_view host = "127.0.0.1") const {
    return at(good_, path, host);
  }
  [[nodiscard]] unsigned short port() const noexcept { return good_; }
  /// The same without HTTP/2.
  [[nodiscard]] std::string old_url() const { return at(old_); }
  /// Wants a certificate of the authority's.
  [[nodiscard]] std::string strict_url() const { return at(strict_); }
  [[nodiscard]] std::string expired_url() const { return at(expired_); }
  [[nodiscard]] std::string elsewhere_url() const { return at(elsewhere_); }
  /// Plain HTTP/1.1 on a Unix socket.
  [[nodiscard]] std::string unix_socket() const { return folder_.path("socket"); }

 private:
  static std::string at(unsigned short port, std::string_view path = "/", std::string_view host = "127.0.0.1") {
    return "https://" + std::string(host) + ':' + std::to_string(port) + std::string(path);
  }

  static std::string listen(unsigned short port, const certificates::identity& shown,
                            std::string_view version = " http2") {
    return "    listen 127.0.0.1:" + std::to_string(port) + " ssl" + std::string(version) + ";\n    ssl_certificate " +
           shown.certificate + ";\n    ssl_certificate_key " + shown.key + ";\n";
  }

  [[nodiscard]] std::string configuration() const {
    const certificates& made = certificates::get();
    std::string text = "daemon off;\nmaster_process off;\nerror_log stderr warn;\npid " + folder_.path("pid") +
                       ";\nevents { worker_connections 1024; }\nhttp {\n  access_log off;\n";
    for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
      text += "  " + std::string(kind) + "_temp_path " + folder_.path(kind) + ";\n";
    }
    text +=
        "  proxy_http_version 1.1;\n  proxy_buffering off;\n  proxy_request_buffering off;\n"
        "  proxy_buffer_size 512k;\n  proxy_busy_buffers_size 1m;\n  proxy_buffers 4 512k;\n"
        "  proxy_set_header x-client $ssl_client_s_dn;\n  add_header x-connection $connection always;\n"
        "  gzip_types application/json text/event-stream;\n  gzip_proxied any;\n  gzip_min_length 1;\n";
    const std::string places =
        "    location / { proxy_pass http://127.0.0.1:" + std::to_string(upstream_) +
        "; }\n    location /zip { gzip on; proxy_pass http://127.0.0.1:" + std::to_string(upstream_) +
        "; }\n    location /small { client_max_body_size 1000; proxy_pass http://127.0.0.1:" +
        std::to_string(upstream_) + "; }\n    client_max_body_size 64m;\n  }\n";
    text += "  server {\n" + listen(good_, made.server) + places;
    text += "  server {\n" + listen(old_, made.server, "") + places;
    text += "  server {\n" + listen(strict_, made.server) + "    ssl_verify_client on;\n    ssl_client_certificate " +
            made.authority() + ";\n" + places;
    text += "  server {\n" + listen(expired_, made.expired) + places;
    text += "  server {\n" + listen(elsewhere_, made.elsewhere) + places;
    text += "  server {\n    listen unix:" + unix_socket() + ";\n" + places;
    return text + "}\n";
  }

  [[nodiscard]] std::pair<std::unique_ptr<served_process>, unsigned short> begin() {
    for (unsigned short* port : {&good_, &old_, &strict_, &expired_, &elsewhere_}) *port = free_port();
    const std::string file = folder_.write("nginx.conf", configuration());
    return {std::make_unique<served_process>(program("nginx"), std::vector<std::string>{"-c", file, "-e", "stderr"},
                                             folder_.path("log")),
            good_};
  }

  temporary_folder folder_;
  unsigned short upstream_;
  unsigned short good_ = 0;
  unsigned short old_ = 0;
  unsigned short strict_ = 0;
  unsigned short expired_ = 0;
  unsigned short elsewhere_ = 0;
  std::unique_ptr<served_process> process_;
};

}  // namespace sluice::http::test
