#include <sluice/llm/estimator.hpp>

#include <sluice/llm/text_profile.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace sluice::llm {

namespace {

constexpr std::int64_t most = std::int64_t{1} << 62;

// Negative settings pass through, so that the check of estimates sees them.
std::int64_t add(std::int64_t left, std::int64_t right) noexcept {
  std::int64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? most : std::min(sum, most);
}

std::int64_t times(std::int64_t left, std::int64_t right) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(left, right, &product) ? most : std::min(product, most);
}

double text(std::string_view said, const text_ratios& by) noexcept {
  text_profile seen;
  seen.add(said);
  return seen.exact(by);
}

// What is known to be JSON has no need of a guess, which short ones would mislead.
double json(std::string_view said, const text_ratios& by) noexcept {
  text_profile seen;
  seen.add(said);
  const double ascii = static_cast<double>(seen.ascii) / by.json;
  seen.ascii = 0;
  return ascii + seen.exact(by);
}

// A picture or a file in a dialect's own JSON shows by a run of base64 that no text has.
bool holds_bytes(std::string_view json) noexcept {
  constexpr std::size_t enough = 1'024;
  std::size_t run = 0;
  for (const char c : json) {
    const bool encoded =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
    run = encoded ? run + 1 : 0;
    if (run == enough) return true;
  }
  return false;
}

class sum {
 public:
  double text = 0;
  std::int64_t attachments = 0;
};

std::int64_t price(const content_part& part, const character_estimator& prices) {
  if (prices.part_tokens) return prices.part_tokens(part);
  const bool picture = part.what == content_part::kind::native ? part.content.find("image") != part.content.npos
                                                               : part.what == content_part::kind::image;
  return picture ? prices.image_tokens : prices.file_tokens;
}

void add_message(sum& to, const message& said, const text_ratios& by, const character_estimator& prices) {
  to.text += text(said.text, by);
  for (const content_part& part : said.parts) {
    if (part.what == content_part::kind::text) {
      to.text += text(part.content, by);
    } else if (part.what == content_part::kind::native && !prices.part_tokens && !holds_bytes(part.content)) {
      to.text += json(part.content, by);
    } else {
      to.attachments = add(to.attachments, price(part, prices));
    }
  }
  for (const tool_call& call : said.tool_calls) to.text += text(call.name, by) + json(call.arguments, by);
  for (const opaque_block& block : said.opaque) to.text += json(block.json, by);
}

// The last one is sent.
std::int64_t answers_of(const request& asked) noexcept {
  std::int64_t count = 1;
  for (const auto& [field, value] : asked.extra_fields) {
    if (field != "n") continue;
    std::int64_t number = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    count = read.ec == std::errc{} && read.ptr == value.data() + value.size() && number > 1 ? number : 1;
  }
  return count;
}

std::int64_t thinking(std::string_view effort, std::int64_t medium) noexcept {
  if (effort.empty() || effort == "none") return 0;
  if (effort == "minimal") return medium / 16;
  if (effort == "low") return medium / 2;
  if (effort == "high") return times(medium, 2);
  if (effort == "xhigh" || effort == "max") return times(medium, 4);
  return medium;
}

}  // namespace

request_size character_estimator::measure(const request& asked) const {
  const text_ratios& by = ratios ? *ratios : ratios_for(asked.model);
  sum seen;
  for (const message& said : asked.messages) add_message(seen, said, by, *this);
  for (const tool& offered : asked.tools) {
    seen.text += text(offered.name, by) + text(offered.description, by) + json(offered.parameters, by);
  }
  seen.text += text(asked.format.name, by) + json(asked.format.schema, by);

  for (const auto& [field, value] : asked.extra_fields) {
    if (field != "n") seen.text += json(value, by);
  }

  request_size size;
  size.text = add(whole_tokens(seen.text), times(tokens_per_message, static_cast<std::int64_t>(asked.messages.size())));
  size.attachments = seen.attachments;
  size.output = asked.max_output_tokens
                    ? *asked.max_output_tokens
                    : add(default_output_tokens, thinking(asked.reasoning_effort, reasoning_tokens));
  size.answers = answers_of(asked);
  return size;
}

cost character_estimator::operator()(const request& asked) const {
  const request_size size = measure(asked);
  const std::int64_t output = times(size.output, size.answers);
  return cost{.tokens = add(add(size.text, size.attachments), output), .output_tokens = output, .slots = 1};
}

std::int64_t character_estimator::tokens_of(const message& said, std::string_view model) const {
  sum seen;
  add_message(seen, said, ratios ? *ratios : ratios_for(model), *this);
  return add(add(whole_tokens(seen.text), tokens_per_message), seen.attachments);
}

}  // namespace sluice::llm
