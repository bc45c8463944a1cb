/// \file
/// A mock provider as a program of its own, for clients in other languages. Prints its URL (without version) and ends
/// when its standard input does. Lines on standard input are questions, each answered with one line:
///
///     stats               the counters, as JSON
///     cancelled N         "yes" as soon as N exchanges were cancelled and no slot is held; "no" after 20 s
///
/// What it answers is told by the last text of a request; see `script`. The key is `sdk-key`.
#include <sluice/testing/mock_provider.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace sluice::testing;

// Called on the server's thread alone.
class script {
 public:
  mock_reply operator()(const mock_request& asked) {
    if (asked.last_role == "tool") return results(asked);
    std::istringstream words(asked.last_text);
    std::string what;
    int number = 0;
    words >> what >> number;
    if (what == "think") return mock_reply::text("Yes, it does.").with_reasoning("Let me see");
    if (what == "tools") {
      return mock_reply::text("Let me look.")
          .with_tool_call("look_up", R"({"query":"größer als 10","limit":3})", "call_a")
          .with_tool_call("clock", "{}", "call_b");
    }
    if (what == "refuse") return mock_reply().with_refusal("I will not do that.");
    if (what == "object") return mock_reply::text(R"({"city": "Paris", "degrees": 14})");
    if (what == "filter") return mock_reply::text("Half an").with_finish_reason("content_filter");
    if (what == "fail") return mock_reply::text("Half an").with_finish_reason("failed");
    if (what == "status") return mock_reply::failure(mock_fault::status(number));
    if (what == "silent") return mock_reply::words(5).with_fault(mock_fault::stall_after(2));
    if (what == "broken") return mock_reply::words(5).with_fault(mock_fault::error_event(2, 529, "Overloaded"));
    if (what == "torn") return mock_reply::words(5).with_fault(mock_fault::hang_up_after(2));
    if (what == "split") return plain().with_fault(mock_fault::split_writes(1).with(mock_fault::crlf()));
    if (what == "gzip") return plain().with_fault(mock_fault::gzip().with(mock_fault::split_writes(7)));
    if (what == "again" && ++seen_[asked.last_text] <= 1) {
      return mock_reply::failure(mock_fault::rate_limited_ms(std::chrono::milliseconds(number)));
    }
    return plain();
  }

 private:
  static mock_reply plain() { return mock_reply::text("Water runs down to the gate.").with_cached_tokens(1, 1); }

  static mock_reply results(const mock_request& asked) {
    std::string all("The tools say:");
    for (const auto& result : asked.tool_results) all += " " + result.call_id + "=" + result.text;
    return mock_reply::text(std::move(all));
  }

  std::map<std::string, int> seen_;
};

std::string counters(const mock_stats& stats) {
  return nlohmann::json{{"received", stats.received},     {"served", stats.served},
                        {"cancelled", stats.cancelled},   {"open", stats.open},
                        {"running", stats.running},       {"streams", stats.streams},
                        {"input", stats.input_tokens},    {"output", stats.output_tokens},
                        {"authorized", stats.authorized}, {"faults", stats.faults}}
      .dump();
}

}  // namespace

int main() {
  mock_provider_options options;
  options.api_key = "sdk-key";
  mock_provider provider(options);
  script answers;
  provider.on_request([&](const mock_request& asked) { return answers(asked); });
  std::cout << "http://127.0.0.1:" << provider.port() << std::endl;

  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    std::int64_t number = 0;
    words >> what >> number;
    if (what == "cancelled") {
      const auto reached = [&](const mock_stats& stats) { return stats.cancelled >= number && stats.running == 0; };
      std::cout << (provider.wait_until(reached) ? "yes" : "no") << std::endl;
    } else {
      std::cout << counters(provider.stats()) << std::endl;
    }
  }
}
