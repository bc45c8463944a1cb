#include "markup.hpp"

#include <cmath>
#include <cstdio>

namespace sluice_sim {

std::string escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char each : text) {
    switch (each) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += each;
    }
  }
  return safe;
}

std::string figure(double value) {
  if (!std::isfinite(value)) return "none";
  char text[48];
  std::snprintf(text, sizeof text, std::abs(value) >= 1'000 && std::abs(value) < 1e12 ? "%.0f" : "%.4g", value);
  return text;
}

std::string short_figure(double value) {
  if (std::abs(value) >= 1e6) return figure(value / 1e6) + " M";
  if (std::abs(value) >= 1e4) return figure(value / 1e3) + " k";
  return figure(value);
}

std::string px(double value) {
  const long long tenths = std::llround(value * 10);
  std::string text = tenths < 0 ? "-" : "";
  text += std::to_string(std::llabs(tenths) / 10);
  if (tenths % 10 != 0) text.append(".").append(std::to_string(std::llabs(tenths) % 10));
  return text;
}

std::string attribute(std::string_view name, std::string_view value) {
  std::string text(" ");
  text.append(name).append("=\"").append(escaped(value)).append("\"");
  return text;
}

}  // namespace sluice_sim
