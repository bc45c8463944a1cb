#include <sluice/llm/client_options.hpp>

#include "llm/base_url.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <string>

using sluice::errc;
using sluice::llm::below;
using sluice::llm::client_options;

namespace {

std::string problem(const client_options& options) {
  const auto holds = sluice::llm::validate(options);
  if (holds) return {};
  CHECK(holds.error().is(errc::invalid_configuration));
  return holds.error().message();
}

}  // namespace

TEST_CASE("addresses that hold") {
  for (const char* url : {"https://api.openai.com/v1", "http://127.0.0.1:8080/v1", "HTTP://[::1]:80", "http://host",
                          "https://x.azure.com/openai/deployments/d?api-version=2024-10-21"}) {
    CAPTURE(url);
    CHECK(problem(client_options(url)).empty());
  }
}

TEST_CASE("addresses that do not, and the message names base_url but does not quote it") {
  for (const char* url : {"", "api.openai.com/v1", "ftp://host/v1", "http://", "https:///v1",
                          "http://user:hunter2@host/v1", "http://key@host", "http://host:0/v1", "http://host:99999/v1",
                          "http://host:8o/v1", "http://ho st/v1", "http://host/v1#top", "http://[::1/v1",
                          "http://host\r\nx: y/", "http://[]/", "http://host\\@other/", "http://[::1]x/"}) {
    CAPTURE(url);
    const std::string message = problem(client_options(url));
    CHECK(message.starts_with("base_url "));
    CHECK(message.find("hunter2") == std::string::npos);
  }
}

TEST_CASE("the other settings are named too") {
  const auto with = [](auto change) {
    client_options options("http://host");
    change(options);
    return problem(options);
  };
  CHECK(with([](auto& o) { o.api_key = "sk-1\nx"; }).starts_with("api_key"));
  CHECK(with([](auto& o) { o.api_key = "sk-1\nx"; }).find("sk-1") == std::string::npos);
  CHECK(with([](auto& o) { o.headers.emplace_back("a b", "c"); }).starts_with("headers"));
  CHECK(with([](auto& o) { o.headers.emplace_back("a", "c\r\n"); }).starts_with("headers"));
  CHECK(with([](auto& o) { o.estimator = nullptr; }).starts_with("estimator"));
  CHECK(with([](auto& o) { o.max_event = 0; }).starts_with("max_event"));
  CHECK(with([](auto& o) { o.max_body = 0; }).starts_with("max_body"));
  CHECK(with([](auto& o) { o.reconcile_every = 0; }).starts_with("reconcile_every"));
}

TEST_CASE("settings of estimates are named with what they are") {
  const auto with = [](auto change) {
    client_options options("http://host");
    change(options);
    return problem(options);
  };
  const auto estimating = [&with](auto change) {
    return with([&change](auto& o) {
      sluice::llm::character_estimator estimate;
      change(estimate);
      o.estimator = estimate;
    });
  };
  CHECK(with([](auto& o) { o.unlimited_output_quantile = 0; }) ==
        "unlimited_output_quantile = 0.000000; must be above 0 and at most 1");
  CHECK(with([](auto& o) { o.unlimited_output_quantile = std::nan(""); }).starts_with("unlimited_output_quantile"));
  CHECK(with([](auto& o) { o.unlimited_output_quantile = 1; }).empty());
  CHECK(with([](auto& o) { o.output_quantile = 1.01; }).starts_with("output_quantile = 1.01"));
  CHECK(with([](auto& o) { o.output_quantile = 0.9; }).empty());
  CHECK(with([](auto& o) { o.default_max_tokens = 0; }).starts_with("default_max_tokens"));
  CHECK(with([](auto& o) { o.anthropic_version = "2023\n"; }).starts_with("anthropic_version"));
  CHECK(with([](auto& o) { o.unread = std::chrono::seconds(-1); }).starts_with("unread is negative"));
  CHECK(with([](auto& o) { o.unread = sluice::duration::zero(); }).empty());
  CHECK(with([](auto& o) { o.retry.max_attempts = 0; }).starts_with("retry.max_attempts"));
  CHECK(estimating([](auto& e) { e.image_tokens = -1; }) == "estimator.image_tokens = -1; must not be negative");
  CHECK(estimating([](auto& e) { e.file_tokens = -1; }).starts_with("estimator.file_tokens"));
  CHECK(estimating([](auto& e) { e.tokens_per_message = -1; }).starts_with("estimator.tokens_per_message"));
  CHECK(estimating([](auto& e) { e.default_output_tokens = -1; }).starts_with("estimator.default_output_tokens"));
  CHECK(estimating([](auto& e) { e.reasoning_tokens = -1; }).starts_with("estimator.reasoning_tokens"));
  CHECK(estimating([](auto& e) { e.ratios = sluice::llm::text_ratios{.cjk = 0}; }) ==
        "estimator.ratios.cjk = 0.000000; must be from 0.01 to 1000");
  CHECK(estimating([](auto& e) {
          e.ratios = sluice::llm::text_ratios{.prose = std::nan("")};
        }).starts_with("estimator.ratios.prose"));
  CHECK(estimating([](auto& e) { e.ratios = sluice::llm::families::anthropic; }).empty());
}

TEST_CASE("paths go below the base, before its query") {
  CHECK(below("http://h/v1", "/chat") == "http://h/v1/chat");
  CHECK(below("http://h/v1/", "/chat") == "http://h/v1/chat");
  CHECK(below("http://h", "/chat") == "http://h/chat");
  CHECK(below("http://h/d?api-version=1", "/chat") == "http://h/d/chat?api-version=1");
}
