#include <sluice/sim/trace.hpp>

#include "sim/csv_line.hpp"

#include <sluice/sim/random.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

namespace sluice::sim {
namespace {

constexpr std::int64_t most_tokens = 1'000'000'000;
constexpr double most_milliseconds = 1e12;

error failure(const std::string& what) { return error(errc::invalid_argument, what); }

std::string_view clean(std::string_view line, bool first) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (first && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  return line;
}

std::string replay_header() {
  std::string all = "id,class,arrival_ms,input_chars,max_tokens";
  for (std::size_t k = 1; k <= trace_attempts; ++k) {
    for (const char* field : {"jitter", "replica_draw", "input_tokens", "output_tokens"}) {
      all += ',' + (field + std::to_string(k));
    }
  }
  return all;
}

// Each line after the header, to `read`; a last one without content is none.
template <typename Row, typename Read>
expected<std::vector<Row>, error> read_lines(std::istream& from, const std::string& name, const std::string& header,
                                             const Read& read) {
  std::string line;
  std::getline(from, line);
  if (clean(line, true) != header) return unexpected<error>(failure(name + ":1: the header must be " + header));
  const auto commas = std::count(header.begin(), header.end(), ',');
  std::vector<Row> rows;
  for (std::size_t number = 2; std::getline(from, line); ++number) {
    const std::string_view text = clean(line, false);
    if (text.empty() && from.peek() == std::istream::traits_type::eof()) break;
    csv_line fields(text, name, number);
    if (std::count(text.begin(), text.end(), ',') != commas) {
      fields.wrong("expected " + std::to_string(commas + 1) + " fields, as in the header");
    } else {
      read(fields, rows);
    }
    if (fields.failure()) return unexpected<error>(*fields.failure());
  }
  if (from.bad()) return unexpected<error>(failure(name + ": cannot be read"));
  if (rows.empty()) return unexpected<error>(failure(name + ":1: there are no requests after the header"));
  return rows;
}

template <typename Result>
Result from_file(const std::filesystem::path& file, Result (*read)(std::istream&, const std::string&)) {
  errno = 0;
  std::ifstream from(file);
  // A directory opens, but does not read.
  if (from) from.peek();
  if (!from.is_open() || from.bad() || (from.fail() && errno != 0)) {
    const int why = errno != 0 ? errno : EIO;
    return unexpected<error>(failure(file.string() + ": " + std::generic_category().message(why)));
  }
  from.clear();
  return read(from, file.string());
}

void read_request(csv_line& fields, std::vector<trace_request>& rows) {
  trace_request it;
  (void)fields.take();
  const std::string_view class_name = fields.take();
  if (class_name == "batch") {
    it.workload = batch;
  } else if (class_name != "interactive") {
    fields.wrong("class '" + std::string(class_name) + "' is neither interactive nor batch");
  }
  const double milliseconds = fields.take_number("arrival_ms", 0.0, most_milliseconds);
  it.arrival = instant{} + duration(std::llround(milliseconds * 1e6));
  if (!rows.empty() && it.arrival < rows.back().arrival) {
    fields.wrong("arrival_ms is earlier than that of the line before");
  }
  it.input_chars = fields.take_number<std::int64_t>("input_chars", 0, most_tokens);
  it.max_tokens = fields.take_number<std::int64_t>("max_tokens", 0, most_tokens);
  for (std::size_t k = 0; k < trace_attempts; ++k) {
    const std::string number = std::to_string(k + 1);
    attempt_draw& each = it.attempts[k];
    each.jitter = fields.take_number("jitter" + number, 0.0, 1e6);
    each.replica = fields.take_number<std::uint32_t>("replica_draw" + number, 0, 0xffff'ffff);
    each.input_tokens = fields.take_number<std::int64_t>("input_tokens" + number, 0, most_tokens);
    each.output_tokens = fields.take_number<std::int64_t>("output_tokens" + number, 0, most_tokens);
  }
  rows.push_back(it);
}

// `YYYY-MM-DD HH:MM:SS[.fraction]`.
std::optional<std::chrono::nanoseconds> time_of(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
  if (text.size() < shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (shape[i] == 'd' ? !digit : text[i] != shape[i]) return std::nullopt;
  }
  const auto part = [&](std::size_t from, std::size_t count) { return *number_of<unsigned>(text.substr(from, count)); };
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(part(0, 4))),
                                         std::chrono::month(part(5, 2)), std::chrono::day(part(8, 2))};
  if (!date.ok() || part(11, 2) > 23 || part(14, 2) > 59 || part(17, 2) > 60) return std::nullopt;
  std::int64_t nanoseconds = 0;
  if (text.size() > shape.size()) {
    std::string fraction(text.substr(shape.size()));
    if (fraction.size() < 2 || fraction.size() > 10 || fraction.front() != '.') return std::nullopt;
    fraction.erase(0, 1);
    if (fraction.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    fraction.resize(9, '0');
    nanoseconds = *number_of<std::int64_t>(fraction);
  }
  return std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(part(11, 2)) +
         std::chrono::minutes(part(14, 2)) + std::chrono::seconds(part(17, 2)) + std::chrono::nanoseconds(nanoseconds);
}

void read_azure_row(csv_line& fields, std::vector<azure_row>& rows) {
  azure_row it;
  const std::string_view stamp = fields.take();
  if (const auto at = time_of(stamp)) {
    it.at = *at;
  } else {
    fields.wrong("TIMESTAMP '" + std::string(stamp) + "' is not YYYY-MM-DD HH:MM:SS[.fraction]");
  }
  it.input_tokens = fields.take_number<std::int64_t>("ContextTokens", 0, most_tokens);
  it.output_tokens = fields.take_number<std::int64_t>("GeneratedTokens", 0, most_tokens);
  if (!rows.empty() && it.at < rows.back().at) fields.wrong("TIMESTAMP is earlier than that of the line before");
  rows.push_back(it);
}

}  // namespace

expected<std::vector<trace_request>, error> read_replay(std::istream& from, const std::string& name) {
  return read_lines<trace_request>(from, name, replay_header(), read_request);
}

expected<std::vector<trace_request>, error> read_replay_file(const std::filesystem::path& file) {
  return from_file(file, read_replay);
}

expected<std::vector<azure_row>, error> read_azure(std::istream& from, const std::string& name) {
  return read_lines<azure_row>(from, name, "TIMESTAMP,ContextTokens,GeneratedTokens", read_azure_row);
}

expected<std::vector<azure_row>, error> read_azure_file(const std::filesystem::path& file) {
  return from_file(file, read_azure);
}

std::vector<trace_request> from_azure(const std::vector<azure_row>& rows, workload of, std::chrono::nanoseconds start,
                                      std::int64_t max_tokens, std::uint64_t seed) {
  random draw(seed);
  std::vector<trace_request> made;
  made.reserve(rows.size());
  for (const azure_row& row : rows) {
    trace_request& added = made.emplace_back();
    added.arrival = instant{} + std::max(row.at - start, std::chrono::nanoseconds::zero());
    added.workload = of;
    const std::int64_t input = std::max<std::int64_t>(row.input_tokens, 1);
    added.input_chars = 4 * input;
    added.max_tokens = max_tokens;
    for (attempt_draw& each : added.attempts) {
      each.jitter = 0.5 + draw.uniform();
      each.replica = static_cast<std::uint32_t>(draw() >> 32U);
      each.input_tokens = input;
      each.output_tokens = std::clamp<std::int64_t>(row.output_tokens, 1, max_tokens);
    }
  }
  return made;
}

std::vector<trace_request> merged(const std::vector<trace_request>& a, const std::vector<trace_request>& b) {
  std::vector<trace_request> all;
  all.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
             [](const trace_request& x, const trace_request& y) { return x.arrival < y.arrival; });
  return all;
}

}  // namespace sluice::sim
