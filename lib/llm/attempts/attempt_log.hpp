/// \file
/// `attempt_log`: the record of the attempt under way, and its way to the observer.
#pragma once

#include <sluice/http/transport.hpp>
#include <sluice/llm/attempt_record.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/request.hpp>

#include "llm/attempts/endpoint.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::llm::detail {

/// Every attempt that begins is told once: when it is known what follows it, or when the log is destroyed. Without an
/// observer nothing is recorded, and nothing costs anything.
class attempt_log {
 public:
  explicit attempt_log(std::shared_ptr<endpoint> where) noexcept : where_(std::move(where)) {}
  attempt_log(attempt_log&&) noexcept = default;
  attempt_log& operator=(attempt_log&&) = delete;
  ~attempt_log() { tell(std::nullopt); }

  /// An attempt begins: it asks for admission.
  void begin(const request& what, const call_options& how, const reservation& reserved, const std::string& body,
             bool streamed, attempt kind);
  void admitted() { note(&attempt_record::admitted); }
  void head(const http::response& answer);
  /// More of the answer's body.
  void received(std::string_view bytes);
  void first_token() { note(&attempt_record::first_token); }

  /// It is over: well, or with `why`.
  void end(const token_usage& taken, const failure* why);
  void end(const token_usage& taken, const failure* why, instant now);
  /// The same when nobody may ask for the time any more.
  void abandon(const token_usage& taken) noexcept;

  /// Tells the observer, once; `again_in`: the wait before the next attempt.
  void tell(std::optional<duration> again_in) noexcept;

 private:
  void note(instant attempt_record::*what);

  std::shared_ptr<endpoint> where_;
  std::unique_ptr<attempt_record> record_;
  std::string answer_;
  std::uint64_t call_ = 0;
  int number_ = 0;
  instant last_ = never;
  bool over_ = false;
};

}  // namespace sluice::llm::detail
