#include <sluice/llm/client_options.hpp>
#include <sluice/llm/environment.hpp>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace sluice::llm {

namespace {

unexpected<error> wrong(std::string what) {
  return unexpected<error>(error(errc::invalid_configuration, std::move(what)));
}

std::string read(const environment& from, const char* name) { return from(name).value_or(std::string()); }

class provider {
 public:
  const char* key;
  const char* url;
  const char* public_url;
};
constexpr provider openai{"OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"};
constexpr provider anthropic{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com/v1"};

const provider& provider_of(dialect spoken) noexcept {
  return spoken == dialect::anthropic_messages ? anthropic : openai;
}

expected<std::optional<dialect>, error> read_dialect(const environment& from) {
  const std::string said = read(from, "SLUICE_DIALECT");
  if (said.empty()) return std::optional<dialect>();
  for (const dialect one : {dialect::openai_chat, dialect::openai_responses, dialect::anthropic_messages}) {
    if (said == to_string(one)) return std::optional<dialect>(one);
  }
  return wrong("SLUICE_DIALECT is none of openai-chat, openai-responses and anthropic-messages");
}

/// The provider's own variables. Anthropic's own clients are told the address without the version.
std::optional<client_options> of_provider(const environment& from, dialect spoken) {
  const provider& known = provider_of(spoken);
  std::string key = read(from, known.key);
  if (key.empty()) return std::nullopt;
  std::string url = read(from, known.url);
  if (url.empty()) url = known.public_url;
  if (spoken == dialect::anthropic_messages && url.find('?') == url.npos) {
    while (url.ends_with('/')) url.pop_back();
    if (!url.ends_with("/v1")) url += "/v1";
  }
  return client_options(spoken, std::move(url), std::move(key));
}

expected<client_options, error> choose(const environment& from) {
  auto spoken = read_dialect(from);
  if (!spoken) return unexpected<error>(std::move(spoken).error());
  std::string url = read(from, "SLUICE_BASE_URL");
  std::string key = read(from, "SLUICE_API_KEY");
  // A provider's key goes to that provider, never to an address that was given for another.
  if (!url.empty()) return client_options(spoken->value_or(dialect::openai_chat), std::move(url), std::move(key));
  if (!key.empty()) {
    if (*spoken) return client_options(**spoken, provider_of(**spoken).public_url, std::move(key));
    return wrong(
        "SLUICE_API_KEY is set, but nothing says where it goes; set SLUICE_BASE_URL, or SLUICE_DIALECT for its "
        "provider's own address");
  }
  if (*spoken) {
    if (auto own = of_provider(from, **spoken)) return *std::move(own);
    return wrong("SLUICE_DIALECT is set, but no key; set SLUICE_API_KEY or " + std::string(provider_of(**spoken).key) +
                 ", or SLUICE_BASE_URL for a server that wants none");
  }
  for (const dialect one : {dialect::openai_chat, dialect::anthropic_messages}) {
    if (auto own = of_provider(from, one)) return *std::move(own);
  }
  return wrong("no provider is set; set OPENAI_API_KEY or ANTHROPIC_API_KEY, or SLUICE_BASE_URL for another server");
}

}  // namespace

environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

expected<client_options, error> client_options::from_env(const environment& from) {
  auto chosen = choose(from);
  if (!chosen) return chosen;
  if (auto holds = validate(*chosen); !holds) {
    return wrong("the environment's settings do not hold: " + holds.error().message());
  }
  return chosen;
}

}  // namespace sluice::llm
