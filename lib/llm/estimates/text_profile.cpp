#include <sluice/llm/text_profile.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace sluice::llm {

namespace {

using bytes = signed char __attribute__((vector_size(16)));
using halves = std::uint64_t __attribute__((vector_size(16)));
constexpr std::size_t width = sizeof(bytes);

// As signed numbers bytes beyond ASCII are negative, in order: continuations, then first bytes.
constexpr signed char signed_byte(int byte) noexcept { return static_cast<signed char>(byte); }

/// Bytes at or above each of these, ASCII left aside: the differences are the kinds of first bytes.
enum threshold : std::size_t { any, first, greek, cyrillic_begin, cyrillic_end, three, signs, east, four, thresholds };
constexpr std::array<signed char, thresholds> least{signed_byte(0x80), signed_byte(0xC0), signed_byte(0xCE),
                                                    signed_byte(0xD0), signed_byte(0xD4), signed_byte(0xE0),
                                                    signed_byte(0xE2), signed_byte(0xE3), signed_byte(0xF0)};

/// Sums of bytes that are 0 or -1; emptied before any of them could wrap.
class tally {
 public:
  static constexpr int most = 127;
  void add(bytes truths) noexcept { sums_ += truths; }
  std::int64_t take() noexcept {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < width; ++i) total -= sums_[i];
    sums_ = bytes{};
    return total;
  }

 private:
  bytes sums_{};
};

class counter {
 public:
  void add(const char* at, std::size_t blocks) noexcept {
    while (blocks > 0) {
      const std::size_t batch = std::min<std::size_t>(blocks, tally::most);
      for (std::size_t i = 0; i < batch; ++i) add(at + i * width);
      marks += marks_.take();
      if (beyond_ascii_) take_beyond();
      at += batch * width;
      blocks -= batch;
    }
  }

  std::int64_t marks = 0;
  std::array<std::int64_t, thresholds> above{};

 private:
  void add(const char* at) noexcept {
    bytes block;
    std::memcpy(&block, at, width);
    const bytes letter = ((block | 0x20) >= 'a') & ((block | 0x20) <= 'z');
    marks_.add((block > ' ') & ~letter);
    halves words;
    std::memcpy(&words, &block, width);
    if (((words[0] | words[1]) & 0x8080808080808080U) == 0) return;
    beyond_ascii_ = true;
    const bytes negative = block < 0;
    for (std::size_t i = 0; i < thresholds; ++i) above_[i].add(negative & (block >= least[i]));
  }

  void take_beyond() noexcept {
    for (std::size_t i = 0; i < thresholds; ++i) above[i] += above_[i].take();
    beyond_ascii_ = false;
  }

  tally marks_;
  std::array<tally, thresholds> above_{};
  bool beyond_ascii_ = false;
};

/// Tokens for each character of ASCII of which this share is marks: on straight lines between what was measured.
double density(double share, const text_ratios& by) noexcept {
  class knot {
   public:
    double share;
    double density;
  };
  const std::array<knot, 4> line{
      {{0.08, 1 / by.prose}, {0.18, 1 / by.code}, {0.35, 1 / by.json}, {0.75, 1 / by.numbers}}};
  if (share <= line.front().share) return line.front().density;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (share > line[i].share) continue;
    const double part = (share - line[i - 1].share) / (line[i].share - line[i - 1].share);
    return line[i - 1].density + part * (line[i].density - line[i - 1].density);
  }
  return line.back().density;
}

}  // namespace

void text_profile::add(std::string_view piece) noexcept {
  counter seen;
  const std::size_t whole = piece.size() / width;
  seen.add(piece.data(), whole);
  if (const std::size_t rest = piece.size() % width; rest > 0) {
    // Zeros are ASCII, and no marks.
    std::array<char, width> last{};
    std::memcpy(last.data(), piece.data() + whole * width, rest);
    seen.add(last.data(), 1);
  }
  const auto& above = seen.above;
  ascii += static_cast<std::int64_t>(piece.size()) - above[any];
  marks += seen.marks;
  accented += above[first] - above[greek] + above[signs] - above[east];
  cyrillic += above[cyrillic_begin] - above[cyrillic_end];
  other += above[greek] - above[cyrillic_begin] + above[cyrillic_end] - above[signs];
  cjk += above[east] - above[four];
  emoji += above[four];
  // A piece may begin or end within a character; what is beyond that belongs to none.
  const std::int64_t continuations = above[any] - above[first];
  const std::int64_t wanted = above[first] + above[three] + above[four];
  other += std::max<std::int64_t>(0, continuations - wanted - 3);
}

double text_profile::exact(const text_ratios& by) const noexcept {
  double sum = 0;
  if (ascii > 0) {
    sum += static_cast<double>(ascii) * density(static_cast<double>(marks) / static_cast<double>(ascii), by);
  }
  sum += static_cast<double>(accented) / by.accented + static_cast<double>(cyrillic) / by.cyrillic +
         static_cast<double>(cjk) / by.cjk + static_cast<double>(other) / by.other +
         static_cast<double>(emoji) / by.emoji;
  return sum;
}

std::int64_t text_profile::tokens(const text_ratios& by) const noexcept { return whole_tokens(exact(by)); }

std::int64_t whole_tokens(double exact) noexcept {
  constexpr double most = 0x1p62;
  if (!(exact > 0)) return 0;
  if (exact >= most) return static_cast<std::int64_t>(most);
  return static_cast<std::int64_t>(std::ceil(exact * (1 - 1e-12)));
}

std::int64_t count_tokens(std::string_view text, const text_ratios& by) noexcept {
  text_profile seen;
  seen.add(text);
  return seen.tokens(by);
}

}  // namespace sluice::llm
