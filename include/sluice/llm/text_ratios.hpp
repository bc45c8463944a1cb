/// \file
/// `text_ratios`: how many characters make a token, by kind of text, for each family of models.
#pragma once

#include <string_view>
#include <type_traits>

namespace sluice::llm {

/// Characters (code points) of each kind to a token; all positive. Approximations: nothing but the model's own
/// tokenizer knows, and what a client learns from the provider's reports corrects them.
///
/// Source: measured with the public tokenizers of the families on the Declaration of Human Rights in 23 languages, on
/// licences and manuals, C++, Python, JavaScript and shell sources, package descriptions and tables in JSON, and
/// rounded towards more tokens. Plain prose is set to the rule of thumb that the provider itself gives, which lies some
/// 20 % on the safe side of long formal English.
struct text_ratios {
  /// ASCII that is nearly all words.
  double prose = 4.0;
  /// Source code: about one character in five is a digit or a mark.
  double code = 3.3;
  /// JSON: one in three.
  double json = 3.0;
  /// Tables of numbers, hexadecimal: three in four.
  double numbers = 2.0;
  /// Latin letters with accents, and signs such as dashes and typographic quotes. Below 1, since they split the words
  /// they are in.
  double accented = 0.5;
  double cyrillic = 2.0;
  /// Chinese, Japanese, Korean.
  double cjk = 1.0;
  /// Greek, Hebrew, Arabic, Indic and all other scripts.
  double other = 1.2;
  /// What takes four bytes: emoji, rare characters.
  double emoji = 0.4;
  friend constexpr bool operator==(const text_ratios&, const text_ratios&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<text_ratios> && std::is_aggregate_v<text_ratios>);

/// Families of models. A new one is `ratios` of your own in the estimator.
namespace families {

/// Whatever is not known: between the others.
inline constexpr text_ratios generic{};
/// OpenAI since gpt-4o: the vocabulary `o200k`, which knows more languages.
inline constexpr text_ratios openai_o200k{.accented = 0.8, .cyrillic = 3.0, .cjk = 1.2, .other = 2.6, .emoji = 0.5};
/// OpenAI before that, to gpt-4-turbo: `cl100k`.
inline constexpr text_ratios openai_cl100k{.accented = 0.4, .cyrillic = 1.8, .cjk = 0.8, .other = 1.0, .emoji = 0.4};
/// Anthropic: its rule of thumb for prose; the rest by the tokenizer it published for Claude 2, less a fifth, because
/// the later ones are not public and make more tokens of the same text.
inline constexpr text_ratios anthropic{.prose = 3.5,
                                       .code = 2.8,
                                       .json = 2.5,
                                       .numbers = 1.6,
                                       .accented = 0.3,
                                       .cyrillic = 1.5,
                                       .cjk = 0.7,
                                       .other = 0.7,
                                       .emoji = 0.3};
/// Llama 3 and later.
inline constexpr text_ratios llama{.accented = 0.5, .cyrillic = 3.2, .cjk = 1.2, .other = 1.3, .emoji = 0.4};

}  // namespace families

/// The family of a model, by the beginning of its name, in whatever case; what stands before a slash (`openai/gpt-4o`),
/// `ft:` and a region or maker with a dot (`us.anthropic.claude-...`) is passed over. `families::generic` for names
/// that say nothing.
///
/// ```cpp
/// static_assert(sluice::llm::families::openai_o200k.cjk == 1.2);
/// const auto ratios = sluice::llm::ratios_for("gpt-4o-mini");  // families::openai_o200k
/// ```
[[nodiscard]] const text_ratios& ratios_for(std::string_view model) noexcept;

}  // namespace sluice::llm
