#include <contention/trace.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>

using namespace contention;

namespace {

const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

auto read(const std::string& text) {
  std::istringstream from(text);
  return read_trace(from, "t.csv");
}

std::string error_of(const std::string& text) {
  const auto got = read(text);
  REQUIRE_FALSE(got);
  return got.error();
}

}  // namespace

TEST_CASE("rows are read, with times from the first") {
  const auto got = read(header +
                        "2023-11-16 18:15:46.6805900,374,44\n"
                        "2023-11-16 18:15:50.9951690,396,109\n"
                        "2023-11-16 18:16:00,0,1000000\n");
  REQUIRE(got);
  REQUIRE(got->size() == 3);
  CHECK((*got)[0].at == 0);
  CHECK((*got)[0].input_tokens == 374);
  CHECK((*got)[0].output_tokens == 44);
  CHECK((*got)[1].at == doctest::Approx(4.314579).epsilon(1e-9));
  CHECK((*got)[2].at == doctest::Approx(13.31941).epsilon(1e-9));
  CHECK((*got)[2].input_tokens == 0);
  CHECK((*got)[2].output_tokens == 1'000'000);
}

TEST_CASE("midnight and the end of a month are no obstacle") {
  const auto got = read(header + "2024-02-29 23:59:59.5,1,1\n2024-03-01 00:00:00.5,1,1\n");
  REQUIRE(got);
  CHECK(got->back().at == 1);
}

TEST_CASE("line ends and marks of other systems, and a missing last line end") {
  CHECK(read("\xef\xbb\xbfTIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46,1,2\r\n"));
  CHECK(read(header + "2023-11-16 18:15:46,1,2"));
  CHECK(read(header + "2023-11-16 18:15:46,1,2\n\n"));
}

TEST_CASE("requests of the same instant are allowed") {
  CHECK(read(header + "2023-11-16 18:15:46,1,2\n2023-11-16 18:15:46,3,4\n"));
}

TEST_CASE("what is wrong is named by file and line") {
  CHECK(error_of("") == "t.csv:1: the header must be TIMESTAMP,ContextTokens,GeneratedTokens");
  CHECK(error_of("time,in,out\n") == "t.csv:1: the header must be TIMESTAMP,ContextTokens,GeneratedTokens");
  CHECK(error_of(header) == "t.csv:1: there are no requests after the header");
  const auto good = header + "2023-11-16 18:15:46,1,2\n";
  CHECK(error_of(good + "2023-11-16 18:15:47,1\n") == "t.csv:3: expected three fields, as in the header");
  CHECK(error_of(good + "2023-11-16 18:15:47,1,2,3\n") == "t.csv:3: expected three fields, as in the header");
  CHECK(error_of(good + "\n2023-11-16 18:15:47,1,2\n") == "t.csv:3: expected three fields, as in the header");
  CHECK(error_of(good + "2023-11-16 18:15:45,1,2\n") == "t.csv:3: TIMESTAMP is earlier than that of the line before");
}

TEST_CASE("tokens are whole numbers within bounds") {
  for (const std::string bad : {"", "-1", "1.5", "x", " 1", "1 ", "1000001", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(error_of(header + "2023-11-16 18:15:46," + bad + ",2\n") ==
          "t.csv:2: ContextTokens '" + bad + "' is not a whole number from 0 to 1,000,000");
    CHECK(error_of(header + "2023-11-16 18:15:46,2," + bad + "\n") ==
          "t.csv:2: GeneratedTokens '" + bad + "' is not a whole number from 0 to 1,000,000");
  }
}

TEST_CASE("timestamps are dates that exist") {
  for (const std::string bad :
       {"", "now", "2023-11-16", "2023-11-16T18:15:46", "2023-13-16 18:15:46", "2023-02-29 18:15:46",
        "2023-11-16 24:15:46", "2023-11-16 18:60:46", "2023-11-16 18:15:61", "2023-11-16 18:15:46.",
        "2023-11-16 18:15:46.1234567890", "2023-11-16 18:15:46.12a", "2023-11-16 18:15:46Z", "20x3-11-16 18:15:46"}) {
    CAPTURE(bad);
    CHECK(error_of(header + bad + ",1,2\n") ==
          "t.csv:2: TIMESTAMP '" + bad + "' is not YYYY-MM-DD HH:MM:SS[.fraction]");
  }
}

TEST_CASE("a file that cannot be read says why") {
  const auto missing = read_trace("/no/such/file.csv");
  REQUIRE_FALSE(missing);
  CHECK(missing.error() == "/no/such/file.csv: No such file or directory");
  const auto directory = read_trace("/");
  REQUIRE_FALSE(directory);
  CHECK(directory.error() == "/: Is a directory");
}
