/// \file
/// `conversation`: what has been said so far, always fit to be sent.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/llm/tool_call.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::llm {

namespace detail {
class open_calls;
}

/// Keeps the messages of a conversation. A plain value. Whatever happened in between, the next request holds: each tool
/// call has exactly one result, which stands behind the call's message and before the next one, and no id is used
/// twice.
///
/// ```cpp
/// sluice::llm::conversation talk("Be brief.");
/// talk.user("What is the weather in Oslo?");
/// auto asked = talk.request_for("gpt-4o-mini").with_tool(weather);
/// auto answer = co_await client.chat(asked);
/// talk.add(*answer);
/// for (const auto& call : answer->tool_calls) talk.tool_result(call, "Snow.");
/// ```
///
/// Thread safety: distinct objects only, even for what is `const`.
class conversation {
 public:
  conversation();
  conversation(const conversation& other);
  conversation& operator=(const conversation& other);
  /// What was moved from holds nothing, and may be used again.
  conversation(conversation&& other) noexcept;
  conversation& operator=(conversation&& other) noexcept;
  ~conversation();
  /// With a message of the program's before all others.
  explicit conversation(std::string system);

  /// Adds what the user says.
  conversation& user(std::string text);
  /// The same with pictures and files; whoever it says it is from.
  conversation& user(message said);
  /// Adds what the model answered, or what had come of it when it failed (`failure::partial`). A reply that says
  /// nothing adds nothing; a refusal counts as its words. An id that an earlier call has is replaced by one of its own.
  conversation& add(const reply& answer);

  /// Adds the result of a call that `add` has seen, also a late one: it goes where its call is. `call` is as the reply
  /// had it; of calls that look the same, the latest reply's come first, in their order. Errors:
  /// `errc::invalid_argument`, when no such call waits for a result: it has one, was cut off, or was never made.
  /// O(log n) in the calls that wait; late results are put in their places all at once, when the messages are asked
  /// for.
  expected<void, error> tool_result(const tool_call& call, std::string text, bool is_error = false);

  /// Calls that wait for their results, with the ids that they are sent under.
  [[nodiscard]] std::vector<tool_call> open_calls() const;

  /// A request with all that was said. Calls without a result, as a cancelled run leaves them, are answered in it by
  /// `no_result`, as errors; the conversation itself still takes their results.
  [[nodiscard]] request request_for(std::string model) const;
  static constexpr std::string_view no_result =
      "No result: the call was not carried out, or was stopped before it ended.";

  /// Its length in tokens, by the estimate for this model.
  [[nodiscard]] std::int64_t tokens(std::string_view model = {}) const;

  /// Cuts it down to about `most` tokens: whole turns (a user's message and all that it led to) from the beginning,
  /// then, inside the last turn, whole rounds (an answer and its results). The program's message, the last turn's
  /// question and its last round always stay, so it may remain longer. Gives the number of messages that are gone.
  /// O(messages), and their text once.
  std::size_t trim(std::int64_t most, std::string_view model = {});

  /// In order, the program's message first.
  [[nodiscard]] const std::vector<message>& messages() const;
  [[nodiscard]] bool empty() const noexcept { return messages_.empty(); }

 private:
  /// A result that came when more had been said, and the reply that it belongs to.
  class late_result {
   public:
    late_result(std::size_t number, message said) : reply(number), result(std::move(said)) {}
    std::size_t reply;
    message result;
  };

  [[nodiscard]] detail::open_calls& calls();
  [[nodiscard]] std::size_t first() const noexcept;
  void settle() const;
  void remove(std::size_t from, std::size_t to);

  mutable std::vector<message> messages_;
  mutable std::vector<late_result> late_;
  /// The numbers of the replies that made calls, as they stand in the messages.
  std::vector<std::size_t> asking_;
  std::unique_ptr<detail::open_calls> calls_;
};

}  // namespace sluice::llm
