/// \file
/// `certificates`: authorities and what they sign, made afresh by the program `openssl` once a test run.
#pragma once

#include "http/served_process.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::http::test {

class certificates {
 public:
  /// The paths of a certificate and its key.
  struct identity {
    std::string certificate;
    std::string key;
  };

  /// The ones of this run. Needs `openssl`.
  [[nodiscard]] static const certificates& get() {
    static const certificates one;
    return one;
  }

  [[nodiscard]] const std::string& authority() const { return authority_.certificate; }
  [[nodiscard]] const std::string& other_authority() const { return other_.certificate; }

  static constexpr std::string_view password = "open-sesame";

 private:
  temporary_folder folder_;
  identity authority_ = self_signed("authority");
  identity other_ = self_signed("other");

 public:
  /// For 127.0.0.1, ::1, localhost and front.test.
  const identity server = sign("server", authority_, loopback_names, "2");
  /// The same, until yesterday.
  const identity expired = sign("expired", authority_, loopback_names, "-1");
  /// For elsewhere.test alone.
  const identity elsewhere = sign("elsewhere", authority_, "DNS:elsewhere.test", "2");
  /// A client's, with its key in the clear and locked with `password`.
  const identity client = sign("client", authority_, "DNS:client.test", "2");
  const std::string locked_key = lock(client.key);
  /// A client's that the other authority signed.
  const identity stranger = sign("stranger", other_, "DNS:client.test", "2");

 private:
  static constexpr const char* loopback_names = "IP:127.0.0.1,IP:::1,DNS:localhost,DNS:front.test";

  void openssl(std::vector<std::string> arguments) const {
    served_process tool(program("openssl"), std::move(arguments), folder_.path("log"));
    if (tool.ended() != 0) throw std::runtime_error("openssl failed\n" + tool.said());
  }

  identity self_signed(const std::string& name) const {
    const identity made{folder_.path(name + ".pem"), folder_.path(name + ".key")};
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=" + name, "-keyout", made.key, "-out", made.certificate});
    return made;
  }

  identity sign(const std::string& name, const identity& by, const std::string& names, const std::string& days) const {
    const identity made{folder_.path(name + ".pem"), folder_.path(name + ".key")};
    const std::string asked = folder_.path(name + ".csr");
    openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + name,
             "-keyout", made.key, "-out", asked});
    openssl({"x509", "-req", "-in", asked, "-CA", by.certificate, "-CAkey", by.key, "-CAcreateserial", "-days", days,
             "-extfile", folder_.write(name + ".ext", "subjectAltName=" + names + "\n"), "-out", made.certificate});
    return made;
  }

  std::string lock(const std::string& key) const {
    const std::string locked = folder_.path("locked.key");
    openssl({"pkey", "-in", key, "-aes256", "-passout", "pass:" + std::string(password), "-out", locked});
    return locked;
  }
};

}  // namespace sluice::http::test
