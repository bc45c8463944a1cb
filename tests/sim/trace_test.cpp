#include <sluice/sim/trace.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>

using namespace std::chrono_literals;
using namespace sluice::sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;

namespace {

const std::string header =
    "id,class,arrival_ms,input_chars,max_tokens,jitter1,replica_draw1,input_tokens1,output_tokens1,"
    "jitter2,replica_draw2,input_tokens2,output_tokens2,jitter3,replica_draw3,input_tokens3,output_tokens3,"
    "jitter4,replica_draw4,input_tokens4,output_tokens4\n";
const std::string chat =
    "interactive-1,interactive,402.731,326,541,0.897407,1674444284,94,428,0.531501,3589512892,87,541,"
    "0.532319,1112187167,94,541,0.993683,410198694,87,541\n";
const std::string document =
    "batch-1,batch,500,24000,3000,1.5,4294967295,6600,12,0.5,0,6601,13,0.5,1,6602,14,0.5,2,6603,15\n";

auto replay(const std::string& text) {
  std::istringstream from(text);
  return read_replay(from, "some.csv");
}

auto azure(const std::string& lines) {
  std::istringstream from("TIMESTAMP,ContextTokens,GeneratedTokens\n" + lines);
  return read_azure(from, "azure.csv");
}

std::string wrong_replay(const std::string& text) {
  const auto read = replay(text);
  REQUIRE_FALSE(read);
  CHECK(read.error().is(sluice::errc::invalid_argument));
  return read.error().message();
}

std::string wrong_azure(const std::string& lines) {
  const auto read = azure(lines);
  REQUIRE_FALSE(read);
  CHECK(read.error().is(sluice::errc::invalid_argument));
  return read.error().message();
}

std::string with(std::string line, const std::string& part, const std::string& other) {
  return line.replace(line.find(part), part.size(), other);
}

}  // namespace

