/// \file
/// `estimator`: how many tokens a request will take, before anybody knows.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/llm/content.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/llm/text_ratios.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace sluice::llm {

/// Gives the cost to reserve for a request. Asked once for each admission, on the caller's thread; it must be callable
/// from several at once. What it gives is checked: a negative number, no slot, or more output than tokens is
/// `errc::invalid_argument`, and nothing is reserved.
using estimator = std::function<cost(const request&)>;

/// A request's length in tokens, by its parts. Numbers alone.
struct request_size {
  /// What is said, tools and schemas, and the constants for each message.
  std::int64_t text = 0;
  /// Pictures and files, at their prices.
  std::int64_t attachments = 0;
  /// One answer: the request's limit, or the default for requests that have none.
  std::int64_t output = 0;
  /// How many answers it asks for (`extra("n", "3")`).
  std::int64_t answers = 1;
  friend constexpr bool operator==(const request_size&, const request_size&) noexcept = default;
};

/// The default estimator: text by the ratios of the model's family, tool schemas and arguments as JSON, a constant for
/// each message, and a price for each picture and file; output is the request's limit, or a default, for each answer
/// that is asked for. Sums are held at 2^62. A plain value. A client corrects what this one estimates by what it
/// learns; what another estimator gives is taken as it is.
///
/// ```cpp
/// sluice::llm::character_estimator estimate;
/// estimate.image_tokens = 765;  // what a picture of 1,024 x 1,024 costs with gpt-4o
/// sluice::llm::client_options server("https://api.openai.com/v1", key);
/// server.estimator = estimate;
/// ```
class character_estimator {
 public:
  character_estimator() = default;

  [[nodiscard]] cost operator()(const request& asked) const;
  /// The same, by parts.
  [[nodiscard]] request_size measure(const request& asked) const;
  /// One message, with its constant and its attachments.
  [[nodiscard]] std::int64_t tokens_of(const message& said, std::string_view model) const;

  /// In place of the ratios of the model's family (`ratios_for`).
  std::optional<text_ratios> ratios;
  /// What a message costs beyond its text.
  std::int64_t tokens_per_message = 4;
  /// Reserved for the output when the request has no limit and nothing has been learned yet.
  std::int64_t default_output_tokens = 2'048;
  /// For each picture. The default is about what a large one takes at most: 1,445 with gpt-4o, 1,600 with most of
  /// Claude; small ones take less, some models more.
  std::int64_t image_tokens = 1'600;
  /// For each file: two pages of a PDF at the 3,000 tokens a page that Anthropic names as the most.
  std::int64_t file_tokens = 6'000;
  /// In place of both, when not empty: the price of a part that is no words.
  std::function<std::int64_t(const content_part&)> part_tokens;
  /// Added to `default_output_tokens` for thinking of effort `medium`, or one whose name says nothing. `low` is half of
  /// it, `high` twice, `xhigh` and `max` four times, `minimal` a sixteenth, `none` nothing. A request's own limit holds
  /// its thinking too.
  std::int64_t reasoning_tokens = 2'048;
};

/// Tokens in so many bytes of text: a quarter, rounded up. For bytes whose text is not known; `count_tokens` is closer.
[[nodiscard]] constexpr std::int64_t estimate_tokens(std::int64_t bytes) noexcept {
  return bytes <= 0 ? 0 : (bytes - 1) / 4 + 1;
}

}  // namespace sluice::llm
