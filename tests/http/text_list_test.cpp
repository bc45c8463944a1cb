#include "http/text_list.hpp"

#include <doctest/doctest.h>

using sluice::http::text_list;

namespace {

std::vector<std::string> walk(const curl_slist* from) {
  std::vector<std::string> seen;
  for (; from != nullptr; from = from->next) seen.emplace_back(from->data);
  return seen;
}

}  // namespace

TEST_CASE("an empty list is null") {
  text_list list;
  CHECK(list.link() == nullptr);
  list.add("a");
  list.clear();
  CHECK(list.link() == nullptr);
}

TEST_CASE("lines are linked in their order, and again after a change") {
  text_list list(std::vector<std::string>{"a", "b"});
  CHECK(walk(list.link()) == std::vector<std::string>{"a", "b"});
  for (int i = 0; i < 100; ++i) list.add("line");
  CHECK(walk(list.link()).size() == 102);
  list.clear();
  list.add("only");
  CHECK(walk(list.link()) == std::vector<std::string>{"only"});
}
