/// \file
/// `table`: rows of text in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace contention {

/// The first `left` columns are set to the left, the rest to the right. A plain value.
class table {
 public:
  explicit table(std::size_t left) : left_(left) {}

  /// Rows may differ in length; what is missing is empty.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// A rule across the table.
  void add_rule() { rows_.emplace_back(); }

  /// Lines that end in a line feed, without trailing blanks. Widths are counted in bytes.
  [[nodiscard]] std::string text() const;

 private:
  std::size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace contention
