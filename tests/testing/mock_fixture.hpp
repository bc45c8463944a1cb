/// \file
/// Requests in each dialect, and the reading of what comes back, for the tests of the mock provider.
#pragma once

#include "testing/loopback_client.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::testing {

using nlohmann::json;

inline constexpr const char* chat_path = "/v1/chat/completions";
inline constexpr const char* responses_path = "/v1/responses";
inline constexpr const char* messages_path = "/v1/messages";
inline constexpr const char* version_line = "anthropic-version: 2023-06-01\r\n";

inline json chat(std::string text = "Hello there", bool stream = false) {
  json body{{"model", "m"}, {"messages", {{{"role", "user"}, {"content", std::move(text)}}}}};
  if (stream) body["stream"] = true;
  return body;
}

inline json streamed(std::string text = "Hello there") {
  auto body = chat(std::move(text), true);
  body["stream_options"] = {{"include_usage", true}};
  return body;
}

inline json responses(std::string text = "Hello there", bool stream = false) {
  json body{{"model", "m"}, {"input", std::move(text)}};
  if (stream) body["stream"] = true;
  return body;
}

inline json messages(std::string text = "Hello there", bool stream = false) {
  auto body = chat(std::move(text), stream);
  body["max_tokens"] = 1000;
  return body;
}

inline void send(loopback_client& client, const json& body, std::string_view headers = {}) {
  client.send("POST", chat_path, body.dump(), headers);
}

inline loopback_reply post(loopback_client& client, const json& body, std::string_view headers = {}) {
  return client.ask("POST", chat_path, body.dump(), headers);
}

inline loopback_reply post_responses(loopback_client& client, const json& body, std::string_view headers = {}) {
  return client.ask("POST", responses_path, body.dump(), headers);
}

inline loopback_reply post_messages(loopback_client& client, const json& body, std::string headers = {}) {
  return client.ask("POST", messages_path, body.dump(), version_line + headers);
}

/// The data of each event; fails on anything that is no `data: ` line.
inline std::vector<std::string> events(const std::string& body, const std::string& line_end = "\n") {
  std::vector<std::string> all;
  std::size_t at = 0;
  while (at < body.size()) {
    const auto end = body.find(line_end + line_end, at);
    REQUIRE(end != std::string::npos);
    REQUIRE(body.compare(at, 6, "data: ") == 0);
    all.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2 * line_end.size();
  }
  return all;
}

/// The data of each event that has a name; fails where name and `type` are not one.
inline std::vector<json> named_events(const std::string& body, const std::string& line_end = "\n") {
  std::vector<json> all;
  std::size_t at = 0;
  while (at < body.size()) {
    REQUIRE(body.compare(at, 7, "event: ") == 0);
    const auto name_end = body.find(line_end, at);
    const auto name = body.substr(at + 7, name_end - at - 7);
    const auto data = name_end + line_end.size();
    REQUIRE(body.compare(data, 6, "data: ") == 0);
    const auto end = body.find(line_end + line_end, data);
    REQUIRE(end != std::string::npos);
    all.push_back(json::parse(body.substr(data + 6, end - data - 6)));
    REQUIRE(all.back()["type"] == name);
    at = end + 2 * line_end.size();
  }
  return all;
}

inline std::vector<std::string> types_of(const std::vector<json>& all) {
  std::vector<std::string> types;
  for (const auto& each : all) types.push_back(each["type"]);
  return types;
}

inline std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

}  // namespace sluice::testing
