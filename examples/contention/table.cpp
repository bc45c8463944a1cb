#include "table.hpp"

#include <algorithm>

namespace contention {
namespace {

constexpr std::size_t gap = 2;

}  // namespace

std::string table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::size_t whole = 0;
  for (const auto width : widths) whole += width + gap;

  std::string all;
  for (const auto& row : rows_) {
    if (row.empty()) {
      all += std::string(whole - std::min(whole, gap), '-') + '\n';
      continue;
    }
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      if (i > 0) line.append(gap, ' ');
      line += i < left_ ? row[i] + blanks : blanks + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + '\n';
  }
  return all;
}

}  // namespace contention
