#include <sluice/llm/text_ratios.hpp>

#include <doctest/doctest.h>

using sluice::llm::ratios_for;
using sluice::llm::text_ratios;
namespace families = sluice::llm::families;

TEST_CASE("a model's name tells its family") {
  for (const char* name :
       {"gpt-4o", "gpt-4o-mini", "gpt-4.1-nano", "gpt-5", "gpt-5-mini", "gpt-oss-120b", "o1", "o3-mini", "o4-mini",
        "chatgpt-4o-latest", "GPT-4o", "openai/gpt-4o", "openrouter/openai/o3", "ft:gpt-4o-mini:org::id"}) {
    CAPTURE(name);
    CHECK(ratios_for(name) == families::openai_o200k);
  }
  for (const char* name :
       {"gpt-4", "gpt-4-turbo", "gpt-4-0613", "gpt-3.5-turbo", "gpt-35-turbo", "ft:gpt-3.5-turbo:org::id"}) {
    CAPTURE(name);
    CHECK(ratios_for(name) == families::openai_cl100k);
  }
  for (const char* name : {"claude-3-5-sonnet-20241022", "claude-opus-4-1", "anthropic/claude-sonnet-4.5", "Claude-2",
                           "anthropic.claude-3-haiku-20240307-v1:0", "us.anthropic.claude-sonnet-4-20250514-v1:0"}) {
    CAPTURE(name);
    CHECK(ratios_for(name) == families::anthropic);
  }
  for (const char* name : {"llama-3.1-8b-instruct", "llama3.2", "meta-llama/Llama-3.3-70B-Instruct", "Meta-Llama-3-8B",
                           "meta.llama3-70b-instruct-v1:0"}) {
    CAPTURE(name);
    CHECK(ratios_for(name) == families::llama);
  }
}

TEST_CASE("names that say nothing are in between") {
  for (const char* name : {"", "m", "mistral-large", "qwen3-32b", "deepseek-chat", "gemini-2.5-pro", "llama-2-7b",
                           "my.own.model", "/", "ft:", ".", "...", "a/b/"}) {
    CAPTURE(name);
    CHECK(ratios_for(name) == families::generic);
  }
  for (const text_ratios* by :
       {&families::openai_o200k, &families::openai_cl100k, &families::anthropic, &families::llama}) {
    CHECK(by->prose >= by->code);
    CHECK(by->code >= by->json);
    CHECK(by->json > by->numbers);
    CHECK(by->emoji > 0);
  }
}
