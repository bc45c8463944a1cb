/// \file
/// `joined_reply`: one answer out of several exchanges, each of which goes on where the one before broke off.
#pragma once

#include <sluice/llm/reply.hpp>

#include <cstddef>
#include <string>

namespace sluice::llm::detail {

class joined_reply {
 public:
  /// What came before the first seam.
  explicit joined_reply(reply first) : whole_(std::move(first)), before_(whole_.usage) {}

  /// A new part begins.
  void add_part() noexcept {
    before_ = whole_.usage;
    text_ = reasoning_ = refusal_ = 0;
  }
  /// The part as it is now; its texts only grow.
  void update(const reply& part) {
    append(whole_.text, part.text, text_);
    append(whole_.reasoning, part.reasoning, reasoning_);
    append(whole_.refusal, part.refusal, refusal_);
    whole_.usage = before_ + part.usage;
  }
  /// The last part is whole.
  void complete(const reply& part) {
    update(part);
    whole_.tool_calls = part.tool_calls;
    whole_.opaque.insert(whole_.opaque.end(), part.opaque.begin(), part.opaque.end());
    whole_.finish = part.finish;
    whole_.stop_sequence = part.stop_sequence;
    whole_.model = part.model;
    whole_.id = part.id;
    whole_.request_id = part.request_id;
    whole_.announced_calls_missing = part.announced_calls_missing;
    whole_.unterminated = part.unterminated;
  }

  [[nodiscard]] const reply& whole() const noexcept { return whole_; }

 private:
  static void append(std::string& whole, const std::string& part, std::size_t& from) {
    whole.append(part, from);
    from = part.size();
  }

  reply whole_;
  token_usage before_;
  std::size_t text_ = 0;
  std::size_t reasoning_ = 0;
  std::size_t refusal_ = 0;
};

}  // namespace sluice::llm::detail
