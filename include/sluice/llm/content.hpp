/// \file
/// `content_part`: what a message may hold beside its text; `opaque_block`: what only its provider understands.
#pragma once

#include <sluice/llm/dialect.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace sluice::llm {

/// A part of a message. A plain value, made by the named functions.
class content_part {
 public:
  /// What it is.
  enum class kind : std::uint8_t {
    /// Words.
    text,
    /// A picture, by its address or in the request.
    image,
    /// A document (PDF, as a rule) in the request.
    file,
    /// JSON of one dialect's, sent as it is.
    native,
  };

  [[nodiscard]] static content_part words(std::string said);
  /// `url`: http(s), as the provider fetches it.
  [[nodiscard]] static content_part image_url(std::string url);
  /// `base64`: the bytes of the picture, encoded; `media_type` such as `image/png`.
  [[nodiscard]] static content_part image(std::string media_type, std::string base64);
  [[nodiscard]] static content_part file(std::string name, std::string media_type, std::string base64);
  /// `json`: one object of the message's content in the dialect that is spoken, verbatim.
  [[nodiscard]] static content_part native(dialect spoken, std::string json);

  kind what = kind::text;
  /// Of `text`: the words. Of `image` by address: the address. Of `image` and `file` by content: base64. Of `native`:
  /// JSON.
  std::string content;
  /// Of `image` and `file` by content; empty for an image by address.
  std::string media_type;
  /// Of `file`.
  std::string name;
  /// Of `native`.
  dialect spoken = dialect::openai_chat;

 private:
  explicit content_part(kind which, std::string holds) : what(which), content(std::move(holds)) {}
};

/// A block of an answer that means something to its provider alone, and wants to be handed back unchanged with the
/// conversation: signed thoughts, encrypted reasoning. `request::assistant(reply)` does so. A plain value.
class opaque_block {
 public:
  opaque_block(dialect whose, std::string text) : spoken(whose), json(std::move(text)) {}
  dialect spoken;
  /// One JSON object, as it came.
  std::string json;
  friend bool operator==(const opaque_block&, const opaque_block&) = default;
};

}  // namespace sluice::llm
