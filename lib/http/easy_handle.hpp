/// \file
/// `easy_handle`: one reusable libcurl easy handle, set up the way every exchange wants it.
#pragma once

#include "http/text_list.hpp"

#include <sluice/http/curl_options.hpp>
#include <sluice/http/transport.hpp>

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>

namespace sluice::http {

class curl_engine;
class exchange;

class easy_handle {
 public:
  /// Throws `error_exception` when libcurl has no memory.
  explicit easy_handle(curl_engine& engine);
  easy_handle(const easy_handle&) = delete;
  easy_handle& operator=(const easy_handle&) = delete;

  /// Makes it carry `what` for `owner`. Both, and `what`'s body, stay where they are until `let_go`.
  void carry(exchange& owner, const request& what);
  void let_go() noexcept;
  /// Its connection is to be closed when it ends, unless others share it. The handle is of no use afterwards.
  void leave_no_connection() noexcept { curl_easy_setopt(easy_.get(), CURLOPT_FORBID_REUSE, 1L); }

  [[nodiscard]] CURL* get() const noexcept { return easy_.get(); }
  [[nodiscard]] exchange* owner() const noexcept { return owner_; }
  /// libcurl's own words about the last failure, or an empty text.
  [[nodiscard]] const char* detail() const noexcept { return detail_.data(); }
  /// The handle behind libcurl's pointer, which must be one of ours.
  [[nodiscard]] static easy_handle& of(CURL* easy) noexcept;

 private:
  struct cleanup {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
  };

  template <typename Value>
  void set(CURLoption option, Value value);
  void set_up();
  void set_callbacks(curl_engine& engine);
  void set_trust(const curl_options& options);
  void set_route(curl_engine& engine, const curl_options& options);
  void set_version(const request& what);
  void set_method(const request& what);
  void set_headers(const request& what);

  curl_engine& engine_;
  std::unique_ptr<CURL, cleanup> easy_;
  exchange* owner_ = nullptr;
  bool has_connected_ = false;
  const http_version version_;
  std::string url_;
  text_list lines_;
  std::array<char, CURL_ERROR_SIZE> detail_{};
};

}  // namespace sluice::http
