#include "llm/dialects/wire_format.hpp"

#include "llm/dialects/chat_decoder.hpp"
#include "llm/dialects/chat_encoder.hpp"
#include "llm/dialects/messages_decoder.hpp"
#include "llm/dialects/messages_encoder.hpp"
#include "llm/dialects/responses_decoder.hpp"
#include "llm/dialects/responses_encoder.hpp"

namespace sluice::llm {

namespace {

class chat_format final : public wire_format {
 public:
  [[nodiscard]] std::string_view path() const noexcept override { return "/chat/completions"; }
  void add_headers(http::request&, const client_options&) const override {}
  [[nodiscard]] expected<std::string, error> encode(const request& asked, const encoding& how) const override {
    return encode_chat(asked, how);
  }
  [[nodiscard]] std::unique_ptr<answer_decoder> decoder(const secrets& hidden) const override {
    return std::make_unique<chat_decoder>(hidden);
  }
};

class responses_format final : public wire_format {
 public:
  [[nodiscard]] std::string_view path() const noexcept override { return "/responses"; }
  void add_headers(http::request&, const client_options&) const override {}
  [[nodiscard]] expected<std::string, error> encode(const request& asked, const encoding& how) const override {
    return encode_responses(asked, how);
  }
  [[nodiscard]] std::unique_ptr<answer_decoder> decoder(const secrets& hidden) const override {
    return std::make_unique<responses_decoder>(hidden);
  }
};

class messages_format final : public wire_format {
 public:
  [[nodiscard]] std::string_view path() const noexcept override { return "/messages"; }
  void add_headers(http::request& to, const client_options& options) const override {
    to.add_header("anthropic-version", options.anthropic_version);
  }
  [[nodiscard]] expected<std::string, error> encode(const request& asked, const encoding& how) const override {
    return encode_messages(asked, how);
  }
  [[nodiscard]] std::unique_ptr<answer_decoder> decoder(const secrets& hidden) const override {
    return std::make_unique<messages_decoder>(hidden);
  }
};

}  // namespace

const wire_format& wire_format_of(dialect which) noexcept {
  static const chat_format chat;
  static const responses_format responses;
  static const messages_format messages;
  switch (which) {
    case dialect::openai_chat: return chat;
    case dialect::openai_responses: return responses;
    case dialect::anthropic_messages: return messages;
  }
  return chat;
}

}  // namespace sluice::llm
