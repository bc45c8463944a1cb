#include "llm/wire_format.hpp"

#include "llm/chat_decoder.hpp"
#include "llm/chat_encoder.hpp"

namespace sluice::llm {

namespace {

class chat_format final : public wire_format {
 public:
  [[nodiscard]] std::string_view path() const noexcept override { return "/chat/completions"; }
  void add_headers(http::request&, const client_options&) const override {}
  [[nodiscard]] expected<std::string, error> encode(const request& asked, const encoding& how) const override {
    return encode_chat(asked, how);
  }
  [[nodiscard]] std::unique_ptr<answer_decoder> decoder(std::string_view secret) const override {
    return std::make_unique<chat_decoder>(secret);
  }
};

}  // namespace

const wire_format& wire_format_of(dialect which) noexcept {
  static const chat_format chat;
  switch (which) {
    case dialect::openai_chat: return chat;
    case dialect::openai_responses: return chat;
    case dialect::anthropic_messages: return chat;
  }
  return chat;
}

}  // namespace sluice::llm
