#include <sluice/core/event_log.hpp>

#include "core/byte_stream.hpp"
#include "core/effect_codec.hpp"
#include "core/event_codec.hpp"
#include "core/event_fields.hpp"
#include "core/log_memory.hpp"

#include <exception>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::core {

class event_log_writer::state {
 public:
  state(std::string& to, std::uint64_t most_bytes) noexcept : to_(to), most_bytes_(most_bytes) {}

  void begin(const policy& initial, bool from_the_start) {
    whole([&] {
      to_.append(log_magic, sizeof log_magic);
      sink_.byte(log_version);
      sink_.byte(from_the_start ? 1 : 0);
      policy copy = initial;
      field_stream<byte_sink>{sink_}(copy);
      memory_.emplace(sink_, initial.revision);
    });
  }

  void append(const event& what, const event_result& result, const effects& out, mark before) {
    whole([&] {
      const std::size_t count = out.list.size() - before.effects;
      const std::uint8_t head = event_codec<byte_sink>::head_of(what, result, count != 0);
      sink_.byte(head);
      event copy = what;
      event_result gave = result;
      event_codec<byte_sink>{*memory_}(head, copy, gave);
      if (count == 0) return;
      sink_.number(count);
      decisions_.assign(out.decisions.begin() + static_cast<std::ptrdiff_t>(before.decisions), out.decisions.end());
      std::uint32_t place = 0;
      effect_codec<byte_sink> write(*memory_);
      for (std::size_t i = before.effects; i < out.list.size(); ++i) {
        effect each = out.list[i];
        if (each.what == effect::kind::rejected) each.detail -= static_cast<std::uint32_t>(before.decisions);
        write(each, decisions_, place);
      }
    });
    if (ended_) return;
    ++events_;
    if (bytes_ >= most_bytes_) finish(true);
  }

  void finish(bool full) {
    if (ended_) return;
    whole([&] {
      sink_.byte(log_end);
      sink_.byte(full ? 1 : 0);
      sink_.number(events_);
    });
    if (!ended_) whole([&] { sink_.word(digest_.value()); });
    ended_ = true;
  }

  [[nodiscard]] bool begun() const noexcept { return memory_.has_value(); }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  // Nothing of what it writes stays when there is no memory for all of it; the log then ends there, cut off.
  template <typename Write>
  void whole(const Write& write) {
    const std::size_t size = to_.size();
    try {
      write();
    } catch (const std::exception&) {
      to_.resize(size);
      ended_ = true;
      return;
    }
    digest_.add(std::string_view(to_).substr(size));
    bytes_ += to_.size() - size;
  }

  std::string& to_;
  std::uint64_t most_bytes_;
  byte_sink sink_{to_};
  std::optional<log_memory<byte_sink>> memory_;
  std::vector<decision> decisions_;
  byte_digest digest_;
  std::uint64_t events_ = 0;
  std::uint64_t bytes_ = 0;
  bool ended_ = false;
};

event_log_writer::event_log_writer(std::string& to, std::uint64_t most_bytes)
    : state_(std::make_unique<state>(to, most_bytes)) {}
event_log_writer::event_log_writer(event_log_writer&&) noexcept = default;
event_log_writer& event_log_writer::operator=(event_log_writer&&) noexcept = default;
event_log_writer::~event_log_writer() = default;

void event_log_writer::begin(const policy& initial, bool from_the_start) noexcept {
  if (!state_->begun() && !state_->ended()) state_->begin(initial, from_the_start);
}
void event_log_writer::append(const event& what, const event_result& result, const effects& out, mark before) noexcept {
  if (state_->begun() && !state_->ended()) state_->append(what, result, out, before);
}
void event_log_writer::end() noexcept {
  if (state_->begun()) state_->finish(false);
}
bool event_log_writer::ended() const noexcept { return state_->ended(); }
std::uint64_t event_log_writer::events() const noexcept { return state_->events(); }
std::uint64_t event_log_writer::bytes() const noexcept { return state_->bytes(); }

}  // namespace sluice::core
