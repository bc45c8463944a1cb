#include <sluice/config/policy_file.hpp>

#include "config/field_reader.hpp"
#include "config/field_writer.hpp"
#include "config/json_fields.hpp"
#include "config/policy_fields.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sluice {
namespace {

using config::json_field;

/// The capacity comes first wherever it stands, since the defaults depend on it.
expected<capacity, error> total_of(const std::vector<json_field>& fields) {
  policy read({-1, -1});
  for (const json_field& field : fields) {
    if (field.path[0] != "capacity") continue;
    config::field_reader reader(field, 0);
    config::walk_policy(reader, read);
    if (config::field_fault bad = reader.fault()) return unexpected<error>(std::move(*bad));
  }
  const capacity& total = read.total;
  for (const auto& [number, name] : {std::pair(total.slots, "capacity.slots"), {total.tokens, "capacity.tokens"}}) {
    if (number < 0) return unexpected<error>(error(errc::invalid_configuration, std::string(name) + ": is missing"));
  }
  return total;
}

error about(const std::filesystem::path& file, const std::string& what) {
  return {errc::invalid_configuration, file.string() + ": " + what};
}

}  // namespace

expected<policy, error> read_policy(std::string_view json) {
  constexpr std::size_t max_depth = 5;
  auto fields = config::read_json_fields(json, max_depth);
  if (!fields) return unexpected<error>(std::move(fields.error()));
  const auto total = total_of(*fields);
  if (!total) return unexpected<error>(total.error());

  policy made(*total);
  for (const json_field& field : *fields) {
    config::field_reader reader(field, 0);
    config::walk_policy(reader, made);
    if (config::field_fault bad = reader.fault()) return unexpected<error>(std::move(*bad));
  }
  if (auto checked = validate(made); !checked) return unexpected<error>(std::move(checked.error()));
  return made;
}

std::string write_policy(const policy& written) {
  config::field_writer writer;
  config::walk_policy(writer, written);
  return writer.text() + '\n';
}

expected<policy, error> read_policy_file(const std::filesystem::path& file) {
  // Not an ifstream, which loses the system's reason.
  errno = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(
      std::fopen(file.c_str(), "rb"), [](std::FILE* opened) { return opened == nullptr ? 0 : std::fclose(opened); });
  std::string text;
  std::array<char, 4096> piece;
  while (in != nullptr) {
    const std::size_t read = std::fread(piece.data(), 1, piece.size(), in.get());
    text.append(piece.data(), read);
    if (read < piece.size()) break;
  }
  if (in == nullptr || std::ferror(in.get()) != 0) {
    const int why = errno;
    return unexpected<error>(about(file, "cannot be read: " + std::generic_category().message(why)));
  }
  auto made = read_policy(text);
  if (!made) return unexpected<error>(about(file, made.error().message()));
  return made;
}

}  // namespace sluice
