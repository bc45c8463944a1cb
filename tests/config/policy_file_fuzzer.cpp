// Any bytes as a policy: read, or refused in one line; what was read is the same when it is written and read again.
#include <sluice/config/policy_file.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

[[noreturn]] void fault() { std::abort(); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const auto made = sluice::read_policy(text);
  if (!made) {
    const std::string& why = made.error().message();
    if (!made.error().is(sluice::errc::invalid_configuration) || why.empty()) fault();
    if (why.find_first_of("\n\r") != why.npos) fault();
    return 0;
  }
  const std::string written = sluice::write_policy(*made);
  const auto again = sluice::read_policy(written);
  if (!again || !(*again == *made) || sluice::write_policy(*again) != written) fault();
  return 0;
}
