#include <sluice/core/event_log.hpp>

#include "core/byte_stream.hpp"
#include "core/effect_codec.hpp"
#include "core/event_codec.hpp"
#include "core/event_fields.hpp"
#include "core/log_memory.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::core {
namespace {

template <std::size_t Kind = 0>
void become(event_body& body, std::size_t kind) {
  if constexpr (Kind < std::variant_size_v<event_body>) {
    if (kind == Kind)
      body.emplace<Kind>();
    else
      become<Kind + 1>(body, kind);
  }
}

}  // namespace

class event_log_reader::state {
 public:
  explicit state(std::string_view log) noexcept : log_(log) {}

  [[nodiscard]] std::optional<error> open() {
    const std::string_view magic(log_magic, sizeof log_magic);
    if (!log_.starts_with(magic)) {
      // As many bytes as agree.
      const auto differs = std::mismatch(magic.begin(), magic.end(), log_.begin(), log_.end()).first;
      return wrong(static_cast<std::size_t>(differs - magic.begin()), "the beginning of an event log");
    }
    std::uint8_t part = 0;
    for (std::size_t i = 0; i < magic.size(); ++i) bytes_.byte(part, "the beginning of an event log");
    bytes_.byte(part, "a version");
    if (!bytes_.failed() && part != log_version) {
      return wrong(magic.size(), "version " + std::to_string(log_version) + ", not " + std::to_string(part));
    }
    field_stream<byte_source> fields(bytes_);
    fields(from_the_start_, initial_);
    if (bytes_.failed()) return wrong(bytes_.where(), bytes_.expected());
    if (const auto valid = validate(initial_); !valid) {
      return wrong(magic.size() + 2, "a policy that holds (" + valid.error().message() + ")");
    }
    memory_.emplace(bytes_, initial_.revision);
    return std::nullopt;
  }

  [[nodiscard]] expected<bool, error> next(logged_event& into) {
    if (failure_) return unexpected<error>(*failure_);
    if (ended_) return false;
    std::uint8_t head = 0;
    bytes_.byte(head, "an event, or the end");
    if (!bytes_.failed() && head == log_end) return end(bytes_.at());
    const std::size_t kind = event_codec<byte_source>::kind_of(head);
    if (kind >= std::variant_size_v<event_body>) bytes_.fail("an event, or the end");
    into.effects.clear();
    if (!bytes_.failed()) {
      into.number = events_;
      into.result = {};
      become(into.what.what, kind);
      event_codec<byte_source>{*memory_}(head, into.what, into.result);
      if ((head & event_codec<byte_source>::effects_bit) != 0) read_effects(into);
    }
    if (bytes_.failed()) return fail(bytes_.where(), bytes_.expected());
    digest_.add(log_.substr(digested_, bytes_.at() - digested_));
    digested_ = bytes_.at();
    ++events_;
    return true;
  }

  [[nodiscard]] const policy& initial() const noexcept { return initial_; }
  [[nodiscard]] bool from_the_start() const noexcept { return from_the_start_; }
  [[nodiscard]] bool full() const noexcept { return full_; }

 private:
  [[nodiscard]] static error wrong(std::size_t byte, const std::string& expected) {
    return {errc::invalid_argument, "event log: byte " + std::to_string(byte) + ": expected " + expected};
  }
  [[nodiscard]] expected<bool, error> fail(std::size_t byte, const std::string& expected) {
    failure_ = error(errc::invalid_argument, "event log: byte " + std::to_string(byte) + ", in event " +
                                                 std::to_string(events_) + ": expected " + expected +
                                                 (byte >= log_.size() ? ", but the log is cut off there" : ""));
    return unexpected<error>(*failure_);
  }

  void read_effects(logged_event& into) {
    std::uint64_t count = 0;
    bytes_.number(count, "a number of effects");
    std::uint32_t place = 0;
    effect_codec<byte_source> read(*memory_);
    for (; count > 0 && !bytes_.failed(); --count) {
      read(into.effects.list.emplace_back(), into.effects.decisions, place);
    }
  }

  [[nodiscard]] expected<bool, error> end(std::size_t after_head) {
    std::uint64_t events = 0;
    std::uint64_t digest = 0;
    field_stream<byte_source>{bytes_}(full_);
    bytes_.number(events, "the number of events");
    const std::size_t at_digest = bytes_.at();
    if (!bytes_.failed()) digest_.add(log_.substr(digested_, at_digest - digested_));
    bytes_.word(digest, "a digest");
    if (bytes_.failed()) return fail(bytes_.where(), bytes_.expected());
    if (events != events_) return fail(after_head + 1, std::to_string(events_) + " as the number of events");
    if (digest != digest_.value())
      return fail(at_digest, "the digest of the bytes before it: some of them have changed");
    if (bytes_.left() != 0) return fail(bytes_.at(), "nothing after the end");
    ended_ = true;
    return false;
  }

  std::string_view log_;
  byte_source bytes_{log_};
  policy initial_{capacity{}};
  bool from_the_start_ = false;
  bool full_ = false;
  bool ended_ = false;
  std::optional<log_memory<byte_source>> memory_;
  std::optional<error> failure_;
  byte_digest digest_;
  std::size_t digested_ = 0;
  std::uint64_t events_ = 0;
};

event_log_reader::event_log_reader(std::unique_ptr<state> from) noexcept : state_(std::move(from)) {}
event_log_reader::event_log_reader(event_log_reader&&) noexcept = default;
event_log_reader& event_log_reader::operator=(event_log_reader&&) noexcept = default;
event_log_reader::~event_log_reader() = default;

expected<event_log_reader, error> event_log_reader::open(std::string_view log) {
  auto opened = std::make_unique<state>(log);
  if (auto failed = opened->open()) return unexpected<error>(*std::move(failed));
  return event_log_reader(std::move(opened));
}

const policy& event_log_reader::initial() const noexcept { return state_->initial(); }
bool event_log_reader::from_the_start() const noexcept { return state_->from_the_start(); }
expected<bool, error> event_log_reader::next(logged_event& into) { return state_->next(into); }
bool event_log_reader::full() const noexcept { return state_->full(); }

}  // namespace sluice::core
