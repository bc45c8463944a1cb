/// \file
/// `output_counter`: how many tokens an answer under way has taken, by what can be seen of it.
#pragma once

#include <sluice/llm/reply.hpp>
#include <sluice/llm/text_profile.hpp>
#include <sluice/llm/text_ratios.hpp>

#include <cstddef>
#include <cstdint>

namespace sluice::llm::detail {

/// Looks at each byte once, however often it is asked. Numbers alone.
class output_counter {
 public:
  /// `so_far` only grows. Of `produced_bytes`, what is not in its texts is taken for JSON of tool calls.
  [[nodiscard]] std::int64_t count(const reply& so_far, std::int64_t produced_bytes, const text_ratios& by) noexcept;

 private:
  void add(const std::string& text, std::size_t& seen) noexcept;

  text_profile words_;
  std::size_t text_ = 0;
  std::size_t reasoning_ = 0;
  std::size_t refusal_ = 0;
};

}  // namespace sluice::llm::detail
