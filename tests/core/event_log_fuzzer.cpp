// Any bytes: no crash, and what is read is what would be written, and can be put to a machine.
#include <sluice/core/event_log.hpp>
#include <sluice/core/replay.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sluice::core;
  const std::string_view log(reinterpret_cast<const char*>(bytes), size);
  auto reader = event_log_reader::open(log);
  if (!reader) {
    if (reader.error().message().empty()) std::abort();
    return 0;
  }
  std::string again;
  event_log_writer writer(again);
  writer.begin(reader->initial(), reader->from_the_start());
  logged_event each;
  for (;;) {
    const auto more = reader->next(each);
    if (!more) break;
    if (!*more) {
      // A whole log has one spelling, but for a bound that is the writer's.
      writer.end();
      if (!reader->full() && again != log) std::abort();
      break;
    }
    writer.append(each.what, each.result, each.effects, {});
    if (!reader->full() && log.substr(0, 9) != std::string_view(again).substr(0, 9)) std::abort();
  }
  const auto replayed = replay(log);
  if (replayed && replayed->difference && replayed->difference->explain().empty()) std::abort();
  return 0;
}
