// Any events and answers of OpenAI's chat completions: no crash, and what comes out adds up and can be handed back.
#include "llm/fuzz/decoder_fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return sluice::llm::test::fuzz_decoder(sluice::llm::dialect::openai_chat, bytes, size);
}
