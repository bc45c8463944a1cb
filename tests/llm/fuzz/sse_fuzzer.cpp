// Any bytes, cut anywhere: no crash, within the limit, and the same events as uncut.
#include <sluice/llm/sse_parser.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t limit = 256;

// What is seen, in one text; ends at the first error, which is part of it.
std::string run(std::string_view text, std::size_t step) {
  sluice::llm::sse_parser parser(limit);
  std::string seen;
  const auto note = [&seen](const auto& event) {
    if (!event) {
      seen += "!";
      return false;
    }
    if (!*event) return false;
    if ((*event)->data.size() > limit) std::abort();
    for (const auto part : {(*event)->type, (*event)->data, (*event)->id})
      seen += std::to_string(part.size()) + ':' + std::string(part);
    seen += (*event)->unterminated ? '~' : '.';
    return true;
  };
  for (std::size_t at = 0; at < text.size(); at += step) {
    // A copy of its own, so that a read beyond its end is found.
    const std::string_view piece = text.substr(at, step);
    const std::vector<char> copy(piece.begin(), piece.end());
    parser.push(std::string_view(copy.data(), copy.size()));
    while (note(parser.next())) {
    }
    if (seen.ends_with('!')) return seen;
  }
  note(parser.finish());
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const std::string whole = run(text, text.size() + 1);
  const std::string cut = run(text, 1 + bytes[0] % 16);
  // A limit may be found a little earlier when a line has not ended yet.
  if (whole != cut && !whole.ends_with('!') && !cut.ends_with('!')) std::abort();
  return 0;
}
