#include <sluice/llm/sse_parser.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sluice::llm {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view data_name = "data:";

std::size_t find(std::string_view text, std::size_t from, char wanted) noexcept {
  if (from >= text.size()) return text.size();
  const void* found = std::memchr(text.data() + from, wanted, text.size() - from);
  return found == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace

void sse_parser::push(std::string_view piece) noexcept {
  input_ = piece;
  at_ = 0;
  lf_ = find(input_, 0, '\n');
  cr_ = find(input_, 0, '\r');
}

void sse_parser::reset() noexcept {
  push({});
  line_.clear();
  data_.clear();
  type_.clear();
  id_.clear();
  retry_.reset();
  mark_seen_ = 0;
  kind_ = line_kind::undecided;
  line_open_ = has_data_ = given_ = skip_lf_ = failed_ = false;
}

expected<std::optional<sse_event>, error> sse_parser::next() {
  if (failed_) return too_large();
  if (given_) {
    data_.clear();
    type_.clear();
    given_ = false;
  }
  if (mark_seen_ < byte_order_mark.size()) skip_byte_order_mark();
  while (at_ < input_.size()) {
    if (skip_lf_) {
      skip_lf_ = false;
      if (input_[at_] == '\n') {
        ++at_;
        continue;
      }
    }
    const std::size_t end = find_line_end();
    const std::string_view piece = input_.substr(at_, end - at_);
    if (end == input_.size()) {
      at_ = end;
      failed_ = !take(piece);
    } else {
      at_ = end + 1;
      skip_lf_ = input_[end] == '\r';
      if (line_open_) {
        failed_ = !take(piece) || !end_line();
      } else if (!piece.empty()) {
        failed_ = !field(piece);
      } else if (auto event = dispatch(false)) {
        return event;
      }
    }
    if (failed_) return too_large();
  }
  return std::nullopt;
}

expected<std::optional<sse_event>, error> sse_parser::finish() {
  auto rest = next();
  if (!rest || *rest) return rest;
  if (line_open_ && !end_line()) {
    failed_ = true;
    return too_large();
  }
  return dispatch(true);
}

void sse_parser::skip_byte_order_mark() {
  while (mark_seen_ < byte_order_mark.size() && at_ < input_.size()) {
    if (input_[at_] != byte_order_mark[mark_seen_]) {
      // What looked like a mark began the first line.
      if (mark_seen_ > 0) failed_ = !take(byte_order_mark.substr(0, mark_seen_));
      mark_seen_ = byte_order_mark.size();
      return;
    }
    ++mark_seen_;
    ++at_;
  }
}

std::size_t sse_parser::find_line_end() noexcept {
  if (lf_ < at_) lf_ = find(input_, at_, '\n');
  if (cr_ < at_) cr_ = find(input_, at_, '\r');
  return std::min(lf_, cr_);
}

// A part of a line, the rest of which has not come yet or has come before.
bool sse_parser::take(std::string_view piece) {
  line_open_ = true;
  if (kind_ == line_kind::comment) return true;
  if (kind_ == line_kind::data) return add_data(piece);

  // One byte beyond the name, since a space there is no data.
  constexpr std::size_t head = data_name.size() + 1;
  if (line_.size() < head) {
    const std::size_t more = std::min(head - line_.size(), piece.size());
    line_.append(piece.substr(0, more));
    piece.remove_prefix(more);
  }
  if (line_.starts_with(':')) {
    kind_ = line_kind::comment;
    line_.clear();
    return true;
  }
  if (line_.size() >= head && line_.starts_with(data_name)) {
    kind_ = line_kind::data;
    const bool begun = begin_data() && (line_.back() == ' ' || add_data(std::string_view(line_).substr(head - 1)));
    line_.clear();
    return begun && add_data(piece);
  }
  if (piece.size() > max_event_ || line_.size() > max_event_ - piece.size()) return false;
  line_.append(piece);
  return true;
}

bool sse_parser::end_line() {
  const bool fits = kind_ != line_kind::undecided || field(line_);
  line_.clear();
  kind_ = line_kind::undecided;
  line_open_ = false;
  return fits;
}

bool sse_parser::field(std::string_view line) {
  if (line.starts_with(':')) return true;
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == line.npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);

  if (name == "data") return begin_data() && add_data(value);
  if (line.size() > max_event_) return false;
  if (name == "event") {
    type_.assign(value);
  } else if (name == "id") {
    if (value.find('\0') == value.npos) id_.assign(value);
  } else if (name == "retry") {
    std::int64_t delay = 0;
    const bool digits = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
    if (digits && std::from_chars(value.data(), value.data() + value.size(), delay).ec == std::errc{}) retry_ = delay;
  }
  return true;
}

bool sse_parser::begin_data() {
  if (has_data_) return add_data("\n");
  has_data_ = true;
  return true;
}

bool sse_parser::add_data(std::string_view piece) {
  if (piece.size() > max_event_ || data_.size() > max_event_ - piece.size()) return false;
  data_.append(piece);
  return true;
}

std::optional<sse_event> sse_parser::dispatch(bool unterminated) {
  if (!has_data_) {
    type_.clear();
    return std::nullopt;
  }
  has_data_ = false;
  given_ = true;
  const std::size_t size = data_.size();
  data_.append(padding, '\0');
  return sse_event{type_, std::string_view(data_).substr(0, size), id_, unterminated};
}

unexpected<error> sse_parser::too_large() const {
  return unexpected<error>(error(errc::too_large, "an event of the stream is larger than " +
                                                      std::to_string(max_event_) +
                                                      " bytes; raise max_event if it should be let through"));
}

}  // namespace sluice::llm
