/// \file
/// What is wrong with HTML that is meant to be XML as well, and the numbers that its drawings are made of.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice_sim {

/// The first fault: a tag that is not closed in its turn, an attribute without quotes or given twice, a bare `&` or
/// `<`, an id that stands twice or a reference to none. Empty when there is none.
inline std::string markup_fault(std::string_view text) {
  std::vector<std::string> open;
  std::set<std::string> ids;
  std::vector<std::string> references;
  const auto name_at = [&](std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-')) ++end;
    return std::string(text.substr(at, end - at));
  };
  const auto around = [&](std::size_t at) { return std::string(text.substr(at > 20 ? at - 20 : 0, 80)); };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '&') {
      const auto end = text.find(';', at);
      if (end == std::string_view::npos || end - at > 7 || end - at < 3) return "a bare &: " + around(at);
      at = end + 1;
      continue;
    }
    if (text[at] != '<') {
      ++at;
      continue;
    }
    if (text.substr(at).starts_with("<!DOCTYPE html>") && at == 0) {
      at = 15;
      continue;
    }
    if (text.substr(at).starts_with("</")) {
      const std::string name = name_at(at + 2);
      if (open.empty() || open.back() != name) return "closes what is not open: " + around(at);
      open.pop_back();
      at += 2 + name.size();
      if (at >= text.size() || text[at] != '>') return "no end of a tag: " + around(at);
      ++at;
      continue;
    }
    const std::string tag = name_at(at + 1);
    if (tag.empty()) return "a bare <: " + around(at);
    at += 1 + tag.size();
    std::set<std::string> attributes;
    for (;;) {
      while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
      if (at >= text.size()) return "no end of a tag " + tag;
      if (text[at] == '>') {
        open.push_back(tag);
        ++at;
        break;
      }
      if (text.substr(at).starts_with("/>")) {
        at += 2;
        break;
      }
      const std::string name = name_at(at);
      if (name.empty() || !attributes.insert(name).second) return "an attribute: " + around(at);
      at += name.size();
      if (!text.substr(at).starts_with("=\"")) return "an attribute without quotes: " + around(at);
      const auto end = text.find('"', at + 2);
      if (end == std::string_view::npos) return "an attribute without an end: " + around(at);
      const std::string value(text.substr(at + 2, end - at - 2));
      if (value.find('<') != std::string::npos) return "a bare < in an attribute: " + around(at);
      if (name == "id" && !ids.insert(value).second) return "an id twice: " + value;
      if (name == "href" && value.starts_with("#")) references.push_back(value.substr(1));
      if (const auto url = value.find("url(#"); url != std::string::npos) {
        references.push_back(value.substr(url + 5, value.find(')', url) - url - 5));
      }
      at = end + 1;
    }
  }
  if (!open.empty()) return "never closed: " + open.back();
  for (const auto& each : references) {
    if (!ids.contains(each)) return "a reference to nothing: " + each;
  }
  return {};
}

struct read_number {
  std::string text;
  double value = 0;
};

/// Those in the attributes that place things: paths, points, coordinates, sizes and scales. What is none there, such as
/// `nan`, comes as not a number.
inline std::vector<read_number> numbers_of_drawings(std::string_view text) {
  std::vector<read_number> all;
  for (const std::string_view attribute :
       {" d=\"", " points=\"", " x=\"", " y=\"", " width=\"", " height=\"", " viewBox=\"", " data-scales=\""}) {
    for (std::size_t at = 0; (at = text.find(attribute, at)) != std::string_view::npos;) {
      at += attribute.size();
      std::string inside(text.substr(at, text.find('"', at) - at));
      for (const char* word : {"factors", "even"}) {
        if (inside.ends_with(word)) inside.resize(inside.size() - std::string_view(word).size());
      }
      for (char& each : inside) {
        if (std::string_view("MLHVhvz,").find(each) != std::string_view::npos) each = ' ';
      }
      for (std::size_t begin = 0; (begin = inside.find_first_not_of(' ', begin)) != std::string::npos;) {
        const auto end = std::min(inside.find(' ', begin), inside.size());
        const std::string word = inside.substr(begin, end - begin);
        char* rest = nullptr;
        const double value = std::strtod(word.c_str(), &rest);
        all.push_back({word, *rest == '\0' ? value : std::strtod("nan", nullptr)});
        begin = end;
      }
    }
  }
  return all;
}

}  // namespace sluice_sim
