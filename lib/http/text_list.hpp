/// \file
/// `text_list`: lines of text as the linked list that libcurl takes, which reads it where it lies: no copy of each
/// line, no list to free.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sluice::http {

class text_list {
 public:
  text_list() = default;
  explicit text_list(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  void clear() noexcept { lines_.clear(); }
  void add(std::string line) { lines_.push_back(std::move(line)); }

  /// The list, or null when it is empty. Valid until lines are added or taken, or this object is moved.
  [[nodiscard]] curl_slist* link() {
    nodes_.resize(lines_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].data = lines_[i].data();
      nodes_[i].next = i + 1 < nodes_.size() ? &nodes_[i + 1] : nullptr;
    }
    return nodes_.empty() ? nullptr : nodes_.data();
  }

 private:
  std::vector<std::string> lines_;
  std::vector<curl_slist> nodes_;
};

}  // namespace sluice::http
