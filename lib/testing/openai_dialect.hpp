/// \file
/// `openai_dialect`: what OpenAI's two interfaces have in common.
#pragma once

#include "testing/wire_dialect.hpp"

namespace sluice::testing {

class openai_dialect : public wire_dialect {
 public:
  [[nodiscard]] wire_error usual_error(int status, std::string message = {}, bool quota = false) const override;
  [[nodiscard]] std::string error_body(const wire_error& error, std::string_view request_id) const override;
  [[nodiscard]] std::string models_body(const std::vector<std::string>& names) const override;
  [[nodiscard]] std::vector<http::header> headers(const wire_load& load, std::string_view request_id) const override;
};

}  // namespace sluice::testing
