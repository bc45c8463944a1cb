#include "trace.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace contention {
namespace {

using rows = std::vector<trace_row>;
using failed = sluice::unexpected<std::string>;

constexpr std::string_view header = "TIMESTAMP,ContextTokens,GeneratedTokens";
// Each token becomes four characters of a real request.
constexpr std::int64_t most_tokens = 1'000'000;

template <typename Number>
std::optional<Number> to_number(std::string_view text) {
  Number value{};
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// `YYYY-MM-DD HH:MM:SS[.fraction]` in nanoseconds.
std::optional<std::chrono::nanoseconds> to_time(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
  if (text.size() < shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (shape[i] == 'd' ? !digit : text[i] != shape[i]) return std::nullopt;
  }
  const auto part = [&](std::size_t from, std::size_t count) { return *to_number<unsigned>(text.substr(from, count)); };
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(part(0, 4))),
                                         std::chrono::month(part(5, 2)), std::chrono::day(part(8, 2))};
  const auto hours = part(11, 2);
  const auto minutes = part(14, 2);
  const auto seconds = part(17, 2);
  if (!date.ok() || hours > 23 || minutes > 59 || seconds > 60) return std::nullopt;

  std::int64_t nanoseconds = 0;
  if (text.size() > shape.size()) {
    const auto fraction = text.substr(shape.size());
    if (fraction.size() < 2 || fraction.size() > 10 || fraction[0] != '.') return std::nullopt;
    std::string padded(fraction.substr(1));
    padded.resize(9, '0');
    if (padded.find_first_not_of("0123456789") != padded.npos) return std::nullopt;
    nanoseconds = *to_number<std::int64_t>(padded);
  }
  return std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hours) + std::chrono::minutes(minutes) +
         std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds);
}

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The next field, taken off the line.
std::string_view take_field(std::string_view& line) {
  const auto comma = line.find(',');
  const auto field = line.substr(0, comma);
  line.remove_prefix(comma == line.npos ? line.size() : comma + 1);
  return field;
}

sluice::expected<std::int64_t, std::string> to_tokens(std::string_view text, const char* column) {
  const auto value = to_number<std::int64_t>(text);
  if (!value || *value < 0 || *value > most_tokens) {
    return failed(std::string(column) + " '" + std::string(text) + "' is not a whole number from 0 to 1,000,000");
  }
  return *value;
}

}  // namespace

sluice::expected<rows, std::string> read_trace(std::istream& from, const std::string& name) {
  std::string line;
  std::size_t number = 1;
  const auto wrong = [&](const std::string& what) { return failed(name + ":" + std::to_string(number) + ": " + what); };

  std::getline(from, line);
  auto first = without_line_end(line);
  if (first.starts_with("\xef\xbb\xbf")) first.remove_prefix(3);
  if (first != header) return wrong("the header must be " + std::string(header));

  rows read;
  std::optional<std::chrono::nanoseconds> start;
  while (std::getline(from, line)) {
    ++number;
    auto rest = without_line_end(line);
    if (rest.empty() && from.peek() == std::istream::traits_type::eof()) break;
    if (std::count(rest.begin(), rest.end(), ',') != 2) return wrong("expected three fields, as in the header");
    const auto stamp = take_field(rest);
    const auto time = to_time(stamp);
    if (!time) return wrong("TIMESTAMP '" + std::string(stamp) + "' is not YYYY-MM-DD HH:MM:SS[.fraction]");
    const auto input = to_tokens(take_field(rest), "ContextTokens");
    if (!input) return wrong(input.error());
    const auto output = to_tokens(rest, "GeneratedTokens");
    if (!output) return wrong(output.error());

    if (!start) start = time;
    const double at = std::chrono::duration<double>(*time - *start).count();
    if (at < (read.empty() ? 0 : read.back().at)) return wrong("TIMESTAMP is earlier than that of the line before");
    read.push_back({at, *input, *output});
  }
  if (from.bad()) return failed(name + ": cannot be read");
  if (read.empty()) return wrong("there are no requests after the header");
  return read;
}

sluice::expected<rows, std::string> read_trace(const std::string& file) {
  errno = 0;
  std::ifstream from(file);
  if (!from) return failed(file + ": " + std::generic_category().message(errno));
  // A directory opens, but does not read.
  from.peek();
  if (from.bad() || (from.fail() && errno != 0)) return failed(file + ": " + std::generic_category().message(errno));
  from.clear();
  return read_trace(from, file);
}

}  // namespace contention
