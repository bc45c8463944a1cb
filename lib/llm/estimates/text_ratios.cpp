#include <sluice/llm/text_ratios.hpp>

#include <array>

namespace sluice::llm {

namespace {

class family {
 public:
  std::string_view prefix;
  const text_ratios* ratios;
};

// The first that fits counts, so what is more exact comes first.
constexpr std::array<family, 18> known{{
    {"gpt-3.5", &families::openai_cl100k},
    {"gpt-35", &families::openai_cl100k},
    {"gpt-4o", &families::openai_o200k},
    {"gpt-4.", &families::openai_o200k},
    {"gpt-4", &families::openai_cl100k},
    {"gpt-", &families::openai_o200k},
    {"chatgpt", &families::openai_o200k},
    {"o1", &families::openai_o200k},
    {"o3", &families::openai_o200k},
    {"o4", &families::openai_o200k},
    {"codex", &families::openai_o200k},
    {"text-embedding-", &families::openai_cl100k},
    {"claude", &families::anthropic},
    {"llama-2", &families::generic},
    {"llama2", &families::generic},
    {"llama", &families::llama},
    {"meta-llama-3", &families::llama},
    {"meta-llama", &families::llama},
}};

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool begins(std::string_view name, std::string_view prefix) noexcept {
  if (name.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (lower(name[i]) != prefix[i]) return false;
  }
  return true;
}

const text_ratios* find(std::string_view name) noexcept {
  for (const family& one : known) {
    if (begins(name, one.prefix)) return one.ratios;
  }
  return nullptr;
}

}  // namespace

const text_ratios& ratios_for(std::string_view model) noexcept {
  if (const std::size_t slash = model.rfind('/'); slash != model.npos) model.remove_prefix(slash + 1);
  if (begins(model, "ft:")) model.remove_prefix(3);
  for (;;) {
    if (const text_ratios* const found = find(model)) return *found;
    const std::size_t dot = model.find('.');
    if (dot == model.npos) return families::generic;
    model.remove_prefix(dot + 1);
  }
}

}  // namespace sluice::llm
