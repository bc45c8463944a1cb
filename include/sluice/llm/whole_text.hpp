/// \file
/// `whole_text`: an answer for those who want its words and nothing else.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>

#include <string>

namespace sluice::llm {

/// The text of an answer, when it is all there is to it. Else a failure that says what there is, with the answer in
/// `failure::partial`: the model refused or a filter cut in (`errc::content_filtered`), it came to its limit
/// (`errc::too_large`), it called tools, paused, or said nothing (`errc::provider_refused`). A failure passes through.
///
/// ```cpp
/// auto text = sluice::llm::whole_text(co_await client.chat(question));
/// ```
[[nodiscard]] expected<std::string, failure> whole_text(expected<reply, failure> answer);

}  // namespace sluice::llm