TEST_CASE("a replay file gives requests with four attempts each") {
  const auto read = replay(header + chat + document);
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  const auto& first = read->front();
  CHECK(first.arrival == instant{} + 402'731us);
  CHECK(first.workload == interactive);
  CHECK(first.input_chars == 326);
  CHECK(first.max_tokens == 541);
  CHECK(first.attempts[0].jitter == doctest::Approx(0.897407));
  CHECK(first.attempts[0].replica == 1'674'444'284);
  CHECK(first.attempts[0].input_tokens == 94);
  CHECK(first.attempts[0].output_tokens == 428);
  CHECK(first.attempts[3].input_tokens == 87);
  CHECK(first.attempts[3].output_tokens == 541);
  const auto& second = read->back();
  CHECK(second.workload == batch);
  CHECK(second.arrival == instant{} + 500ms);
  CHECK(second.attempts[0].replica == 4'294'967'295);
  CHECK(second.attempts[2].output_tokens == 14);
}

TEST_CASE("an estimate is what the caller can know: a token for four characters, and all the output it allows") {
  trace_request asked;
  asked.input_chars = 326;
  asked.max_tokens = 541;
  CHECK(asked.estimate() == sluice::cost{82 + 541, 541, 1});
  asked.input_chars = 24'000;
  asked.max_tokens = 3'000;
  CHECK(asked.estimate() == sluice::cost{9'000, 3'000, 1});
  asked.input_chars = 0;
  CHECK(asked.estimate() == sluice::cost{3'000, 3'000, 1});
}

TEST_CASE("line ends of other systems, a byte order mark and an empty last line do not matter") {
  std::string text = "\xef\xbb\xbf" + header + chat + document + "\n";
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\r\n");
  const auto read = replay(text);
  REQUIRE(read);
  CHECK(read->size() == 2);
  CHECK(read->back().attempts[3].output_tokens == 15);
}

TEST_CASE("what is wrong in a replay file is said with file, line and field") {
  CHECK(wrong_replay("").find("some.csv:1: the header must be id,class,") == 0);
  CHECK(wrong_replay("id,class\n").find("some.csv:1: the header must be id,class,") == 0);
  CHECK(wrong_replay(header) == "some.csv:1: there are no requests after the header");
  CHECK(wrong_replay(header + chat + "a,b\n") == "some.csv:3: expected 21 fields, as in the header");
  CHECK(wrong_replay(header + chat + "\n" + document) == "some.csv:3: expected 21 fields, as in the header");
  CHECK(wrong_replay(header + with(chat, ",interactive,", ",urgent,")) ==
        "some.csv:2: class 'urgent' is neither interactive nor batch");
  CHECK(wrong_replay(header + with(chat, "402.731", "soon")) ==
        "some.csv:2: arrival_ms 'soon' is not a number from 0 to 1e+12");
  CHECK(wrong_replay(header + with(chat, "402.731", "-1")) ==
        "some.csv:2: arrival_ms '-1' is not a number from 0 to 1e+12");
  CHECK(wrong_replay(header + with(chat, "402.731", "nan")) ==
        "some.csv:2: arrival_ms 'nan' is not a number from 0 to 1e+12");
  CHECK(wrong_replay(header + chat + with(document, "500", "402.7")) ==
        "some.csv:3: arrival_ms is earlier than that of the line before");
  CHECK(wrong_replay(header + with(chat, ",541,0.89", ",,0.89")) ==
        "some.csv:2: max_tokens '' is not a number from 0 to 1000000000");
  CHECK(wrong_replay(header + chat + with(document, "4294967295", "4294967296")) ==
        "some.csv:3: replica_draw1 '4294967296' is not a number from 0 to 4294967295");
  CHECK(wrong_replay(header + with(chat, "0.993683", "0.99x")) ==
        "some.csv:2: jitter4 '0.99x' is not a number from 0 to 1e+06");
  CHECK(wrong_replay(header + with(chat, "94,541", "94,541.5")) ==
        "some.csv:2: output_tokens3 '541.5' is not a number from 0 to 1000000000");
}

TEST_CASE("a file that cannot be read says why") {
  const auto missing = read_replay_file("/no/such/file.csv");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == "/no/such/file.csv: No such file or directory");
  const auto directory = std::filesystem::temp_directory_path();
  const auto unreadable = read_azure_file(directory);
  REQUIRE_FALSE(unreadable);
  CHECK(unreadable.error().message() == directory.string() + ": Is a directory");
}

TEST_CASE("an Azure trace gives stamps and true lengths") {
  const auto read = azure("2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04,3180,8\n");
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  CHECK(read->front().input_tokens == 4'808);
  CHECK(read->front().output_tokens == 10);
  CHECK(read->back().at - read->front().at == 20'040us);
  // 2023-11-16 is day 19,677 of the epoch.
  CHECK(read->back().at == 24h * 19'677 + 18h + 17min + 4s);
}

TEST_CASE("what is wrong in an Azure trace is said with file, line and field") {
  const std::string good = "2023-11-16 18:17:04,3180,8\n";
  CHECK(wrong_azure("") == "azure.csv:1: there are no requests after the header");
  CHECK(wrong_azure(good + "2023-11-16 18:17:05,3180\n") == "azure.csv:3: expected 3 fields, as in the header");
  for (const char* stamp : {"2023-11-16T18:17:05", "2023-13-16 18:17:05", "2023-02-30 18:17:05", "2023-11-16 24:17:05",
                            "2023-11-16 18:60:05", "2023-11-16 18:17:61", "2023-11-16 18:17:05.", "",
                            "2023-11-16 18:17:05.12x", "2023-11-16 18:17:05.1234567890", "2023-11-16 18:17:05,1"}) {
    CAPTURE(stamp);
    const auto read = azure(good + stamp + ",1,1\n");
    REQUIRE_FALSE(read);
    CHECK(read.error().message().find("azure.csv:3: ") == 0);
  }
  CHECK(wrong_azure(good + "2023-11-16 18:17:03,1,1\n") ==
        "azure.csv:3: TIMESTAMP is earlier than that of the line before");
  CHECK(wrong_azure("2023-11-16 18:17:05,many,1\n") ==
        "azure.csv:2: ContextTokens 'many' is not a number from 0 to 1000000000");
  CHECK(wrong_azure("2023-11-16 18:17:05,1,-1\n") ==
        "azure.csv:2: GeneratedTokens '-1' is not a number from 0 to 1000000000");
}

TEST_CASE("rows of an Azure trace become requests of a class from a common zero") {
  const auto rows = azure("2023-11-16 18:17:04,3180,8\n2023-11-16 18:17:05.5,0,5000\n");
  REQUIRE(rows);
  const auto made = from_azure(*rows, batch, rows->front().at - 1s, 1'000, 7);
  REQUIRE(made.size() == 2);
  CHECK(made[0].arrival == instant{} + 1s);
  CHECK(made[1].arrival == instant{} + 2'500ms);
  CHECK(made[0].workload == batch);
  CHECK(made[0].estimate().tokens == 3'180 + 1'000);
  for (const auto& each : made[0].attempts) {
    CHECK(each.input_tokens == 3'180);
    CHECK(each.output_tokens == 8);
    CHECK(each.jitter >= 0.5);
    CHECK(each.jitter < 1.5);
  }
  // Nothing can be asked with nothing, and no answer is longer than is allowed.
  CHECK(made[1].attempts[0].input_tokens == 1);
  CHECK(made[1].attempts[0].output_tokens == 1'000);
  const auto again = from_azure(*rows, batch, rows->front().at - 1s, 1'000, 7);
  CHECK(again[1].attempts[2].replica == made[1].attempts[2].replica);
  const auto other = from_azure(*rows, batch, rows->front().at - 1s, 1'000, 8);
  CHECK(other[1].attempts[2].replica != made[1].attempts[2].replica);
}

TEST_CASE("two traces are merged by arrival, the first before the second") {
  std::vector<trace_request> a(2);
  std::vector<trace_request> b(2);
  a[0].arrival = instant{} + 1s;
  a[1].arrival = instant{} + 3s;
  b[0].arrival = instant{} + 1s;
  b[1].arrival = instant{} + 2s;
  for (auto& each : b) each.workload = batch;
  const auto all = merged(a, b);
  REQUIRE(all.size() == 4);
  CHECK(all[0].workload == interactive);
  CHECK(all[1].workload == batch);
  CHECK(all[2].arrival == instant{} + 2s);
  CHECK(all[3].arrival == instant{} + 3s);
  CHECK(merged({}, b).size() == 2);
}
