#include <sluice/testing/mock_reply.hpp>

namespace sluice::testing {

mock_reply mock_reply::words(std::int64_t count) {
  mock_reply reply;
  reply.word_count = count;
  return reply;
}

mock_reply mock_reply::text(std::string said) {
  mock_reply reply;
  reply.content = std::move(said);
  return reply;
}

mock_reply mock_reply::tool_call(std::string name, std::string arguments, std::string id) {
  return mock_reply().with_tool_call(std::move(name), std::move(arguments), std::move(id));
}

mock_reply mock_reply::failure(mock_fault wrong) { return mock_reply().with_fault(std::move(wrong)); }

mock_reply mock_reply::with_tool_call(std::string name, std::string arguments, std::string id) && {
  calls.emplace_back(std::move(name), std::move(arguments), std::move(id));
  return std::move(*this);
}

mock_reply mock_reply::with_reasoning(std::string thoughts) && {
  reasoning = std::move(thoughts);
  return std::move(*this);
}

mock_reply mock_reply::with_refusal(std::string said) && {
  refusal = std::move(said);
  return std::move(*this);
}

mock_reply mock_reply::with_cached_tokens(std::int64_t read, std::int64_t written) && {
  cached_tokens = read;
  cache_written_tokens = written;
  return std::move(*this);
}

mock_reply mock_reply::with_finish_reason(std::string reason) && {
  finish_reason = std::move(reason);
  return std::move(*this);
}

mock_reply mock_reply::with_fault(mock_fault wrong) && {
  fault = std::move(wrong);
  return std::move(*this);
}

mock_reply mock_reply::with_header(std::string name, std::string value) && {
  headers.emplace_back(std::move(name), std::move(value));
  return std::move(*this);
}

}  // namespace sluice::testing
