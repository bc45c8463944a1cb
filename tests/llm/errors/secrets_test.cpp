#include "llm/errors/secrets.hpp"

#include "llm/attempts/redacted.hpp"
#include "llm/call_fixture.hpp"
#include "llm/errors/quote.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice::llm::test;
using sluice::llm::attempt_record;
using sluice::llm::client_options;
using sluice::llm::quote;
using sluice::llm::redacted;
using sluice::llm::secrets;

namespace {

/// What is left of `text` when a client has this header.
std::string seen(const char* name, const char* value, std::string_view text) {
  client_options options("http://server/v1");
  options.headers.emplace_back(name, value);
  return quote(text, secrets(options));
}
/// The same for the header's value.
std::string seen(const char* name, const char* value) { return seen(name, value, value); }

}  // namespace

TEST_CASE("headers whose names tell: the value, and each word of it") {
  CHECK(seen("X-Api-Key", "plainword") == "[key]");
  CHECK(seen("cf-aig-authorization", "Bearer abcdefgh", "you sent Bearer abcdefgh") == "you sent [key]");
  CHECK(seen("Proxy-Authorization", "Bearer abcdefgh", "the token abcdefgh is old") == "the token [key] is old");
  CHECK(seen("Cookie", "id=firstone; theme=dark; sid=\"secondone\"", "id is firstone, sid is secondone, dark") ==
        "id is [key], sid is [key], dark");
  CHECK(seen("x-goog-api-key", "AIza/word+x=", R"({"key":"AIza\/word\u002bx="} or AIza%2Fword%2Bx%3D)") ==
        R"({"key":"[key]"} or [key])");
  for (const char* name :
       {"x-auth", "My-Secret", "x-session-id", "x-amz-security-token", "x-signature", "x-password", "x-credentials"}) {
    CHECK(seen(name, "plainword") == "[key]");
  }
  // What is short would be blotted out of ordinary words.
  CHECK(seen("x-token-kind", "user", "no such user") == "no such user");
}

TEST_CASE("other headers: words that look like a key") {
  CHECK(seen("x-custom", "sk-proj-4fGh7JkLmN0pQrStUvWx") == "[key]");
  CHECK(seen("x-custom", "v1 0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef?") == "[key]?");
  for (const char* plain :
       {"prompt-caching-2024-07-31", "my-application/1.2.3", "assistants=v2", "2024-05-01T12:00:00Z",
        "application/vnd.example+json", "Team-Of-Platform-Services", "12345678901234567890"}) {
    CHECK(seen("x-custom", plain) == plain);
  }
}

TEST_CASE("the query of the address, as it is and decoded") {
  client_options options("http://server/v1?api-version=2024-10-21&key=AIza%2Fplain&sub=x");
  CHECK(quote("2024-10-21 AIza%2Fplain AIza/plain x", secrets(options)) == "2024-10-21 [key] [key] x");
  CHECK(secrets(client_options("http://server/v1")).empty());
  CHECK(secrets(client_options("http://server/v1?")).empty());
  CHECK(secrets(client_options("http://server/v1?a&&=b#key=plainword")).empty());
}

TEST_CASE("of several the first counts, and the longest in one place") {
  client_options options("http://server/v1", "sk-1");
  options.headers.emplace_back("x-key", "sk-1-and-more");
  const secrets hidden(options);
  CHECK(quote("a sk-1-and-more b sk-1 c", hidden) == "a [key] b [key] c");
  CHECK(hidden.longest() == 13);
  CHECK(redacted("a sk-1 b sk-1-and-mo", hidden, 100) == "a [key] b ");
  CHECK(redacted("a sk-1 b sk-", hidden, 100) == "a [key] b ");
  CHECK(secrets().find("anything", false).length == 0);
  CHECK(quote("sk-1", {}) == "sk-1");
  CHECK(quote("sk-1", "") == "sk-1");
}

TEST_CASE("a server that shows them again: no error, record or line has any") {
  const std::vector<std::string> credentials = {"sk-secret", "gate-way-key", "sid-of-cookie", "query-key-word"};
  const auto shown = [&] {
    std::string all;
    for (const std::string& each : credentials) all += each + ' ';
    return all;
  }();
  std::vector<attempt_record> records;
  client_options options("http://server/v1?key=query-key-word", "sk-secret");
  options.retry.max_attempts = 1;
  options.record_bodies = true;
  options.headers.emplace_back("cf-aig-authorization", "Bearer gate-way-key");
  options.headers.emplace_back("cookie", "sid=sid-of-cookie");
  options.observer = [&](const attempt_record& what) { records.push_back(what); };
  call_fixture f(sluice::policy({.slots = 4, .tokens = 100'000}), options);

  std::vector<sluice::testing::scripted_exchange> answers;
  answers.push_back(plain("{\"error\":{\"message\":\"" + shown + "\",\"code\":\"" + credentials[1] + "\"}}", 401));
  answers.push_back(plain(shown, 500));
  answers.push_back(plain("{\"error\":\"" + shown + "\"}"));
  answers.push_back(plain("{\"broken\":\"" + shown + "\""));
  answers.push_back(plain("<html>" + shown).with_header("x-request-id", shown));
  answers.push_back(streamed().with_chunk("data: {\"error\":{\"message\":\"" + shown + "\"}}\n\n"));
  answers.push_back(streamed().with_chunk("data: " + shown + "\n\n"));
  for (auto& each : answers) {
    f.transport.add(each);
    const auto call = f.start([](call_fixture& all, std::string said) -> asio::awaitable<chat_result> {
      sluice::llm::request asked("m");
      asked.user(std::move(said));
      auto answer = co_await all.caller.chat(std::move(asked));
      co_return std::move(answer);
    }(f, shown));
    REQUIRE((call->value && !call->value->has_value()));
    const auto& failed = call->value->error();
    for (const std::string& each_one : credentials) {
      CAPTURE(failed.message());
      CHECK(failed.message().find(each_one) == std::string::npos);
      CHECK(failed.provider_code.find(each_one) == std::string::npos);
      CHECK(failed.request_id.find(each_one) == std::string::npos);
    }
  }
  REQUIRE(records.size() == answers.size());
  for (const attempt_record& each : records) {
    for (const std::string& one : credentials) {
      for (const std::string* text : {&each.error, &each.request_id, &each.request_body, &each.answer_body}) {
        CAPTURE(*text);
        CHECK(text->find(one) == std::string::npos);
      }
      CHECK(to_line(each).find(one) == std::string::npos);
    }
    CHECK(each.request_body.find("[key]") != std::string::npos);
  }
}
