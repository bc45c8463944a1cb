#include "sluice-sim/traces.hpp"

#include <sluice/core/error.hpp>
#include <sluice/sim/traffic.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace sluice_sim;

namespace {

// A directory of traces that is gone with the test.
class trace_directory {
 public:
  trace_directory() : path_(std::filesystem::temp_directory_path() / "sluice-sim-traces-test") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_ / "replay");
    std::filesystem::create_directories(path_ / "azure");
    asked.traces = path_;
  }
  trace_directory(const trace_directory&) = delete;
  trace_directory& operator=(const trace_directory&) = delete;
  ~trace_directory() { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }

  settings asked;

 private:
  std::filesystem::path path_;
};

const std::string replay =
    "id,class,arrival_ms,input_chars,max_tokens,jitter1,replica_draw1,input_tokens1,output_tokens1,"
    "jitter2,replica_draw2,input_tokens2,output_tokens2,jitter3,replica_draw3,input_tokens3,output_tokens3,"
    "jitter4,replica_draw4,input_tokens4,output_tokens4\n"
    "batch-1,batch,500,24000,3000,1.5,7,6600,12,0.5,0,6601,13,0.5,1,6602,14,0.5,2,6603,15\n";
const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

}  // namespace

TEST_CASE("a recorded replay is taken when it is there, else one is generated and said to be") {
  const trace_directory traces;
  traces.write("replay/seed-1.csv", replay);
  traces.write("seed-2.csv", replay);
  std::vector<std::string> notes;
  CHECK(replay_trace(traces.asked, 1, notes).size() == 1);
  CHECK(replay_trace(traces.asked, 2, notes).size() == 1);
  CHECK(notes.empty());
  const auto generated = replay_trace(traces.asked, 3, notes);
  CHECK(generated.size() == sluice::sim::replay_like(3).size());
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "seed 3 is generated: there is no seed-3.csv");
}

TEST_CASE("a file that is there but does not read is an error, not a reason to generate") {
  const trace_directory traces;
  traces.write("replay/seed-1.csv", "nonsense\n");
  std::vector<std::string> notes;
  CHECK_THROWS_AS((void)replay_trace(traces.asked, 1, notes), sluice::error_exception);
}

TEST_CASE("chats are interactive, code is batch, and both are on one clock") {
  const trace_directory traces;
  traces.write("azure/conv.csv", header + "2023-11-16 18:00:05,100,10\n2023-11-16 18:00:07,100,5000\n");
  traces.write("azure/code.csv", header + "2023-11-16 18:00:06,100,1500\n");
  std::vector<std::string> notes;
  const auto trace = azure_trace(traces.asked, 1, notes);
  CHECK(notes.empty());
  REQUIRE(trace.size() == 3);
  CHECK(trace[0].workload == sluice::interactive);
  CHECK(trace[0].arrival == sluice::instant{});
  CHECK(trace[1].workload == sluice::batch);
  CHECK(trace[1].arrival == sluice::instant{} + std::chrono::seconds(1));
  CHECK(trace[1].max_tokens == 2'000);
  CHECK(trace[1].attempts[0].output_tokens == 1'500);
  CHECK(trace[2].attempts[0].output_tokens == 1'000);
}

TEST_CASE("without both Azure files an hour is generated and said to be") {
  const trace_directory traces;
  traces.write("azure/conv.csv", header + "2023-11-16 18:00:05,100,10\n");
  std::vector<std::string> notes;
  CHECK(azure_trace(traces.asked, 1, notes).size() > 20'000);
  CHECK(notes.size() == 1);
}
