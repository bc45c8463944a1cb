/// \file
/// `provider_exchange`: one request that the mock provider took on, from its slot to its last byte.
#pragma once

#include <sluice/sim/shared_processor.hpp>
#include <sluice/testing/mock_fault.hpp>
#include <sluice/testing/mock_reply.hpp>
#include <sluice/testing/mock_request.hpp>

#include "testing/loopback_server.hpp"
#include "testing/wire_dialect.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::testing {

/// Turns what the processor tells into bytes. Used on the server's thread alone.
class provider_exchange {
 public:
  /// `reply` is what to answer; its own fault is not looked at.
  provider_exchange(const mock_request& request, std::uint64_t connection, const mock_reply& reply, mock_fault fault,
                    std::vector<http::header> headers, std::unique_ptr<loopback_answer> answer);
  provider_exchange(const provider_exchange&) = delete;
  provider_exchange& operator=(const provider_exchange&) = delete;

  /// What the processor has to do for it.
  [[nodiscard]] sim::processor_job job() const noexcept;

  void prompt_done();
  /// `tokens` in all; sent with the next `flush`.
  void produced(std::int64_t tokens);
  void flush();

  /// The last bytes, or whatever the fault makes of them. False when the connection was closed instead of an end: then
  /// `then` is not called.
  [[nodiscard]] bool finish(loopback_answer::delivered then);

  [[nodiscard]] std::uint64_t connection() const noexcept { return connection_; }
  [[nodiscard]] bool is_stream() const noexcept { return stream_; }
  /// The answer's head has been written; its status.
  [[nodiscard]] bool has_begun() const noexcept { return begun_; }
  [[nodiscard]] int status() const noexcept;

  /// Its place with the processor.
  sim::processor_ticket ticket{};
  /// Tokens that were counted as done for it.
  std::int64_t counted_input = 0;
  std::int64_t counted_output = 0;
  bool counted_head = false;
  /// Tokens that it holds of the limit that the headers tell: its prompt and the output it may have.
  std::int64_t held = 0;

 private:
  using fault_kind = mock_fault::kind;

  void start_stream();
  void send_bad_json();
  void finish_stream(loopback_answer::delivered then);
  void finish_plain(loopback_answer::delivered then);
  [[nodiscard]] wire_usage used() const;
  [[nodiscard]] std::string plain() const;
  [[nodiscard]] wire_error failure() const;

  const wire_dialect& dialect_;
  std::uint64_t connection_;
  bool stream_;
  mock_fault fault_;
  wire_answer content_;
  wire_usage prompt_;
  std::vector<http::header> headers_;
  std::unique_ptr<loopback_answer> answer_;
  std::unique_ptr<wire_events> events_;
  std::size_t sent_ = 0;
  bool begun_ = false;
  bool spoiled_ = false;
};

}  // namespace sluice::testing
