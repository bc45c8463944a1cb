#include "testing/wire_json.hpp"

#include <algorithm>
#include <charconv>

namespace sluice::testing {
namespace {

using json = nlohmann::json;

std::int64_t characters_of(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || value < 0) return std::nullopt;
  return value;
}

// `name=N` at the start of a word.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    if (at == 0 || text[at - 1] == ' ') return number_in(text.substr(at + name.size()));
  }
  return std::nullopt;
}

}  // namespace

std::string json_text(std::string_view text) { return json(text).dump(-1, ' ', false, json::error_handler_t::replace); }

std::string dumped(const ordered& value) { return value.dump(-1, ' ', false, ordered::error_handler_t::replace); }

std::string sse_event(std::string_view name, std::string_view data, std::string_view line_end) {
  std::string text;
  text.reserve(name.size() + data.size() + 3 * line_end.size() + 14);
  if (!name.empty()) {
    text += "event: ";
    text += name;
    text += line_end;
  }
  text += "data: ";
  text += data;
  text += line_end;
  text += line_end;
  return text;
}

wire_error invalid_request(std::string message, std::string param, std::string code) {
  return {400, std::move(message), "invalid_request_error", std::move(code), std::move(param)};
}

void prompt_size::add(std::string_view utf8) { characters += characters_of(utf8); }

std::optional<wire_error> read_body(mock_request& request,
                                    const std::function<std::optional<wire_error>(const json&)>& fields) {
  try {
    const auto body = json::parse(request.body);
    if (!body.is_object()) return invalid_request("The request body is not a JSON object.");
    return fields(body);
  } catch (const json::parse_error&) {
    return invalid_request("We could not parse the JSON body of your request.");
  } catch (const json::exception& failure) {
    return invalid_request(std::string("The request has a field of the wrong type: ") + failure.what());
  }
}

void read_sizes(mock_request& request, const prompt_size& measured, std::string_view user) {
  request.attachments = measured.attachments;
  auto exact = number_in(request.header_value("x-mock-input-tokens"));
  if (!exact) exact = number_after(user, "in=");
  const auto attached = static_cast<std::int64_t>(measured.attachments) * mock_request::tokens_per_attachment;
  request.input_tokens = exact.value_or((measured.characters + 3) / 4 + attached);
  auto wanted = number_in(request.header_value("x-mock-output-tokens"));
  if (!wanted) wanted = number_after(user, "out=");
  request.wanted_output_tokens = wanted.value_or(-1);
}

std::string text_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? std::string() : found->get<std::string>();
}

const json& array_at(const json& object, const char* name) {
  static const json none = json::array();
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return none;
  (void)found->get_ref<const json::array_t&>();
  return *found;
}

bool read_limit(mock_request& request, const json& body, const char* name, std::int64_t least) {
  const auto limit = body.find(name);
  if (limit == body.end() || limit->is_null()) return true;
  if (!limit->is_number_integer() || limit->get<std::int64_t>() < least) return false;
  request.max_output_tokens = limit->get<std::int64_t>();
  return true;
}

bool is_tool_name(std::string_view name, std::size_t longest) {
  constexpr std::string_view good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !name.empty() && name.size() <= longest && name.find_first_not_of(good) == name.npos;
}

void add_system(mock_request& request, std::string_view text) {
  if (!request.system.empty()) request.system += '\n';
  request.system += text;
}

}  // namespace sluice::testing
