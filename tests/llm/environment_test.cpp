#include <sluice/llm/environment.hpp>

#include <sluice/llm/client_options.hpp>
#include <sluice/llm/runtime.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>

using sluice::errc;
using sluice::llm::client_options;
using sluice::llm::dialect;
using sluice::llm::environment;
using sluice::llm::key_header;

namespace {

using variables = std::map<std::string, std::string>;

environment with(variables set) {
  return [set = std::move(set)](const std::string& name) -> std::optional<std::string> {
    const auto at = set.find(name);
    if (at == set.end()) return std::nullopt;
    return at->second;
  };
}

client_options chosen(const variables& set) {
  auto options = client_options::from_env(with(set));
  REQUIRE(options);
  return *options;
}

std::string problem(const variables& set) {
  const auto options = client_options::from_env(with(set));
  if (options) return {};
  CHECK(options.error().is(errc::invalid_configuration));
  return options.error().message();
}

}  // namespace

TEST_CASE("OpenAI by its key, at its address or another") {
  const client_options plain = chosen({{"OPENAI_API_KEY", "sk-1"}});
  CHECK(plain.spoken == dialect::openai_chat);
  CHECK(plain.base_url == "https://api.openai.com/v1");
  CHECK(plain.api_key == "sk-1");
  CHECK(plain.key_as == key_header::bearer);
  const client_options moved = chosen({{"OPENAI_API_KEY", "sk-1"}, {"OPENAI_BASE_URL", "http://localhost:8000/v1"}});
  CHECK(moved.base_url == "http://localhost:8000/v1");
  CHECK(moved.api_key == "sk-1");
}

TEST_CASE("Anthropic by its key, whose address comes without the version") {
  const client_options plain = chosen({{"ANTHROPIC_API_KEY", "sk-ant"}});
  CHECK(plain.spoken == dialect::anthropic_messages);
  CHECK(plain.base_url == "https://api.anthropic.com/v1");
  CHECK(plain.api_key == "sk-ant");
  CHECK(plain.key_as == key_header::x_api_key);
  const auto address = [](const char* url) {
    return chosen({{"ANTHROPIC_API_KEY", "sk-ant"}, {"ANTHROPIC_BASE_URL", url}}).base_url;
  };
  CHECK(address("https://proxy.host") == "https://proxy.host/v1");
  CHECK(address("https://proxy.host/") == "https://proxy.host/v1");
  CHECK(address("https://proxy.host/v1") == "https://proxy.host/v1");
  CHECK(address("https://proxy.host/v1/") == "https://proxy.host/v1");
  CHECK(address("https://proxy.host/v1?a=b") == "https://proxy.host/v1?a=b");
}

TEST_CASE("with both keys it is OpenAI, unless the dialect says otherwise") {
  variables both{{"OPENAI_API_KEY", "sk-1"}, {"ANTHROPIC_API_KEY", "sk-ant"}};
  CHECK(chosen(both).api_key == "sk-1");
  both["SLUICE_DIALECT"] = "anthropic-messages";
  CHECK(chosen(both).api_key == "sk-ant");
  both["SLUICE_DIALECT"] = "openai-responses";
  CHECK(chosen(both).api_key == "sk-1");
  CHECK(chosen(both).spoken == dialect::openai_responses);
}

TEST_CASE("our own variables win, and a provider's key goes nowhere else") {
  const client_options local = chosen({{"SLUICE_BASE_URL", "http://localhost:11434/v1"}, {"OPENAI_API_KEY", "sk-1"}});
  CHECK(local.base_url == "http://localhost:11434/v1");
  CHECK(local.api_key.empty());
  CHECK(local.spoken == dialect::openai_chat);
  const client_options whole = chosen({{"SLUICE_BASE_URL", "http://host/v1"},
                                       {"SLUICE_DIALECT", "anthropic-messages"},
                                       {"SLUICE_API_KEY", "k"},
                                       {"ANTHROPIC_API_KEY", "sk-ant"}});
  CHECK(whole.base_url == "http://host/v1");
  CHECK(whole.api_key == "k");
  CHECK(whole.key_as == key_header::x_api_key);
  const client_options by_dialect = chosen({{"SLUICE_DIALECT", "anthropic-messages"}, {"SLUICE_API_KEY", "k"}});
  CHECK(by_dialect.base_url == "https://api.anthropic.com/v1");
  CHECK(by_dialect.api_key == "k");
}

TEST_CASE("an empty variable is not set") {
  const client_options plain = chosen({{"SLUICE_BASE_URL", ""},
                                       {"SLUICE_DIALECT", ""},
                                       {"SLUICE_API_KEY", ""},
                                       {"OPENAI_API_KEY", ""},
                                       {"ANTHROPIC_BASE_URL", ""},
                                       {"ANTHROPIC_API_KEY", "sk-ant"}});
  CHECK(plain.base_url == "https://api.anthropic.com/v1");
}

TEST_CASE("what is missing or does not hold is named, and no key is in it") {
  CHECK(problem({}) ==
        "no provider is set; set OPENAI_API_KEY or ANTHROPIC_API_KEY, or SLUICE_BASE_URL for another server");
  CHECK(problem({{"OPENAI_BASE_URL", "http://host/v1"}}).starts_with("no provider is set"));
  CHECK(problem({{"SLUICE_API_KEY", "secret"}}) ==
        "SLUICE_API_KEY is set, but nothing says where it goes; set SLUICE_BASE_URL, or SLUICE_DIALECT for its "
        "provider's own address");
  CHECK(problem({{"SLUICE_DIALECT", "anthropic-messages"}, {"OPENAI_API_KEY", "secret"}}) ==
        "SLUICE_DIALECT is set, but no key; set SLUICE_API_KEY or ANTHROPIC_API_KEY, or SLUICE_BASE_URL for a server "
        "that wants none");
  CHECK(problem({{"SLUICE_DIALECT", "openai"}, {"OPENAI_API_KEY", "secret"}}) ==
        "SLUICE_DIALECT is none of openai-chat, openai-responses and anthropic-messages");
  CHECK(
      problem({{"OPENAI_API_KEY", "secret"}, {"OPENAI_BASE_URL", "host/v1"}}) ==
      "the environment's settings do not hold: base_url has no scheme; it should look like https://api.openai.com/v1");
  const std::string broken = problem({{"OPENAI_API_KEY", "secret\n"}});
  CHECK(broken.find("api_key") != std::string::npos);
  CHECK(broken.find("secret") == std::string::npos);
}

TEST_CASE("the process's own") {
  ::setenv("SLUICE_TEST_VARIABLE", "here", 1);
  CHECK(sluice::llm::process_environment()("SLUICE_TEST_VARIABLE") == "here");
  ::unsetenv("SLUICE_TEST_VARIABLE");
  CHECK(sluice::llm::process_environment()("SLUICE_TEST_VARIABLE") == std::nullopt);
}

TEST_CASE("a runtime's options too") {
  const sluice::policy rules({.slots = 3, .tokens = 1'000});
  const auto options = sluice::runtime_options::from_env(rules, with({{"OPENAI_API_KEY", "sk-1"}}));
  REQUIRE(options);
  REQUIRE(options->provider);
  CHECK(options->provider->api_key == "sk-1");
  CHECK(options->rules.total == rules.total);
  CHECK(sluice::runtime_options::from_env(rules, with({})).error().message().starts_with("no provider is set"));
}
